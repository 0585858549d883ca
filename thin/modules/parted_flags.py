"""Flags of partitions and disks, by parted: a part of ``partition``. Salt: modules/parted_partition.py"""

from thin import process
from thin.utils.system import partedwords

__virtualname__ = "partition"
__func_alias__ = {"set_": "set"}
__changes__ = ("set", "toggle", "disk_set", "disk_toggle")

DISK_FLAGS = frozenset("cylinder_alignment pmbr_boot implicit_partition_table".split())
FLAGS = frozenset(
    "boot root swap hidden raid lvm lba hp-service palo prep msftres bios_grub atvrecv diag legacy_boot msftdata irst "
    "esp type".split()
)


def __virtual__():
    for name in ("parted", "lsblk", "partprobe"):
        if not process.which(name):
            return False, "The parted execution module failed to load %s binary is not in the path." % name
    return __virtualname__


def set_(device, minor, flag, state):
    """
    Turn a partition's flag on or off

    device
        The disk
    minor
        The partition's number
    flag
        Such as boot, lvm, raid, esp
    state
        on or off

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.set /dev/vdb 1 boot '"on"'
    """
    partedwords.check_device(device)
    partedwords.check_number(minor, "minor number passed to partition.set")
    partedwords.check_choice(FLAGS, flag, "flag passed to partition.set")
    return _parted(device, "set", minor, flag, _state(state, "partition.set"))


def toggle(device, partition, flag):
    """
    Invert a partition's flag

    device
        The disk
    partition
        The partition's number
    flag
        Such as boot, lvm, raid, esp

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.toggle /dev/vdb 1 boot
    """
    partedwords.check_device(device)
    partedwords.check_number(partition, "partition number passed to partition.toggle")
    partedwords.check_choice(FLAGS, flag, "flag passed to partition.toggle")
    return _parted(device, "toggle", partition, flag)


def disk_set(device, flag, state):
    """
    Turn a disk's flag on or off

    device
        The disk
    flag
        cylinder_alignment, pmbr_boot or implicit_partition_table
    state
        on or off

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.disk_set /dev/vdb pmbr_boot '"on"'
    """
    partedwords.check_device(device)
    partedwords.check_choice(DISK_FLAGS, flag, "flag passed to partition.disk_set")
    return _parted(device, "disk_set", flag, _state(state, "partition.disk_set"))


def disk_toggle(device, flag):
    """
    Invert a disk's flag

    device
        The disk
    flag
        cylinder_alignment, pmbr_boot or implicit_partition_table

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' partition.disk_toggle /dev/vdb cylinder_alignment
    """
    partedwords.check_device(device)
    partedwords.check_choice(DISK_FLAGS, flag, "flag passed to partition.disk_toggle")
    return _parted(device, "disk_toggle", flag)


def _state(value, where):
    word = {True: "on", False: "off"}.get(value, value)  # YAML reads on and off as booleans
    partedwords.check_choice({"on", "off"}, word, "state passed to %s" % where)
    return word


def _parted(device, *words):
    command = ["parted", "-m", "-s", device] + [str(word) for word in words]
    return __salt__["cmd.run"](command, python_shell=False).splitlines()
