"""Disks and block devices: usage, settings, and creation of file systems. Salt: modules/disk.py"""

import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger

__func_alias__ = {"format_": "format"}
__reads__ = ("usage", "inodeusage", "percent", "blkid", "dump", "fstype", "get_fstype_from_path", "smart_attributes")
__changes__ = ("tune", "wipe", "resize2fs", "format")

log = getLogger(__name__)

#: what blockdev(8) prints about a device, in the order of its options
_PROPERTIES = (
    "getro",
    "getsz",
    "getss",
    "getpbsz",
    "getiomin",
    "getioopt",
    "getalignoff",
    "getmaxsect",
    "getsize",
    "getsize64",
    "getra",
    "getfra",
)
_SETTINGS = {"read-ahead": "ra", "filesystem-read-ahead": "fra", "read-only": "ro", "read-write": "rw"}
_ROW = re.compile(r"(.+?)\s+(-?\d+|-)\s+(-?\d+|-)\s+(-?\d+|-)\s+(\S+)\s+(/.*)")


def __virtual__():
    return (False, "This module doesn't work on Windows.") if __grains__.get("kernel") == "Windows" else True


def usage(args=None):
    """
    Return ``{mount point: {"filesystem", "1K-blocks", "used", "available", "capacity"}}`` of mounted file systems

    args
        Letters for df, such as h

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.usage
    """
    rows = _df("disk.usage", ["-P"], args)
    names = ("filesystem", "1K-blocks", "used", "available", "capacity")
    return {row[5]: dict(zip(names, row)) for row in rows}


def inodeusage(args=None):
    """
    Return ``{mount point: {"inodes", "used", "free", "use", "filesystem"}}`` of mounted file systems

    args
        Letters for df

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.inodeusage
    """
    rows = _df("disk.inodeusage", ["-iP"], args)
    return {
        row[5]: {"inodes": row[1], "used": row[2], "free": row[3], "use": row[4], "filesystem": row[0]} for row in rows
    }


def percent(args=None):
    """
    Return ``{mount point: "42%"}``, or that of one mount point

    args
        The mount point

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.percent /srv
    """
    result = {row[5]: row[4] for row in _df("disk.percent", ["-P"], None)}
    if args and args not in result:
        log.error("Partition '%s' does not exist!", args)
        return {}
    return result[args] if args else result


def blkid(device=None, token=None):
    """
    Return ``{device: {"UUID": ..., "TYPE": ...}}`` of all devices, of one, or of those with a token

    device
        The device
    token
        Such as ``LABEL=data``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.blkid /dev/vdb
    """
    command = ["blkid"] + ([device] if device else ["-t", token] if token else [])
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
    result = {}
    for line in done["stdout"].splitlines() if done["retcode"] == 0 else ():
        name, _, rest = line.partition(": ")
        result[name] = dict(re.findall(r'(\S+?)="([^"]*)"', rest))
    return result


def dump(device, args=None):
    """
    Return the values that blockdev(8) reports for a device: ``{"getro": "0", "getra": "256", ...}``; False if it is no
    device

    device
        The device
    args
        Only these values, a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.dump /dev/vdb1
    """
    command = ["blockdev"] + ["--" + fact for fact in _PROPERTIES] + [device]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
    if done["retcode"] != 0:
        return False
    properties = dict(zip(_PROPERTIES, done["stdout"].splitlines()))
    return {fact: properties[fact] for fact in args} if args else properties


def tune(device, **kwargs):
    """
    Change settings of a block device, and return their values in the shape of ``disk.dump``

    device
        The device
    kwargs
        ``read-ahead``, ``filesystem-read-ahead``; ``read-only: true`` or ``read-write: true``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.tune /dev/vdb1 read-ahead=1024 read-write=True
    """
    options, properties, wrong = [], [], []
    for key, value in kwargs.items():
        if key.startswith("__"):
            continue
        flag = key in ("read-only", "read-write")
        if key not in _SETTINGS or (flag and value not in (True, "True")):
            wrong.append("%s=%s" % (key, value))
            continue
        options += ["--set" + _SETTINGS[key]] + ([] if flag else [str(value)])
        properties.append("getro" if flag else "get" + _SETTINGS[key])
    if wrong:
        raise SaltInvocationError("Invalid keyword arguments: %s" % ", ".join(wrong))
    done = __salt__["cmd.run_all"](["blockdev"] + options + [device], python_shell=False)
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stderr"])
    return dump(device, properties)


def wipe(device):
    """
    Remove the signatures of file systems from the device; returns whether it worked

    device
        The device

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.wipe /dev/vdb1
    """
    done = __salt__["cmd.run_all"](["wipefs", "-a", device], python_shell=False)
    if done["retcode"] != 0:
        log.error("Error wiping device %s: %s", device, done["stderr"])
    return done["retcode"] == 0


def resize2fs(device):
    """
    Resize an ext file system to the size of its device; returns whether it worked

    device
        The device

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.resize2fs /dev/vdb1
    """
    return __salt__["cmd.retcode"](["resize2fs", device], python_shell=False) == 0


def format_(device, fs_type="ext4", inode_size=None, lazy_itable_init=None, fat=None, force=False):
    """
    Make a file system; returns whether it worked

    device
        The device
    fs_type
        Its type
    inode_size
        Bytes for each inode (ext), or its size (xfs)
    lazy_itable_init
        Whether inode tables are written later (ext)
    fat
        12, 16 or 32
    force
        Overwrite an existing file system

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.format /dev/vdb2
    """
    command = ["mkfs", "-t", str(fs_type)]
    ext, xfs = fs_type.startswith("ext"), fs_type == "xfs"
    if inode_size is not None and (ext or xfs):
        command += ["-i", str(inode_size) if ext else "size=%s" % inode_size]
    if lazy_itable_init is not None and ext:
        command += ["-E", "lazy_itable_init=%s" % lazy_itable_init]
    if fat in (12, 16, 32) and fs_type.endswith("fat"):
        command += ["-F", str(fat)]
    if force and (ext or xfs):
        command.append("-F" if ext else "-f")
    made = __salt__["cmd.retcode"](command + [str(device)], python_shell=False) == 0
    return __salt__["cmd.retcode"](["sync"], python_shell=False) == 0 and made


def fstype(device):
    """
    Return the type of the file system on a device or mounted at a path; "" if there is none

    device
        The device or path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.fstype /dev/vdb2
    """
    for command in (["lsblk", "-n", "-o", "fstype", device], ["df", "-T", device]):
        if __salt__["cmd.which"](command[0]):
            done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
            lines = done["stdout"].splitlines()
            if command[0] == "df":
                words = lines[-1].split() if len(lines) > 1 else []
                return words[1] if len(words) > 1 else ""
            if done["retcode"] == 0 and lines and lines[0].strip():
                return lines[0].strip()
    return ""


def get_fstype_from_path(path):
    """
    Return the type of the file system that contains a path

    path
        The path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.get_fstype_from_path /srv/app
    """
    rows = __salt__["cmd.run_all"](["df", "-T", path], python_shell=False, ignore_retcode=True)["stdout"].splitlines()
    return rows[-1].split()[1] if len(rows) > 1 else ""


def smart_attributes(dev, attributes=None, values=None):
    """
    Return ``{number: {"attribute_name", "value", "raw_value", ...}}`` of a disk, by smartctl

    dev
        The disk
    attributes
        Only these numbers, a list
    values
        Only these fields, a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' disk.smart_attributes /dev/vdb
    """
    device = dev if dev.startswith("/dev/") else "/dev/" + dev
    done = __salt__["cmd.run_all"](["smartctl", "--attributes", device], python_shell=False, output_loglevel="quiet")
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stderr"] or done["stdout"])
    smart_attributes, fields = {}, []
    for line in done["stdout"].splitlines():
        if line.startswith("ID#"):
            fields = [name.lower() for name in line.split()[1:]]
        elif fields and re.match(r"\s*\d+\s", line):
            number, *rest = line.split(None, len(fields))
            if attributes is None or int(number) in attributes:
                row = {name: _number(text.strip()) for name, text in zip(fields, rest)}
                smart_attributes[int(number)] = {name: row[name] for name in row if values is None or name in values}
        elif smart_attributes:
            break
    return smart_attributes


def _number(text):
    words = text.split(" ")
    if all(word.isdigit() for word in words):
        return int(text) if len(words) == 1 else [int(word) for word in words]
    return text


def _df(caller, words, args):
    """The rows of df: file system, three numbers, percentage, mount point."""
    if any(letter not in "aBhHiklPtTxv" for letter in args or ""):
        raise CommandExecutionError("Invalid flag passed to %s" % caller)
    command = ["df"] + words + (["-" + "".join(args)] if args else [])
    env = {"LC_ALL": "C"}
    text = __salt__["cmd.run_stdout"](command, python_shell=False, ignore_retcode=True, env=env)
    if args:  # human-readable sizes and similar
        rows = [line.split(None, 5) for line in text.splitlines()[1:]]
        return [row for row in rows if len(row) == 6]
    return [match.groups() for match in map(_ROW.match, text.splitlines()) if match]
