"""Mounted file systems, swap and /etc/fstab. Salt: states/mount.py, the part for Linux"""

import os
import re

from thin import detail
from thin.utils.formats import mountopts


def mounted(
    name,
    device,
    fstype,
    mkmnt=False,
    opts="defaults",
    dump=0,
    pass_num=0,
    config="/etc/fstab",
    persist=True,
    mount=True,
    user=None,
    match_on="auto",
    device_name_regex=None,
    extra_mount_invisible_options=None,
    extra_mount_invisible_keys=None,
    extra_mount_ignore_fs_keys=None,
    extra_mount_translate_options=None,
    hidden_opts=None,
    bind_mount_copy_active_opts=True,
    **kwargs,
):
    """The device is mounted at this path, with these options (a list, or a text with commas).

    ``persist``: it also has an entry in ``config``, found by ``match_on``. ``mount: false``: only the entry. ``mkmnt``
    creates the mount point. Options that the kernel does not show are not compared: ``hidden_opts`` and
    ``extra_mount_invisible_options`` add more of them, ``extra_mount_invisible_keys`` those with a value,
    ``extra_mount_ignore_fs_keys`` those of a type of file system. ``extra_mount_translate_options`` has options that
    the kernel shows under another name. ``device_name_regex``: other devices that may also be mounted here.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    for what, value in (("name", name), ("device", device), ("fstype", fstype)):
        if not value:
            return dict(ret, result=False, comment="Must provide %s to mount.mounted" % what)
    opts = _list(opts)
    name = name if name == "/" else name.rstrip("/")
    active = __salt__["mount.active"](extended=True)
    place = os.path.realpath(name)
    active_entry = active.get(_escaped(place))
    real_device, opts, bound = _real_device(device, opts, active, active_entry, bind_mount_copy_active_opts)
    if real_device is None:
        label = device.split("=", 1)[1]
        return dict(ret, result=False, comment="Unable to find device with label %s." % label)
    remember = False
    if active_entry is not None and mount:
        if bound:
            active_entry["opts"].append("bind")
        if opts:
            ignored = dict({"ramfs": ["size"]}, **(extra_mount_ignore_fs_keys or {}))
            translated = dict({"tcp": "proto=tcp", "udp": "proto=udp"}, **(extra_mount_translate_options or {}))
            unseen = mountopts.UNSEEN.union(extra_mount_invisible_options or (), _list(hidden_opts or []))
            unseen_keys = mountopts.UNSEEN_KEYS.union(extra_mount_invisible_keys or ())
            wanted = [_numbered(opt) for opt in opts]
            differ, last = mountopts.changed(wanted, active_entry, fstype, unseen, unseen_keys, ignored, translated)
            gone = [opt for opt in __salt__["mount.read_mount_cache"](place).get("opts") or () if opt not in opts]
            if __opts__["test"] and (differ or gone):
                words = "options (%s) changed" % ",".join(sorted(differ)) if differ else _gone(gone)
                return dict(ret, result=None, comment="Remount would be forced because " + words)
            if differ or gone:
                why = last if gone else ",".join(sorted(differ))
                if not _anew(ret, place, device, mkmnt, fstype, opts, why):
                    return ret
                opts = [opt for opt in opts if opt != "remount"]
            remember = True
        devices = _names_of(active_entry)
        if real_device in devices:
            ret["comment"] = "Target was already mounted"
        else:
            if not _other_device(ret, device, real_device, devices, device_name_regex or [], place, user):
                return ret
            if "umount" in ret["changes"] and not __opts__["test"]:
                active = __salt__["mount.active"](extended=True)
                remember = True
    if _escaped(place) not in active:
        if mount:
            if not _mount(ret, name, place, device, mkmnt, fstype, opts, user):
                return ret
            remember = True
        else:
            _not_mounted(ret, name, mkmnt, user)
    if persist:
        row = (name, device, fstype, opts, dump, pass_num, config)
        answer = __salt__["mount.set_fstab"](*row, test=__opts__["test"], match_on=match_on)
        if remember and not __opts__["test"]:
            __salt__["mount.write_mount_cache"](place, device, mkmnt=mkmnt, fstype=fstype, mount_opts=opts)
        _persisted(ret, answer, name, mount)
    return ret


def unmounted(name, device=None, config="/etc/fstab", persist=False, user=None, **kwargs):
    """Nothing is mounted at this path. ``persist``: it is also removed from ``config``, for any device or the given
    one.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if not name:
        return dict(ret, result=False, comment="Must provide name to mount.unmounted")
    if _escaped(name) not in __salt__["mount.active"](extended=True):
        ret["comment"] = "Target was already unmounted"
    elif __opts__["test"]:
        return dict(ret, result=None, comment="Mount point %s is mounted but should not be" % name)
    else:
        out = __salt__["mount.umount"](name, device, user=user)
        if out is True:
            ret["comment"] = "Target was successfully unmounted"
            ret["changes"]["umount"] = True
        else:
            ret["comment"], ret["result"] = out, False
        __salt__["mount.delete_mount_cache"](name)
    if not persist:
        return ret
    entry = __salt__["mount.fstab"](config).get(name)
    if entry is None:
        ret["comment"] += ". fstab entry not found"
    elif device and entry["device"] != device:
        ret["comment"] += ". fstab entry for device %s not found" % device
    elif __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "Mount point %s is unmounted but needs to be purged from %s to be made persistent" % (
            name,
            config,
        )
    else:
        __salt__["mount.rm_fstab"](name, device, config)
        ret["comment"] += ". Removed target from fstab"
        ret["changes"]["persist"] = "purged"
    return ret


def swap(name, persist=True, config="/etc/fstab"):
    """The device or file is used as swap. ``persist``: it also has an entry in ``config``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    used = __salt__["mount.swaps"]()
    device = name
    if __salt__["file.is_link"](name):
        device = __salt__["file.readlink"](name)
        if not device.startswith("/"):
            device = "/dev/" + os.path.basename(device)
    if device in used:
        ret["comment"] = "Swap %s already active" % name
    elif __opts__["test"]:
        ret["result"], ret["comment"] = None, "Swap %s is set to be activated" % name
    else:
        __salt__["mount.swapon"](device)
        used = __salt__["mount.swaps"]()
        if device in used:
            ret["comment"], ret["changes"] = "Swap %s activated" % name, used[device]
        else:
            ret["comment"], ret["result"] = "Swap %s failed to activate" % name, False
    if not persist:
        return ret
    entries = __salt__["mount.fstab"](config)
    if __opts__["test"]:
        if name not in entries and name not in [entry["device"] for entry in entries.values()]:
            ret["result"] = None
            if name in used:
                ret["comment"] = "Swap %s is set to be added to the fstab and to be activated" % name
        return ret
    first = entries.get("none")
    if first and first["device"] == name and first["fstype"] != "swap":
        return ret
    answer = __salt__["mount.set_fstab"]("none", name, "swap", ["defaults"], 0, 0, config, match_on="device")
    if answer != "present":
        _persisted(ret, answer, name, True)
    return ret


def fstab_present(
    name,
    fs_file,
    fs_vfstype,
    fs_mntops="defaults",
    fs_freq=0,
    fs_passno=0,
    mount_by=None,
    config="/etc/fstab",
    mount=True,
    match_on="auto",
    not_change=False,
    fs_mount=True,
):
    """``config`` has an entry for the device ``name``, by its path or by ``mount_by`` (label, uuid, partlabel,
    partuuid).

    With ``mount``, a new entry is mounted; an entry that differs is replaced, unless ``not_change``.
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": []}
    fs_file = fs_file if fs_file == "/" else fs_file.rstrip("/")
    spec = _spec(name, mount_by)
    if not spec:
        ret["comment"].append("Device %s cannot be converted to %s" % (name, mount_by))
        return ret
    answer = __salt__["mount.set_fstab"](
        name=fs_file,
        device=spec,
        fstype=fs_vfstype,
        opts=fs_mntops,
        dump=fs_freq,
        pass_num=fs_passno,
        config=config,
        test=__opts__["test"],
        match_on=match_on,
        not_change=not_change,
    )
    test = __opts__["test"]
    ret["result"] = None if test and answer != "present" else True
    words = {
        "present": "is already" if test else "was already",
        "new": "will be written" if test else "added",
        "change": "will be updated" if test else "updated",
    }
    ret["comment"].append("%s entry %s in %s." % (fs_file, words[answer], config))
    if answer != "present" and not test:
        ret["changes"]["persist"] = answer
    if answer == "new" and mount:
        if test:
            ret["comment"].append("Will mount %s on %s" % (name, fs_file))
            return ret
        out = __salt__["mount.mount"](fs_file)
        if out is True:
            ret["comment"].append("Mounted %s on %s" % (name, fs_file))
        else:
            ret["result"] = False
            ret["comment"].append("Error while mounting%s" % (" " + out.partition(":")[2].strip() or out))
    return ret


def fstab_absent(name, fs_file, mount_by=None, config="/etc/fstab"):
    """``config`` has no entry for the device ``name``, or its ``mount_by``, and the mount point ``fs_file``."""
    ret = {"name": name, "result": True, "changes": {}, "comment": []}
    fs_file = fs_file if fs_file == "/" else fs_file.rstrip("/")
    spec = _spec(name, mount_by)
    in_fstab = fs_file in __salt__["mount.fstab"](config)
    if __opts__["test"]:
        ret["result"] = None
    if not in_fstab:
        detail.same()
        ret["comment"].append("%s entry is already missing in %s." % (fs_file, config))
    elif __opts__["test"]:
        ret["comment"].append("%s entry will be removed from %s." % (fs_file, config))
    else:
        __salt__["mount.rm_fstab"](name=fs_file, device=spec, config=config)
        ret["changes"]["persist"] = "removed"
        ret["comment"].append("%s entry removed from %s." % (fs_file, config))
    return ret


def mod_watch(name, user=None, **kwargs):
    """A watched state changed: ``mounted`` mounts the file system again."""
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    if kwargs["sfun"] != "mounted":
        ret["comment"] = "Watch not supported in %s at this time" % kwargs["sfun"]
        return ret
    if __opts__["test"]:
        return dict(ret, result=None, comment="%s would be remounted" % name)
    opts = kwargs.get("opts", "defaults")
    out = __salt__["mount.remount"](name, kwargs["device"], False, kwargs["fstype"], opts, user=user)
    if out is True:
        ret["comment"] = "%s remounted" % name
    else:
        ret["result"], ret["comment"] = False, "%s failed to remount: %s" % (name, out)
    return ret


def _list(opts):
    return opts.split(",") if isinstance(opts, str) else [str(opt) for opt in opts or ()]


def _escaped(path):
    return path.replace(" ", "\\040")


def _numbered(opt):
    """A user's or group's number for its name."""
    key, _, value = opt.partition("=")
    if key not in ("uid", "gid") or not value or re.match("[0-9]+$", value):
        return opt
    info = __salt__["user.info" if key == "uid" else "group.info"](value)
    return "%s=%s" % (key, (info or {}).get(key, value))


def _real_device(device, opts, active, active_entry, copy):
    """``(device in the kernel's table, options, whether it is an existing bind mount)``; None for an unknown label."""
    if device.startswith("/"):
        if "bind" in opts and active_entry is not None:
            return _bound(device, opts, active, active_entry, copy)
        volume = re.match("^/dev/([^/]+)/([^/]+)$", device)
        if volume:
            mapped = "/dev/mapper/%s-%s" % tuple(part.replace("-", "--") for part in volume.groups())
            if os.path.exists(mapped):
                return mapped, opts, False
        return os.path.realpath(device), opts, False
    kind, mark, value = device.partition("=")
    if mark and kind.upper() == "UUID":
        return value.strip('"').lower(), opts, False
    if mark and kind.upper() in ("LABEL", "PARTUUID", "PARTLABEL"):
        token = "%s=%s" % (kind.upper(), value.strip('"'))
        first = next(iter(sorted(__salt__["disk.blkid"](token=token))), None)
        return (os.path.realpath(first) if first else None if kind.upper() == "LABEL" else device), opts, False
    fuse = re.match(r"^\w+#(.+)", device)
    return fuse.group(1) if fuse else device, opts, False


def _bound(device, opts, active, active_entry, copy):
    """The device and options of a bind mount: those of the file system of its source."""
    source = _escaped(device)
    if active_entry["device"].startswith("/"):
        while source not in active and source != "/":
            source = os.path.dirname(source)
    below = active.get(source)
    if below is not None and copy:
        opts = sorted(set(opts + below["opts"] + below.get("superopts", [])))
    if below is not None and active_entry["device"].startswith("/"):
        return below["device"], opts, True
    return active_entry["device"], opts, below is not None


def _names_of(active_entry):
    names = [active_entry["device"], os.path.realpath(active_entry["device"])]
    more = [active_entry.get(key) for key in ("alt_device", "device_uuid", "device_label")]
    return names + [name for name in more if name and name not in names]


def _gone(gone):
    return "options (%s)changed" % ",".join(gone)


def _anew(ret, place, device, mkmnt, fstype, opts, why):
    """Mount with other options; returns whether it worked. Some file systems must be unmounted first."""
    how = {"mkmnt": mkmnt, "fstype": fstype, "opts": opts}
    words = "because options (%s) changed" % why
    if fstype not in ("nfs", "cvfs") and not fstype.startswith("fuse"):
        ret["changes"]["umount"] = "Forced remount " + words
        out = __salt__["mount.remount"](place, device, **how)
    else:
        ret["changes"]["umount"] = "Forced unmount and mount " + words
        out = __salt__["mount.umount"](place)
        if out is not True:
            ret["changes"]["umount"] = (
                "Forced a lazy unmount and mount because the previous unmount failed and because the "
                "options (%s) changed" % why
            )
            out = __salt__["mount.umount"](place, lazy=True)
        if out is not True:
            ret["result"], ret["comment"] = False, "Unable to unmount %s: %s." % (place, out)
            return False
        out = __salt__["mount.mount"](place, device, **how)
    if out is not True:
        ret["result"], ret["comment"] = False, "Unable to remount %s: %s" % (place, out)
    return out is True


def _other_device(ret, device, real_device, devices, regexes, place, user):
    """Another device is mounted: unmount it, unless it is accepted. Returns whether to continue."""
    matching = [name for name in devices if any(re.match(regex, name) for regex in regexes)]
    if matching:
        ret["comment"] = "An umount will not be forced because device matched device_name_regex: " + matching[0]
    elif __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "An umount would have been forced because devices do not match.  Watched: " + device
    else:
        wanted = device if real_device == device else "%s (%s)" % (device, real_device)
        ret["changes"]["umount"] = "Forced unmount because devices don't match. Wanted: %s, current: %s" % (
            wanted,
            ", ".join(devices),
        )
        __salt__["mount.umount"](place, user=user)
        if _escaped(place) in __salt__["mount.active"](extended=True):
            ret["comment"], ret["result"] = "Unable to unmount", False
            return False
    return True


def _mount(ret, name, place, device, mkmnt, fstype, opts, user):
    """Mount the file system if it is not mounted; returns whether to continue."""
    exists = os.path.exists(name)
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = name + (
            " would be mounted"
            if exists
            else " would be created and mounted"
            if mkmnt
            else " does not exist and would not be created"
        )
        return False
    if not exists and not mkmnt:
        ret["result"], ret["comment"] = False, "Mount directory is not present"
        return False
    out = __salt__["mount.mount"](name, device, mkmnt, fstype, opts, user=user)
    if out is not True:
        ret["result"], ret["comment"] = False, out
        return False
    if _escaped(place) in __salt__["mount.active"](extended=True):
        ret["comment"] = "Target was successfully mounted"
        ret["changes"]["mount"] = True
    return True


def _not_mounted(ret, name, mkmnt, user):
    test = __opts__["test"]
    if os.path.exists(name):
        ret["comment"] = "%s would not be mounted" % name if test else "%s not mounted" % name
    elif test:
        ret["result"] = None
        ret["comment"] = name + (
            " would be created, but not mounted"
            if mkmnt
            else " does not exist and would neither be created nor mounted"
        )
    elif mkmnt:
        __salt__["file.mkdir"](name, user=user)
        ret["comment"] = "%s was created, not mounted" % name
    else:
        ret["comment"] = "%s not present and not mounted" % name


def _persisted(ret, answer, name, mount):
    """Add the change of fstab, or the planned change, to the return."""
    if answer == "present":
        ret["comment"] += ". Entry already exists in the fstab."
    elif not __opts__["test"]:
        ret["changes"]["persist"] = "new" if answer == "new" else "update"
        ret["comment"] += ". Added new entry to the fstab." if answer == "new" else ". Updated the entry in the fstab."
    else:
        ret["result"] = None
        if answer == "new":
            words = "needs to be written to the fstab in order to be made persistent."
            words = "%s %s%s" % (name, "is mounted, but " if mount else "", words)
        elif mount:
            words = "%s is mounted, but its fstab entry must be updated." % name
        else:
            words = "The %s fstab entry must be updated." % name
        ret["comment"] = "%s. %s" % (ret["comment"], words)


def _spec(name, mount_by):
    """The device in the form for fstab, None if it has no such name."""
    if not mount_by or (mount_by == "device" and name.startswith("/")) or name.startswith(mount_by.upper() + "="):
        return name
    devices = __salt__["disk.blkid"](name) if name.startswith("/") else __salt__["disk.blkid"](token=name)
    if len(devices) != 1:
        return None
    ((device, properties),) = devices.items()
    if mount_by == "device":
        return device
    value = properties.get(mount_by.upper())
    return "%s=%s" % (mount_by.upper(), value) if value else None
