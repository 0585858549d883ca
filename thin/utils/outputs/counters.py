"""Parsers of kernel counters in /proc, and in the output of vmstat and sysctl. Salt: modules/status.py"""

from thin.exceptions import CommandExecutionError

#: Salt's answer if a system has no such counters.
UNSUPPORTED = "This method is unsupported on the current operating system!"


def number(text):
    """The number in a text, else the text."""
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:  # also for "²", although it is a digit
        return text


def boot_time(text):
    """The boot time in seconds since 1970, from sysctl: a number, or ``{ sec = 1795000000, usec = 250000 } Wed Nov
    …``."""
    import re

    match = re.search(r"sec\s*=\s*(\d+)", text or "") or re.match(r"(\d+)\s*\Z", (text or "").strip())
    if not match:
        raise CommandExecutionError("Cannot find kern.boottime system parameter")
    return int(match.group(1))


def of_stat(text):
    """``{name: number}`` of /proc/stat; ``{field: number}`` for processors, and total and single counts of
    interrupts."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    result = {}
    for line in text.splitlines():
        row = line.split()
        if row[:1] == ["cpu"]:
            result["cpu"] = dict(zip(names, [number(value) for value in row[1:]]))
        elif row[:1] in (["intr"], ["softirq"]):
            parts = "irqs" if row[0] == "intr" else "softirqs"
            result[row[0]] = {"total": number(row[1]), parts: [number(value) for value in row[2:]]}
        elif len(row) > 1:
            result[row[0]] = number(row[1])
    return result


def of_vmstat(lines):
    """``{cpu: {"us", "sy", "id"}}`` from ``vmstat -P``."""
    heads, values, result = lines[1].split(), lines[2].split(), {}
    at = heads.index("us")
    names = lines[0].split()
    for place, name in enumerate(names[names.index("cpu0") :]):
        result[name] = dict(zip(("us", "sy", "id"), [number(value) for value in values[at + 3 * place :][:3]]))
    return result


def of_netstat(text):
    """The counters of /proc/net/netstat and snmp: pairs of lines with names and values. As in Salt, without the last
    column."""
    result, heads = {}, [""]
    for line in text.splitlines():
        row = line.split()
        if row and row[0] == heads[0]:
            values = [number(value) for value in row[1 : len(heads) - 1]]
            result[heads[0].replace(":", "")] = dict(zip(heads[1:], values))
        elif row:
            heads = row
    return result
