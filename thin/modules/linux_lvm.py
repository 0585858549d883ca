"""Physical volumes, volume groups and logical volumes, by the commands of LVM 2. Salt: modules/linux_lvm.py

The functions for logical volumes are in linux_lvm_volumes.py.
"""

import os

from thin import process
from thin.utils.programs import lvmrun

__virtualname__ = "lvm"
__reads__ = ("version", "fullversion", "pvdisplay", "vgdisplay")
__changes__ = ("pvcreate", "pvremove", "pvresize", "vgcreate", "vgextend", "vgremove")

_PV = (
    "Physical Volume Device",
    "Volume Group Name",
    "Physical Volume Size (kB)",
    "Internal Physical Volume Number",
    "Physical Volume Status",
    "Physical Volume (not) Allocatable",
    "Current Logical Volumes Here",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Free Physical Extents",
    "Allocated Physical Extents",
)
_VG = (
    "Volume Group Name",
    "Volume Group Access",
    "Volume Group Status",
    "Internal Volume Group Number",
    "Maximum Logical Volumes",
    "Current Logical Volumes",
    "Open Logical Volumes",
    "Maximum Logical Volume Size",
    "Maximum Physical Volumes",
    "Current Physical Volumes",
    "Actual Physical Volumes",
    "Volume Group Size (kB)",
    "Physical Extent Size (kB)",
    "Total Physical Extents",
    "Allocated Physical Extents",
    "Free Physical Extents",
    "UUID",
)
_PVCREATE = (
    "metadatasize",
    "dataalignment",
    "dataalignmentoffset",
    "pvmetadatacopies",
    "metadatacopies",
    "metadataignore",
    "restorefile",
    "labelsector",
    "setphysicalvolumesize",
)
_VGCREATE = (
    "addtag",
    "alloc",
    "autobackup",
    "clustered",
    "maxlogicalvolumes",
    "maxphysicalvolumes",
    "metadatatype",
    "vgmetadatacopies",
    "metadatacopies",
    "physicalextentsize",
    "zero",
)


def __virtual__():
    if process.which("lvm"):
        return __virtualname__
    return False, "The linux_lvm execution module cannot be loaded: the lvm binary is not in the path."


def version():
    """
    Return the version of LVM

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.version
    """
    return fullversion().get("LVM version", "")


def fullversion():
    """
    Return the versions of LVM, its library and its driver: ``{"LVM version": ..., "Driver version": ...}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.fullversion
    """
    lines = __salt__["cmd.run_stdout"](["lvm", "version"], python_shell=False, ignore_retcode=True).splitlines()
    pairs = [line.partition(":") for line in lines if ":" in line]
    return {key.strip(): value.strip() for key, _, value in pairs}


def pvdisplay(pvname="", real=False, quiet=False):
    """
    Return ``{device: {...}}`` of all physical volumes, or of one; {} if it is no physical volume

    pvname
        A device
    real
        Name devices by their real paths
    quiet
        Do not log that the device is no physical volume

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.pvdisplay
        pushsalt run '*' lvm.pvdisplay /dev/vdb1
    """
    result = {}
    for row in lvmrun.rows(__salt__["cmd.run_all"], "pvdisplay", pvname, _PV, quiet):
        device = row["Physical Volume Device"]
        if real:
            device = os.path.realpath(device)
            row["Real Physical Volume Device"] = device
        result[device] = row
    return result


def vgdisplay(vgname="", quiet=False):
    """
    Return ``{name: {...}}`` of all volume groups, or of one; {} if there is none

    vgname
        The volume group
    quiet
        Do not log that there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.vgdisplay
        pushsalt run '*' lvm.vgdisplay data
    """
    return {
        row["Volume Group Name"]: row for row in lvmrun.rows(__salt__["cmd.run_all"], "vgdisplay", vgname, _VG, quiet)
    }


def pvcreate(devices, override=True, force=True, **kwargs):
    """
    Create physical volumes; returns True, or the error as text

    devices
        A list, or a text with commas
    override
        Skip devices that are already physical volumes, instead of failing
    force
        Answer all questions with yes
    kwargs
        Options of pvcreate(8): metadatasize, dataalignment, dataalignmentoffset, pvmetadatacopies, metadatacopies,
        metadataignore, restorefile, norestorefile, labelsector, setphysicalvolumesize

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.pvcreate /dev/vdb1,/dev/vdc1
        pushsalt run '*' lvm.pvcreate /dev/vdb1 dataalignmentoffset=4k
    """
    if not devices:
        return "Error: at least one device is required"
    devices, due = _list(devices), []
    for device in devices:
        if not os.path.exists(device):
            return "%s does not exist" % device
        if not pvdisplay(device, quiet=True):
            due.append(device)
        elif not override:
            return 'Device "%s" is already an LVM physical volume.' % device
    if not due:
        return True
    done = _run(["pvcreate", lvmrun.yes(force)] + due + _options(kwargs, _PVCREATE, ("norestorefile",)))
    if done["retcode"]:
        return done["stderr"]
    return _affected(devices, True)


def pvremove(devices, override=True, force=True):
    """
    Remove the LVM labels of devices; returns True, or the error

    devices
        A list, or a text with commas
    override
        Skip devices that are no physical volumes, instead of failing
    force
        Answer all questions with yes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.pvremove /dev/vdb1,/dev/vdc1
    """
    results = _each("pvremove", devices, override, force)
    return _affected(_list(devices), False) if results is True else True if results is None else results


def pvresize(devices, override=True, force=True):
    """
    Resize physical volumes to the size of their devices; returns True, or the error as text

    devices
        A list, or a text with commas
    override
        Skip devices that are no physical volumes, instead of failing
    force
        Answer all questions with yes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.pvresize /dev/vdb1,/dev/vdc1
    """
    results = _each("pvresize", devices, override, force)
    return True if results is None else results


def vgcreate(vgname, devices, force=False, **kwargs):
    """
    Create a volume group; returns what ``vgdisplay`` returns, with ``Output from vgcreate``

    vgname
        Its name
    devices
        Its physical volumes, a list or a text with commas
    force
        Answer all questions with yes
    kwargs
        Options of vgcreate(8): addtag, alloc, autobackup, clustered, maxlogicalvolumes, maxphysicalvolumes,
        metadatatype, vgmetadatacopies, metadatacopies, physicalextentsize, zero

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.vgcreate data /dev/vdb1,/dev/vdc1
        pushsalt run '*' lvm.vgcreate data /dev/vdb1 physicalextentsize=16M
    """
    if not vgname or not devices:
        return "Error: vgname and device(s) are both required"
    done = _run(["vgcreate", vgname] + _list(devices) + [lvmrun.yes(force)] + _options(kwargs, _VGCREATE))
    answer = lvmrun.outcome(done, 'Volume group "%s" successfully created' % vgname)
    return dict(vgdisplay(vgname), **{"Output from vgcreate": answer})


def vgextend(vgname, devices, force=False):
    """
    Add physical volumes to a volume group: ``{"Output from vgextend": ...}``

    vgname
        The volume group
    devices
        The physical volumes, a list or a text with commas
    force
        Answer all questions with yes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.vgextend data /dev/sdc1
    """
    if not vgname or not devices:
        return "Error: vgname and device(s) are both required"
    done = _run(["vgextend", vgname, lvmrun.yes(force)] + _list(devices))
    return {"Output from vgextend": lvmrun.outcome(done, 'Volume group "%s" successfully extended' % vgname)}


def vgremove(vgname, force=True):
    """
    Remove a volume group; returns the output of vgremove

    vgname
        The volume group
    force
        Answer all questions with yes: its logical volumes are removed, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.vgremove data
    """
    return lvmrun.outcome(
        _run(["vgremove", vgname, lvmrun.yes(force)]), 'Volume group "%s" successfully removed' % vgname
    )


def _run(command):
    return lvmrun.run(__salt__["cmd.run_all"], command)


def _list(devices):
    return devices.split(",") if isinstance(devices, str) else list(devices)


def _options(given, valid, flags=()):
    options = []
    for key, value in given.items():
        if value and key in flags:
            options.append("--" + key)
        elif value and key in valid:
            options += ["--" + key, str(value)]
    return options


def _each(command, devices, override, force):
    """Run a command for those that are physical volumes: True, None if there are none, or the error as text."""
    due = []
    for device in _list(devices):
        if pvdisplay(device):
            due.append(device)
        elif not override:
            return "%s is not a physical volume" % device
    if not due:
        return None
    done = _run([command, lvmrun.yes(force)] + due)
    return done["stderr"] if done["retcode"] else True


def _affected(devices, wanted):
    for device in devices:
        if bool(pvdisplay(device, quiet=not wanted)) is not wanted:
            return 'Device "%s" was not affected.' % device
    return True
