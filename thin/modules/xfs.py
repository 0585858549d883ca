"""File systems XFS, by xfsprogs and xfsdump. Salt: modules/xfs.py"""

import os
import re
import time

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__reads__ = ("info", "inventory", "devices", "estimate")
__changes__ = ("dump", "prune_dump", "mkfs", "modify", "defragment")

_DUMPED = (
    ("session label:", "Session label"),
    ("media file size", "Media size"),
    ("dump complete:", "Dump complete"),
    ("Dump Status:", "Status"),
)


def __virtual__():
    return True if __grains__.get("kernel") == "Linux" else (False, "The xfs module is for Linux")


def info(device):
    """
    Return a file system's geometry: ``{section: {name: value}}``, the first being meta-data

    device
        The device, or its mount point

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.info /dev/vdb1
    """
    done = __salt__["cmd.run_all"](["xfs_info", device], python_shell=False)
    if done["stderr"]:
        raise CommandExecutionError(done["stderr"].replace("xfs_info:", "").strip())
    return _geometry(done["stdout"])


def dump(device, destination, level=0, label=None, noerase=None):
    """
    Dump a file system; ``{"Session ID": ..., "Status": ..., ...}``

    device
        The device
    destination
        The file
    level
        The level
    label
        The name of the session
    noerase
        Do not erase the medium before

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.dump /dev/vdb1 /srv/backup/data.xfsdump
    """
    if not process.which("xfsdump"):
        raise CommandExecutionError('Utility "xfsdump" has to be installed or missing.')
    label = label or time.strftime("XFS dump for %%s of %Y.%m.%d, %H:%M") % ('"%s"' % device)
    command = ["xfsdump", "-F"] + ([] if noerase else ["-E"])
    out = _run(command + ["-L", label, "-l", str(level), "-f", destination, device])
    parts, summary = {}, None
    for line in (re.sub("^xfsdump: ", "", line.strip()) for line in out.splitlines()):
        if line.startswith("Dump Summary:"):
            summary = []
        elif summary is not None and line.startswith(" "):
            summary.append(line.strip())
        elif summary:
            parts["Summary"], summary = " ".join(summary), None
        if line.startswith("session id:"):
            parts["Session ID"] = line.split(" ")[-1]
        for words, key in _DUMPED:
            if line.startswith(words):
                parts[key] = line[len(words) :].strip()
    return parts


def inventory():
    """
    Return xfsrestore's data about all dumps, as nested dicts, with ``restore_status``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.inventory
    """
    lines = [line for line in _run(["xfsrestore", "-I"]).splitlines() if line.strip()]
    result = {"restore_status": lines.pop() if lines else ""}
    stack = [result]
    for line in lines:
        depth = len(line) - len(line.lstrip("\t"))
        key, _, value = line.strip().partition(":")
        del stack[depth + 1 :]
        if value.strip():
            stack[-1][key.strip()] = value.strip()
        else:
            stack[-1][key.strip()] = below = {}
            stack.append(below)
    return result


def prune_dump(sessionid):
    """
    Remove a dump from the inventory; returns its data

    sessionid
        Its session

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.prune_dump 4f1d6c02-93be-4c57-8a60-d2e7b1905f3c
    """
    parts = re.split(r"(?m)^-+$", _run(["xfsinvutil", "-s", sessionid, "-F"]))
    result = {}
    for line in parts[1].splitlines() if len(parts) > 1 else ():
        key, mark, value = line.partition(":")
        if mark:
            result[key.strip().lower().replace(" ", "_")] = value.strip()
    if result.get("uuid") != sessionid:
        raise CommandExecutionError('Session UUID "%s" was not found.' % sessionid)
    return result


def devices():
    """
    Return the devices with XFS: ``{device: {uuid, label, mount_point, options}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.devices
    """
    return _devices(_run(["blkid", "-o", "export"]))


def estimate(path):
    """
    Estimate the space for the content of a directory: ``{path: {"block _size", blocks, megabytes, logsize}}``

    path
        The directory

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.estimate /srv/app
    """
    if not os.path.exists(path):
        raise CommandExecutionError('Path "%s" was not found.' % path)
    rows = [line.split() for line in _run(["xfs_estimate", "-v", path]).splitlines() if line.strip()][1:]
    return {row[0]: dict(zip(("block _size", "blocks", "megabytes", "logsize"), row[1:])) for row in rows}


def mkfs(
    device, label=None, ssize=None, noforce=None, bso=None, gmo=None, ino=None, lso=None, rso=None, nmo=None, dso=None
):
    """
    Make a file system; its geometry, as ``xfs.info`` returns it

    device
        The device
    label
        Its label
    ssize
        The size of its sectors
    noforce
        Do not overwrite an existing file system
    bso, gmo, ino, lso, rso, nmo, dso
        Options ``key=value,...`` for -b, -m, -i, -l, -r, -n, -d

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.mkfs /dev/vdb1 dso='su=64k,sw=2' label=data
    """
    command = ["mkfs.xfs"] + (["-L", label] if label else []) + (["-s", str(ssize)] if ssize else [])
    for switch, text in (("-b", bso), ("-m", gmo), ("-n", nmo), ("-i", ino), ("-d", dso), ("-l", lso), ("-r", rso)):
        if text and "=" in text:
            if not all(part.count("=") == 1 for part in text.split(",")):
                raise CommandExecutionError('Wrong parameters "%s" for option "%s"' % (text, switch))
            command += [switch, text]
    return _geometry(_run(command + ([] if noforce else ["-f"]) + [device]))


def modify(device, label=None, lazy_counting=None, uuid=None):
    """
    Change a file system that is not mounted; returns the data of ``xfs.devices``

    device
        The device
    label
        Its new label
    lazy_counting
        Whether counters are written lazily
    uuid
        true for a new one, false for none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.modify /dev/vdb1 label=data lazy_counting=False
    """
    if not label and lazy_counting is None and uuid is None:
        raise CommandExecutionError('Nothing specified for modification for "%s" device' % device)
    command = ["xfs_admin"] + (["-L", label] if label else [])
    command += [] if lazy_counting is None else ["-c", "1" if lazy_counting else "0"]
    command += [] if uuid is None else ["-U", "generate" if uuid else "nil"]
    _run(command + [device])
    return _devices(_run(["blkid", "-o", "export", device]))


def defragment(device):
    """
    Defragment a file system: ``{log: output of xfs_fsr}``

    device
        The device, which must be mounted

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' xfs.defragment /dev/vdb1
    """
    if device == "/":
        raise CommandExecutionError("Root is not a device.")
    if device not in _mounts():
        raise CommandExecutionError('Device "%s" is not mounted' % device)
    return {"log": _run(["xfs_fsr", device])}


def _run(command):
    done = __salt__["cmd.run_all"](command, python_shell=False)
    if done["retcode"] and done["stderr"]:
        raise CommandExecutionError(done["stderr"])
    return done["stdout"]


def _geometry(text):
    """Parse rows such as ``data     =     bsize=4096   blocks=131072, imaxpct=25``; a row without a name continues the
    last one."""
    result, entry = {}, {}
    for line in text.splitlines():
        pairs = []
        for word in " ".join(line.replace(", ", " ").split()).replace(" = ", "=? ").replace(" =", "=").split(" "):
            if "=" in word or not pairs:
                pairs.append(word.partition("=")[::2])
            else:  # a value of several words
                pairs[-1] = (pairs[-1][0], "%s %s" % (pairs[-1][1], word))
        if "=" not in line:
            continue
        name, section = pairs.pop(0)
        if name:
            entry = result.setdefault(name, {"section": name if section == "?" else section})
        elif section:
            pairs.insert(0, tuple(section.split("=", 1)))
        entry.update(pairs)
    return result


def _devices(text):
    devices, mounts = {}, _mounts()
    for block in text.split("\n\n"):
        properties = dict(line.split("=", 1) for line in block.strip().splitlines() if "=" in line)
        properties = {key.lower(): properties[key] for key in properties}
        if properties.pop("type", None) == "xfs":
            properties.setdefault("label", None)
            name = properties.pop("devname")
            devices[name] = dict(properties, **mounts.get(name, {}))
    return devices


def _mounts():
    rows = [line.split(" ") for line in textfile.lines("/proc/mounts")]
    return {row[0]: {"mount_point": row[1], "options": row[3].split(",")} for row in rows if row[2] == "xfs"}
