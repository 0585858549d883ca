"""What kernels count, out of the texts of /proc, vmstat and sysctl. Salt: modules/status.py"""

from thin.exceptions import CommandExecutionError

#: Salt's answer where a system has no source for what is asked
UNSUPPORTED = "This method is unsupported on the current operating system!"


def number(text):
    """The number that a text is, else the text."""
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:  # of "²" too, which is a digit
        return text


def boot_time(text):
    """Seconds since 1970 of what sysctl says: a number, or ``{ sec = 1795000000, usec = 250000 } Wed Nov …``."""
    import re

    found = re.search(r"sec\s*=\s*(\d+)", text or "") or re.match(r"(\d+)\s*\Z", (text or "").strip())
    if not found:
        raise CommandExecutionError("Cannot find kern.boottime system parameter")
    return int(found.group(1))


def of_stat(text):
    """``{name: number}`` of /proc/stat; ``{field: number}`` of the processors, totals and parts of interrupts."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    found = {}
    for line in text.splitlines():
        row = line.split()
        if row[:1] == ["cpu"]:
            found["cpu"] = dict(zip(names, [number(value) for value in row[1:]]))
        elif row[:1] in (["intr"], ["softirq"]):
            parts = "irqs" if row[0] == "intr" else "softirqs"
            found[row[0]] = {"total": number(row[1]), parts: [number(value) for value in row[2:]]}
        elif len(row) > 1:
            found[row[0]] = number(row[1])
    return found


def of_vmstat(lines):
    """``{cpu: {"us", "sy", "id"}}`` of ``vmstat -P``."""
    heads, values, found = lines[1].split(), lines[2].split(), {}
    at = heads.index("us")
    names = lines[0].split()
    for place, name in enumerate(names[names.index("cpu0") :]):
        found[name] = dict(zip(("us", "sy", "id"), [number(value) for value in values[at + 3 * place :][:3]]))
    return found


def of_netstat(text):
    """/proc/net/netstat and snmp: pairs of lines, names and then values. Salt leaves out the last column."""
    found, heads = {}, [""]
    for line in text.splitlines():
        row = line.split()
        if row and row[0] == heads[0]:
            values = [number(value) for value in row[1 : len(heads) - 1]]
            found[heads[0].replace(":", "")] = dict(zip(heads[1:], values))
        elif row:
            heads = row
    return found
