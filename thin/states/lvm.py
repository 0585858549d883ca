"""Physical volumes, volume groups and logical volumes. Salt: states/lvm.py

.. code-block:: yaml

    /dev/vdb1:
      lvm.pv_present: []

    data:
      lvm.vg_present:
        - devices: /dev/vdb1

    orders:
      lvm.lv_present:
        - vgname: data
        - size: 40G
"""

import os

from thin import process
from thin.exceptions import ArgumentValueError

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

_UNITS = {"s": 1.0 / 2048, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_NOBODYS = ("", "#orphans_lvm2")


def __virtual__():
    return "lvm" if process.which("lvm") else (False, "lvm command not found")


def pv_present(name, **kwargs):
    """The device is a physical volume. changes: ``{created: ...}``.

    name
        The device
    kwargs
        Options of pvcreate(8), as lvm.pvcreate takes them
    """
    return _present(name, "Physical Volume %s" % name, "pv", name, lambda: __salt__["lvm.pvcreate"](name, **kwargs))


def pv_absent(name):
    """The device is no physical volume. changes: ``{removed: ...}``.

    name
        The device
    """
    text = "Physical Volume %s" % name
    return _absent(name, text, "does not exist", "pv", name, lambda: __salt__["lvm.pvremove"](name))


def vg_present(name, devices=None, **kwargs):
    """The volume group is there, and has these physical volumes. changes: ``{created: ...}``, ``{device: added ...}``.

    name
        The volume group
    devices
        Its physical volumes, a list or a text with commas; others that it has are left alone
    kwargs
        Options of vgcreate(8), as lvm.vgcreate takes them
    """
    devices = devices.split(",") if isinstance(devices, str) else list(devices or ())
    if not __salt__["lvm.vgdisplay"](name, quiet=True):
        make = lambda: __salt__["lvm.vgcreate"](name, devices, **kwargs)  # noqa: E731
        return _present(name, "Volume Group %s" % name, "vg", name, make)
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    comment = ["Volume Group %s already present" % name]
    for device in devices:
        group = _group(device)
        if group is None:
            ret["result"] = False
            comment.append("pv %s is not present" % device)
        elif group == name:
            comment.append("%s is part of Volume Group" % device)
        elif group not in _NOBODYS:
            ret["result"] = False
            comment.append("%s is part of %s" % (device, group))
        elif __opts__["test"]:
            ret["result"] = None if ret["result"] else False
            ret["changes"][device] = "added to %s" % name
            comment.append("%s is set to be added" % device)
        else:
            __salt__["lvm.vgextend"](name, device)
            if _group(device) == name:
                ret["changes"][device] = "added to %s" % name
            else:
                ret["result"] = False
                comment.append("%s could not be added" % device)
    return dict(ret, comment="\n".join(comment))


def vg_absent(name):
    """The volume group does not exist. changes: ``{removed: ...}``.

    name
        The volume group
    """
    text = "Volume Group %s" % name
    return _absent(name, text, "already absent", "vg", name, lambda: __salt__["lvm.vgremove"](name))


def lv_present(
    name,
    vgname=None,
    size=None,
    extents=None,
    snapshot=None,
    pv="",
    thinvolume=False,
    thinpool=False,
    force=False,
    resizefs=False,
    **kwargs,
):
    """The logical volume is there, with this size. changes: ``{created: ...}`` or ``{resized: ...}``.

    name
        The logical volume; with ``snapshot``, the volume of which a snapshot is created
    vgname
        Its volume group; of a thin volume, ``group/pool``
    size
        Its size in MiB, or with one of the units S (sectors of 512 bytes), M, G, T, P
    extents
        Or its size in extents; a percentage is only used for a new volume
    snapshot
        The name of the snapshot
    pv
        Its physical volume
    thinvolume
        It is a thin volume
    thinpool
        It is a pool for thin volumes
    force
        It may become smaller, and all questions are answered with yes
    resizefs
        The file system on it is resized as well
    kwargs
        Options of lvcreate(8), as lvm.lvcreate takes them
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if extents and size:
        return dict(ret, result=False, comment="Only one of extents or size can be specified.")
    wanted = _megabytes(size) if size else None
    origin, name = (name, snapshot) if snapshot else (None, name)
    path = "/dev/%s/%s" % (str(vgname).split("/")[0] if thinvolume else vgname, name)
    volume = __salt__["lvm.lvdisplay"](path, quiet=True).get(path)
    ret["name"] = origin or name
    if not volume:
        if __opts__["test"]:
            return dict(ret, result=None, comment="Logical Volume %s is set to be created" % name)
        done = __salt__["lvm.lvcreate"](
            name,
            vgname,
            size=size,
            extents=extents,
            snapshot=origin,
            pv=pv,
            thinvolume=thinvolume,
            thinpool=thinpool,
            force=force,
            **kwargs,
        )
        if __salt__["lvm.lvdisplay"](path):
            return dict(ret, changes={"created": done}, comment="Created Logical Volume %s" % name)
        error = done["Output from lvcreate"] if isinstance(done, dict) else done
        return dict(ret, result=False, comment="Failed to create Logical Volume %s. Error: %s" % (name, error))
    ret["comment"] = "Logical Volume %s already present" % name
    if not size and not extents:
        return ret
    if "%" in str(extents or ""):
        return dict(ret, comment="Logical Volume %s already present, %s won't be resized." % (name, extents))
    before = _megabytes(volume["Logical Volume Size"] + "s")
    now, due = (before, wanted) if size else (int(volume["Current Logical Extents Associated"]), int(extents))
    if due < now and not force:
        return dict(ret, result=False, comment="To reduce a Logical Volume option 'force' must be True.")
    if due == now:
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="Logical Volume %s is set to be resized" % name)
    what = {"size": size} if size else {"extents": extents}
    done = __salt__["lvm.lvresize"](lvpath=path, resizefs=resizefs, force=force, **what)
    if _megabytes(__salt__["lvm.lvdisplay"](path, quiet=True)[path]["Logical Volume Size"] + "s") != before:
        return dict(ret, changes={"resized": done}, comment="Resized Logical Volume %s" % name)
    error = done.get("Output from lvresize", "Unknown Error.")
    return dict(ret, result=False, comment="Failed to resize Logical Volume %s.\nError: %s" % (name, error))


def lv_absent(name, vgname=None):
    """The logical volume does not exist. changes: ``{removed: ...}``.

    name
        The logical volume
    vgname
        Its volume group
    """
    path, text = "/dev/%s/%s" % (vgname, name), "Logical Volume %s" % name
    return _absent(name, text, "already absent", "lv", path, lambda: __salt__["lvm.lvremove"](name, vgname))


def _present(name, text, kind, path, make):
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __salt__["lvm.%sdisplay" % kind](path, quiet=True):
        return dict(ret, comment="%s already present" % text)
    if __opts__["test"]:
        return dict(ret, result=None, comment="%s is set to be created" % text)
    done = make()
    if __salt__["lvm.%sdisplay" % kind](path):
        return dict(ret, changes={"created": done}, comment="Created %s" % text)
    return dict(ret, result=False, comment="Failed to create %s%s" % (text, _reason(done)))


def _absent(name, text, gone, kind, path, remove):
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if not __salt__["lvm.%sdisplay" % kind](path, quiet=True):
        return dict(ret, comment="%s %s" % (text, gone))
    if __opts__["test"]:
        return dict(ret, result=None, comment="%s is set to be removed" % text)
    done = remove()
    if __salt__["lvm.%sdisplay" % kind](path, quiet=True):
        return dict(ret, result=False, comment="Failed to remove %s%s" % (text, _reason(done)))
    return dict(ret, changes={"removed": done}, comment="Removed %s" % text)


def _reason(done):
    if isinstance(done, dict):
        done = next((done[key] for key in done if key.startswith("Output from ")), "")
    return ": %s" % done if isinstance(done, str) and done else ""


def _group(device):
    """The volume group that a physical volume belongs to, an empty name for none; None when it is no such volume."""
    path = os.path.realpath(device)
    properties = __salt__["lvm.pvdisplay"](path, real=True).get(path)
    return properties and properties["Volume Group Name"]


def _megabytes(size):
    text = str(size).lower()
    if text.endswith("b") and not text[-2:-1].isdigit():
        text = text[:-1]
    number, unit = (text, "m") if text[-1:].isdigit() else (text[:-1], text[-1:])
    if not number[-1:].isdigit():
        raise ArgumentValueError("Size %s is invalid." % size)
    if unit not in _UNITS:
        raise ArgumentValueError("Unit %s is invalid." % unit)
    try:
        return int(number) * _UNITS[unit]
    except ValueError:
        raise ArgumentValueError("Size %s is invalid." % size)
