"""Logical volumes, by the commands of LVM 2: a part of ``lvm``. Salt: modules/linux_lvm.py"""

from thin import process
from thin.log import getLogger
from thin.utils.programs import lvmrun

__virtualname__ = "lvm"
__reads__ = ("lvdisplay",)
__changes__ = ("lvcreate", "lvremove", "lvresize", "lvextend")

log = getLogger(__name__)

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


def lvdisplay(lvname="", quiet=False):
    """
    Return ``{device: {...}}`` of all logical volumes, or of one; {} if there is none

    lvname
        The logical volume's device, ``/dev/group/name``
    quiet
        Do not log that there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' lvm.lvdisplay
        pushsalt run '*' lvm.lvdisplay /dev/data/root
    """
    return {
        row["Logical Volume Name"]: row for row in lvmrun.rows(__salt__["cmd.run_all"], "lvdisplay", lvname, _LV, quiet)
    }


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
    Create a logical volume; returns what ``lvdisplay`` returns, with ``Output from lvcreate``

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
    output = lvmrun.outcome(_run(command + [lvmrun.yes(force)]), 'Logical volume "%s" created.' % lvname)
    return dict(lvdisplay("/dev/%s/%s" % (vgname, lvname)), **{"Output from lvcreate": output})


def lvremove(lvname, vgname, force=True):
    """
    Remove a logical volume; returns the output of lvremove

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
    done = _run(["lvremove", "%s/%s" % (vgname, lvname), lvmrun.yes(force)])
    return lvmrun.outcome(done, 'Logical volume "%s" successfully removed' % lvname)


def lvresize(size=None, lvpath=None, extents=None, force=False, resizefs=False):
    """
    Change the size of a logical volume: ``{"Output from lvresize": ...}``, {} unless exactly one size is given

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
    Make a logical volume larger: ``{"Output from lvextend": ...}``, {} unless exactly one size is given

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
    return {"Output from %s" % command: lvmrun.outcome(done, 'Logical volume "%s" successfully %s.' % (lvpath, past))}


def _run(command):
    return lvmrun.run(__salt__["cmd.run_all"], command)
