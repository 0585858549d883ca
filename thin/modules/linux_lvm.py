"""Physical volumes, volume groups and logical volumes, by the commands of LVM 2. Salt: modules/linux_lvm.py"""

import os

from thin import process
from thin.log import getLogger

__virtualname__ = "lvm"
__reads__ = ("version", "fullversion", "pvdisplay", "vgdisplay", "lvdisplay")
__changes__ = (
    "pvcreate",
    "pvremove",
    "pvresize",
    "vgcreate",
    "vgextend",
    "vgremove",
    "lvcreate",
    "lvremove",
    "lvresize",
    "lvextend",
)

log = getLogger(__name__)

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
_LV = (
    "Logical Volume Name",
    "Volume Group Name",
    "Logical Volume Access",
    "Logical Volume Status",
    "Internal Logical Volume Number",
    "Open Logical Volumes",
    "Logical Volume Size",
    "Current Logical Extents Associated",
    "Allocated Logical Extents",
    "Allocation Policy",
    "Read Ahead Sectors",
    "Major Device Number",
    "Minor Device Number",
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
_LVCREATE = (
    "activate",
    "chunksize",
    "contiguous",
    "discards",
    "stripes",
    "stripesize",
    "minor",
    "persistent",
    "mirrors",
    "monitor",
    "permission",
    "poolmetadatasize",
    "readahead",
    "regionsize",
    "type",
    "virtualsize",
    "zero",
)
_LVCREATE_FLAGS = ("nosync", "noudevsync", "ignoremonitoring", "thin")


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
    Return ``{device: {...}}`` of all physical volumes, or of one; {} when it is none

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
    found = {}
    for row in _rows("pvdisplay", pvname, _PV, quiet):
        device = row["Physical Volume Device"]
        if real:
            device = os.path.realpath(device)
            row["Real Physical Volume Device"] = device
        found[device] = row
    return found


def vgdisplay(vgname="", quiet=False):
    """
    Return ``{name: {...}}`` of all volume groups, or of one; {} when there is none

    vgname
        The volume group
    quiet
        Do not log that there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.vgdisplay
        pushsalt run '*' lvm.vgdisplay data
    """
    return {row["Volume Group Name"]: row for row in _rows("vgdisplay", vgname, _VG, quiet)}


def lvdisplay(lvname="", quiet=False):
    """
    Return ``{device: {...}}`` of all logical volumes, or of one; {} when there is none

    lvname
        The logical volume's device, ``/dev/group/name``
    quiet
        Do not log that there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.lvdisplay
        pushsalt run '*' lvm.lvdisplay /dev/data/root
    """
    return {row["Logical Volume Name"]: row for row in _rows("lvdisplay", lvname, _LV, quiet)}


def pvcreate(devices, override=True, force=True, **kwargs):
    """
    Make devices physical volumes; True, or what went wrong

    devices
        A list, or a text with commas
    override
        Pass over devices that are physical volumes already, instead of refusing
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
    done = _run(["pvcreate", _yes(force)] + due + _options(kwargs, _PVCREATE, ("norestorefile",)))
    if done["retcode"]:
        return done["stderr"]
    return _affected(devices, True)


def pvremove(devices, override=True, force=True):
    """
    Make devices physical volumes no more; True, or what went wrong

    devices
        A list, or a text with commas
    override
        Pass over devices that are no physical volumes, instead of refusing
    force
        Answer all questions with yes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.pvremove /dev/vdb1,/dev/vdc1
    """
    said = _each("pvremove", devices, override, force)
    return _affected(_list(devices), False) if said is True else True if said is None else said


def pvresize(devices, override=True, force=True):
    """
    Make physical volumes as large as their devices; True, or what went wrong

    devices
        A list, or a text with commas
    override
        Pass over devices that are no physical volumes, instead of refusing
    force
        Answer all questions with yes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.pvresize /dev/vdb1,/dev/vdc1
    """
    said = _each("pvresize", devices, override, force)
    return True if said is None else said


def vgcreate(vgname, devices, force=False, **kwargs):
    """
    Make a volume group; what ``vgdisplay`` says of it, with ``Output from vgcreate``

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
    done = _run(["vgcreate", vgname] + _list(devices) + [_yes(force)] + _options(kwargs, _VGCREATE))
    said = _said(done, 'Volume group "%s" successfully created' % vgname)
    return dict(vgdisplay(vgname), **{"Output from vgcreate": said})


def vgextend(vgname, devices, force=False):
    """
    Let a volume group use more physical volumes: ``{"Output from vgextend": ...}``

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
    done = _run(["vgextend", vgname, _yes(force)] + _list(devices))
    return {"Output from vgextend": _said(done, 'Volume group "%s" successfully extended' % vgname)}


def vgremove(vgname, force=True):
    """
    Remove a volume group; what came of it

    vgname
        The volume group
    force
        Answer all questions with yes: volumes in it go too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.vgremove data
    """
    return _said(_run(["vgremove", vgname, _yes(force)]), 'Volume group "%s" successfully removed' % vgname)


def lvcreate(
    lvname,
    vgname,
    size=None,
    extents=None,
    snapshot=None,
    pv=None,
    thinvolume=False,
    thinpool=False,
    force=False,
    **kwargs,
):
    """
    Make a logical volume; what ``lvdisplay`` says of it, with ``Output from lvcreate``

    lvname
        Its name
    vgname
        Its volume group; of a thin volume, ``group/pool``
    size
        Its size, such as ``10G``
    extents
        Or its size in extents, such as ``100`` or ``50%FREE``
    snapshot
        The volume of which it is a snapshot
    pv
        The physical volume it lies on
    thinvolume
        It is a thin volume
    thinpool
        It is a pool for thin volumes
    force
        Answer all questions with yes
    kwargs
        Options of lvcreate(8): activate, chunksize, contiguous, discards, stripes, stripesize, minor, persistent,
        mirrors, monitor, permission, poolmetadatasize, readahead, regionsize, type, virtualsize, zero; and without
        a value nosync, noudevsync, ignoremonitoring, thin

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.lvcreate home data size=10G
        pushsalt run '*' lvm.lvcreate home data extents=2560 pv=/dev/vdb1
        pushsalt run '*' lvm.lvcreate before data snapshot=home size=3G
        pushsalt run '*' lvm.lvcreate pool data size=20G thinpool=True
        pushsalt run '*' lvm.lvcreate thin data/pool size=10G thinvolume=True
    """
    if size and extents:
        return "Error: Please specify only one of size or extents"
    if thinvolume and thinpool:
        return "Error: Please set only one of thinvolume or thinpool to True"
    if extents and thinvolume:
        return "Error: Thin volume size cannot be specified as extents"
    if not size and not extents:
        return "Error: Either size or extents must be specified"
    command = ["lvcreate"] + (["--thin", "-n"] if thinvolume else ["--thinpool"] if thinpool else ["-n"]) + [lvname]
    command += ["-s", "%s/%s" % (vgname, snapshot)] if snapshot else [vgname]
    command += ["-V" if thinvolume else "-L", str(size)] if size else ["-l", str(extents)]
    command += [pv] if pv else []
    for key, value in kwargs.items():
        if key in _LVCREATE_FLAGS:
            command.append("--" + key)
        elif key in _LVCREATE:
            command += ["--" + key, str(value)]
    said = _said(_run(command + [_yes(force)]), 'Logical volume "%s" created.' % lvname)
    return dict(lvdisplay("/dev/%s/%s" % (vgname, lvname)), **{"Output from lvcreate": said})


def lvremove(lvname, vgname, force=True):
    """
    Remove a logical volume; what came of it

    lvname
        The logical volume
    vgname
        Its volume group
    force
        Answer all questions with yes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.lvremove home data
    """
    done = _run(["lvremove", "%s/%s" % (vgname, lvname), _yes(force)])
    return _said(done, 'Logical volume "%s" successfully removed' % lvname)


def lvresize(size=None, lvpath=None, extents=None, force=False, resizefs=False):
    """
    Change the size of a logical volume: ``{"Output from lvresize": ...}``, {} when no size is given, or two

    size
        The new size, or with a sign the difference
    lvpath
        The logical volume's device
    extents
        Or the new size in extents, such as ``+100%FREE``
    force
        Make it smaller without asking
    resizefs
        Resize the file system on it as well

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.lvresize 2G /dev/mapper/data-home
        pushsalt run '*' lvm.lvresize lvpath=/dev/mapper/data-home extents=+50%FREE
    """
    return _resize("lvresize", "resized", "--force", size, lvpath, extents, force, resizefs)


def lvextend(size=None, lvpath=None, extents=None, force=False, resizefs=False):
    """
    Make a logical volume larger: ``{"Output from lvextend": ...}``, {} when no size is given, or two

    size
        The new size, or with a sign the difference
    lvpath
        The logical volume's device
    extents
        Or the new size in extents, such as ``+100%FREE``
    force
        Answer all questions with yes
    resizefs
        Resize the file system on it as well

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.lvextend +512M /dev/mapper/data-home
    """
    return _resize("lvextend", "extended", "--yes", size, lvpath, extents, force, resizefs)


def _run(command, quiet=False):
    return __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=quiet)


def _said(done, well):
    return done["stderr"].strip() if done["retcode"] else well


def _yes(force):
    return "--yes" if force else "-qq"


def _list(devices):
    return devices.split(",") if isinstance(devices, str) else list(devices)


def _options(given, valid, flags=()):
    found = []
    for key, value in given.items():
        if value and key in flags:
            found.append("--" + key)
        elif value and key in valid:
            found += ["--" + key, str(value)]
    return found


def _rows(command, name, fields, quiet):
    """What a ``...display -c`` tells, a dict for each line; nothing when it fails."""
    done = _run([command, "-c"] + ([name] if name else []), quiet)
    rows = [line.strip().split(":") for line in done["stdout"].splitlines()] if not done["retcode"] else ()
    # a device that nobody uses yet is a sentence, not a row
    return [dict(zip(fields, row)) for row in rows if len(row) >= len(fields)]


def _each(command, devices, override, force):
    """Run a command for those that are physical volumes: True, None if there are none, or what went wrong."""
    due = []
    for device in _list(devices):
        if pvdisplay(device):
            due.append(device)
        elif not override:
            return "%s is not a physical volume" % device
    if not due:
        return None
    done = _run([command, _yes(force)] + due)
    return done["stderr"] if done["retcode"] else True


def _affected(devices, wanted):
    for device in devices:
        if bool(pvdisplay(device, quiet=not wanted)) is not wanted:
            return 'Device "%s" was not affected.' % device
    return True


def _resize(command, past, sure, size, lvpath, extents, force, resizefs):
    if bool(size) == bool(extents):
        log.error(
            "Error: Please specify only one of size or extents"
            if size
            else "Error: Either size or extents must be specified"
        )
        return {}
    words = [command, sure if force else "-qq"] + (["--resizefs"] if resizefs else [])
    words += ["-L", str(size)] if size else ["-l", str(extents)]
    done = _run(words + [lvpath])
    return {"Output from %s" % command: _said(done, 'Logical volume "%s" successfully %s.' % (lvpath, past))}
