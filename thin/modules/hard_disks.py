"""Hard disks: their settings, hidden parts and load. Salt: modules/disk.py"""

import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger

__virtualname__ = "disk"
__reads__ = ("iostat",)
#: other options of hdparm change the disk, for example put it to sleep
__reads_unless__ = {
    "hpa": {"size": ()},
    "hdparms": {"args": ("aAbBcCdgHiJkMmNnQrRuW", "C", "H", "I", "g", "i")},
}

log = getLogger(__name__)


def hdparms(disks, args="aAbBcCdgHiJkMmNnQrRuW"):
    """
    Return what hdparm reports about disks: ``{device: {text: value}}``

    disks
        A disk, or a list of them
    args
        Letters for hdparm

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.hdparms /dev/vdb
    """
    letters = "".join(args) if isinstance(args, (list, tuple)) else args
    hdparms = {}
    for disk in disks if isinstance(disks, (list, tuple)) else [disks]:
        disk = disk if disk.startswith("/dev") else "/dev/" + disk
        hdparms[disk] = {}
        for line in _hdparm(["-" + letters, disk], False).splitlines():
            key, mark, value = line.strip().partition(":" if ":" in line else "=")
            value = _value(value.strip()) if mark and line.strip() != disk + ":" else []
            if value != []:
                hdparms[disk][re.sub(" is$", "", key).strip().lower().replace(" ", "_")] = value
    return hdparms


def hpa(disks, size=None):
    """
    Return the hidden sectors of disks: ``{device: {total, visible, hidden}}``; with ``size``, set their number first

    disks
        A disk, or a list of them
    size
        Sectors, or a percentage, that are hidden from now on

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.hpa /dev/vdb
        pushsalt run '*' disk.hpa /dev/vdb 5%
    """
    result = {}
    for disk, properties in hdparms(disks, "N").items():
        visible, total, status = next(iter(properties.values()))
        result[disk] = {"total": total}
        if visible != total and "disabled" not in status:
            result[disk].update(visible=visible, hidden=total - visible)
    if size is None:
        return result
    for disk, properties in result.items():
        text = str(size)
        left = (
            properties["total"] * (100 - int(text.strip("%"))) // 100
            if "%" in text
            else properties["total"] - int(text)
        )
        _hdparm(["--yes-i-know-what-i-am-doing", "-Np%d" % (left if left > 0 else properties["total"]), disk])
    return None


def iostat(interval=1, count=5, disks=None):
    """
    Measure the load of disks, and return means: ``{device: {field: number}}``, with ``sys`` for the processors

    interval
        Seconds between measurements
    count
        The number of measurements
    disks
        Only of these, one or a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.iostat interval=2 count=5 disks=vda
    """
    if not process.which("iostat"):
        raise CommandExecutionError("iostat is not in the path: it is part of the package sysstat")
    names = [] if disks is None else [disks] if isinstance(disks, str) else list(disks)
    command = ["iostat", "-xd" if names else "-x", str(interval), str(count)] + names
    if __grains__.get("kernel") == "FreeBSD":
        command = ["iostat", "-x" if names else "-xC", "-w", str(interval), "-c", str(count)] + names
    return _means(__salt__["cmd.run_stdout"](command, output_loglevel="quiet", python_shell=False))


def _hdparm(words, failhard=True):
    if not process.which("hdparm"):
        raise CommandExecutionError("hdparm is not in the path")
    done = __salt__["cmd.run_all"](["hdparm"] + words, python_shell=False)
    if done["retcode"] != 0:
        text = "hdparm %s: %s" % (" ".join(words), done["stderr"])
        if failhard:
            raise CommandExecutionError(text)
        log.warning(text)
    return done["stdout"]


def _value(text):
    """Parse a value of hdparm: ``64 (on)`` is [64, "on"]; parts between commas and slashes are a list, ``a=b`` in it a
    dict at its end."""
    pair = re.match(r"(\d+) \((\S*)\)", text)
    if pair:
        return [int(pair.group(1)), pair.group(2)]
    result, named = [], {}
    for part in (each.strip() for each in re.split("[/,]", text)):
        key, mark, value = part.partition("=")
        if re.match(r"-?\d+$", part):
            result.append(int(part))
        elif mark and value.strip():
            named[key.strip()] = value.strip()
        elif part and not mark:
            result.append(part)
    result += [named] if named else []
    return result[0] if len(result) == 1 else result


def _means(text):
    """The means of iostat's output, in which tables of devices and processors alternate, each after a header."""
    rows, headers, name = {}, {}, None
    for line in text.splitlines():
        words = line.split()
        if not words:
            name = None
        elif words[0] == "avg-cpu:":
            name, headers["sys"] = "sys", words[1:]
        elif words[0].rstrip(":").lower() == "device":
            name, headers["device"] = "device", words[1:]
        elif name == "sys":
            rows.setdefault("sys", []).append([_number(word) for word in words])
        elif name == "device":
            rows.setdefault(words[0], []).append([_number(word) for word in words[1:]])
    means = {}
    for each, table in rows.items():
        header = headers["sys" if each == "sys" else "device"]
        means[each] = {field: round(sum(column) / len(column), 2) for field, column in zip(header, zip(*table))}
    return means


def _number(word):
    try:
        return float(word.replace(",", "."))
    except ValueError:
        return 0.0
