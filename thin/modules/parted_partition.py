"""Disks and their partitions, by parted and sfdisk. Salt: modules/parted_partition.py

Their flags are in parted_flags.py.
"""

import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.system import partedwords

__virtualname__ = "partition"
__func_alias__ = {"list_": "list"}
__reads__ = ("list", "align_check", "check", "get_id", "system_types", "exists", "get_block_device")
__changes__ = ("probe", "cp", "set_id", "mkfs", "mklabel", "mkpart", "mkpartfs", "name", "rescue", "resize", "rm")

FILE_SYSTEMS = frozenset(
    "btrfs ext2 ext3 ext4 fat fat32 fat16 linux-swap reiserfs hfs hfs+ hfsx NTFS ntfs ufs xfs".split()
)
LABELS = frozenset("aix amiga bsd dvh gpt loop mac msdos pc98 sun".split())


def __virtual__():
    for name in ("parted", "lsblk", "partprobe"):
        if not process.which(name):
            return False, "The parted execution module failed to load %s binary is not in the path." % name
    return __virtualname__


def probe(*devices):
    """
    Inform the kernel of changed partitions; returns the lines of partprobe

    devices
        The disks; none for all

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.probe /dev/vdb
    """
    for device in devices:
        partedwords.check_device(device)
    return _lines(["partprobe", "--"] + list(devices))


def list_(device, unit=None):
    """
    Return ``{info: {disk, size, ...}, partitions: {number: {number, start, end, size, ...}}}``

    device
        The disk
    unit
        What sizes are given in, such as s, B, MiB, %

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.list /dev/vdb unit=MiB
    """
    partedwords.check_device(device)
    if unit and unit not in partedwords.UNITS:
        raise CommandExecutionError("Invalid unit passed to partition.part_list")
    command = ["parted", "-m", "-s", device] + (["unit", unit] if unit else []) + ["print"]
    entries = {"info": {}, "partitions": {}}
    for line in __salt__["cmd.run_stdout"](command, python_shell=False).splitlines():
        if line in ("BYT;", "CHS;", "CYL;"):
            continue
        row = line.rstrip(";").split(":")
        if not entries["info"]:
            names = (
                "disk",
                "size",
                "interface",
                "logical sector",
                "physical sector",
                "partition table",
                "model",
                "disk flags",
            )
            if not 7 <= len(row) <= 8:
                raise CommandExecutionError("Problem encountered while parsing output from parted")
            entries["info"] = dict(zip(names, row))
            continue
        names = ["number", "start", "end"] + ([] if unit == "chs" else ["size"])
        if row[-1] == "free":
            row.pop()
        else:
            names += ["file system", "name", "flags"]
        if len(names) != len(row):
            raise CommandExecutionError("Problem encountered while parsing output from parted")
        entries["partitions"][row[0]] = dict(zip(names, row))
    return entries


def align_check(device, part_type, partition):
    """
    Return parted's check of a partition's alignment

    device
        The disk
    part_type
        minimal or optimal
    partition
        Its number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.align_check /dev/vdb minimal 1
    """
    partedwords.check_device(device)
    partedwords.check_choice({"minimal", "optimal"}, part_type, "part_type passed to partition.align_check")
    partedwords.check_number(partition, "partition passed to partition.align_check")
    return _lines(["parted", "-m", device, "align-check", part_type, str(partition)])


def check(device, minor):
    """
    Check a partition's file system; only old versions of parted can do this

    device
        The disk
    minor
        The partition's number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.check /dev/vdb 1
    """
    partedwords.check_device(device)
    partedwords.check_number(minor, "minor number passed to partition.check")
    return _parted(device, "check", minor)


def cp(device, from_minor, to_minor):
    """
    Copy a file system from one partition to another; only old versions of parted can do this

    device
        The disk
    from_minor
        The partition's number
    to_minor
        That of the other

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.cp /dev/vdb 2 3
    """
    partedwords.check_device(device)
    for minor in (from_minor, to_minor):
        partedwords.check_number(minor, "minor number passed to partition.cp")
    return _parted(device, "cp", from_minor, to_minor)


def get_id(device, minor):
    """
    Return the type of a partition, as lines

    device
        The disk
    minor
        The partition's number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.get_id /dev/vdb 1
    """
    partedwords.check_device(device)
    partedwords.check_number(minor, "minor number passed to partition.get_id")
    return _lines(["sfdisk", "--part-type", device, str(minor)])


def set_id(device, minor, system_id):
    """
    Set the type of a partition

    device
        The disk
    minor
        The partition's number
    system_id
        One of ``partition.system_types``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.set_id /dev/vdb 1 83
    """
    partedwords.check_device(device)
    partedwords.check_number(minor, "minor number passed to partition.set_id")
    partedwords.check_choice(system_types(), str(system_id), "system_id passed to partition.set_id")
    return _lines(["sfdisk", "--part-type", device, str(minor), str(system_id)])


def system_types():
    """
    Return the partition types of sfdisk: ``{type: word}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.system_types
    """
    rows = [line.split() for line in _lines(["sfdisk", "-T"])]
    return {row[0]: row[1] for row in rows if len(row) > 1 and row[0] != "Id"}


def mkfs(device, fs_type):
    """
    Make a file system; the lines of mkfs

    device
        The partition
    fs_type
        Such as ext4, or linux-swap

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.mkfs /dev/vdb1 fs_type=ext4
    """
    partedwords.check_device(device)
    partedwords.check_choice(FILE_SYSTEMS, fs_type, "fs_type passed to partition.mkfs")
    command = "mkswap" if fs_type == "linux-swap" else "mkfs.%s" % fs_type.replace("NTFS", "ntfs")
    if not process.which(command):
        return "Error: %s is unavailable." % command
    return _lines([command, device])


def mklabel(device, label_type):
    """
    Make a new partition table; all partitions are lost

    device
        The disk
    label_type
        Such as gpt or msdos

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.mklabel /dev/vdb gpt
    """
    partedwords.check_choice(LABELS, label_type, "label_type passed to partition.mklabel")
    return _parted(device, "mklabel", label_type)


def mkpart(device, part_type, fs_type=None, start=None, end=None):
    """
    Create a partition

    device
        The disk
    part_type
        primary, logical or extended
    fs_type
        The file system that it is for; none is made
    start, end
        Where it is, such as 1MiB, 50%, 2048s

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.mkpart /dev/vdb primary fs_type=ext4 start=1MiB end=100%
    """
    partedwords.check_device(device)
    partedwords.check_choice({"primary", "logical", "extended"}, part_type, "part_type passed to partition.mkpart")
    if fs_type:
        partedwords.check_choice(FILE_SYSTEMS, fs_type, "fs_type passed to partition.mkpart")
    if start is not None and end is not None:
        partedwords.check_boundary(start)
        partedwords.check_boundary(end)
    places = ["" if place is None else str(place) for place in (start, end)]
    return _lines(["parted", "-m", "-s", "--", device, "mkpart", part_type] + ([fs_type] if fs_type else []) + places)


def mkpartfs(device, part_type, fs_type=None, start=None, end=None):
    """
    Make a partition, as ``partition.mkpart`` does; parted no longer creates file systems

    device, part_type, fs_type, start, end
        As there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.mkpartfs /dev/vdb logical ext2 4096 8192
    """
    return mkpart(device, part_type, fs_type, start, end)


def name(device, partition, name):
    """
    Name a partition

    device
        The disk
    partition
        The partition's number
    name
        The name: letters, digits, blanks, ``_`` and ``-``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.name /dev/vdb 1 orders
    """
    partedwords.check_device(device)
    partedwords.check_number(partition, "partition passed to partition.name")
    if re.search(r"[^A-Za-z0-9 _-]", name):
        raise CommandExecutionError("Invalid characters passed to partition.name")
    return _parted(device, "name", partition, "'%s'" % name)


def rescue(device, start, end):
    """
    Search a lost partition with parted

    device
        The disk
    start, end
        Where it lay

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.rescue /dev/vdb 0 8056
    """
    partedwords.check_device(device)
    partedwords.check_boundary(start)
    partedwords.check_boundary(end)
    return _parted(device, "rescue", start, end)


def resize(device, minor, start, end):
    """
    Resize a partition and its file system; only old versions of parted can do this

    device
        The disk
    minor
        The partition's number
    start, end
        Where it will be

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.resize /dev/vdb 3 1024 4096
    """
    partedwords.check_device(device)
    partedwords.check_number(minor, "minor number passed to partition.resize")
    partedwords.check_boundary(start)
    partedwords.check_boundary(end)
    return _lines(["parted", "-m", "-s", "--", device, "resize", str(minor), str(start), str(end)])


def rm(device, minor):
    """
    Remove a partition

    device
        The disk
    minor
        The partition's number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.rm /dev/vdb 5
    """
    partedwords.check_device(device)
    partedwords.check_number(minor, "minor number passed to partition.rm")
    return _parted(device, "rm", minor)


def exists(device=""):
    """
    Whether there is such a block device

    device
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.exists /dev/vdb3
    """
    return partedwords.exists(device)


def get_block_device():
    """
    Return the names of all disks, without floppies, loop devices and CDs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.get_block_device
    """
    return _lines(["lsblk", "-n", "-io", "KNAME", "-d", "-e", "1,7,11", "-l"])


def _lines(command):
    return __salt__["cmd.run"](command, python_shell=False).splitlines()


def _parted(device, *words):
    return _lines(["parted", "-m", "-s", device] + [str(word) for word in words])
