"""Settings of block devices, and file systems on them. Salt: states/blockdev.py"""

import os

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

_PROPERTIES = {
    "read-ahead": "getra",
    "filesystem-read-ahead": "getfra",
    "read-only": "getro",
    "read-write": "getro",
}


def __virtual__():
    return "blockdev" if "disk.tune" in __salt__ else (False, "The module disk could not be loaded")


def tuned(name, **kwargs):
    """The device has these settings: ``read-ahead``, ``filesystem-read-ahead``, ``read-only``, ``read-write``.

    changes: ``{setting: "Changed from 256 to 1024"}``.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if not __salt__["file.is_blkdev"](name):
        return dict(ret, result=False, comment="Changes to %s cannot be applied. Not a block device." % name)
    wanted = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    before = __salt__["disk.dump"](name)
    if __opts__["test"]:
        if before and all(_has(before, key, value) for key, value in wanted.items()):
            return dict(ret, comment="Block device %s already in correct state" % name)
        return dict(ret, result=None, comment="Changes to %s will be applied " % name)
    after = __salt__["disk.tune"](name, **wanted)
    if not before or not after:
        return dict(ret, result=False, comment="Failed to modify block device %s" % name)
    for key, value in wanted.items():
        fact = _PROPERTIES[key]
        if before[fact] != after[fact]:
            pair = (before[fact], after[fact])
            if isinstance(value, bool):
                pair = tuple((number == "1") is (key == "read-only") for number in pair)
            ret["changes"][key] = "Changed from %s to %s" % pair
    words = "Block device %s successfully modified " if ret["changes"] else "Block device %s already in correct state"
    return dict(ret, comment=words % name)


def formatted(name, fs_type="ext4", force=False, **kwargs):
    """The device has a file system of this type. changes: ``{"old", "new"}``. Other arguments: disk.format's."""
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if not os.path.exists(name):
        return dict(ret, result=False, comment="%s does not exist" % name)
    old = _type(name)
    if old == fs_type:
        return dict(ret, comment="%s already formatted with %s" % (name, fs_type))
    if not __salt__["cmd.which"]("mkfs.%s" % fs_type):
        return dict(ret, result=False, comment="Invalid fs_type: %s" % fs_type)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Changes to %s will be applied " % name)
    kwargs = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    __salt__["disk.format"](name, fs_type, force=force, **kwargs)
    new = _type(name)
    if new != fs_type:
        return dict(ret, result=False, comment="Failed to format %s" % name)
    changes = {"old": old, "new": new}
    return dict(ret, changes=changes, comment="%s has been formatted with %s" % (name, fs_type))


def _has(properties, key, value):
    fact = properties.get(_PROPERTIES.get(key))
    if isinstance(value, bool):
        return fact == ("1" if key == "read-only" else "0")
    return fact == str(value)


def _type(name):
    command = ["blkid", "-c", os.devnull, "-o", "value", "-s", "TYPE", name]
    return __salt__["cmd.run"](command, python_shell=False, ignore_retcode=True).strip()
