"""Mounted file systems, swap and /etc/fstab. Salt: modules/mount.py, the part for Linux"""

import os
import re

from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.utils.files import textfile
from thin.utils.files.arguments import cachedir
from thin.utils.formats import fstab as table

__reads__ = (
    "active",
    "fstab",
    "is_fuse_exec",
    "swaps",
    "is_mounted",
    "read_mount_cache",
    "get_mount_from_path",
    "get_device_from_path",
)
__changes__ = (
    "set_fstab",
    "rm_fstab",
    "mount",
    "remount",
    "umount",
    "swapon",
    "swapoff",
    "write_mount_cache",
    "delete_mount_cache",
)


def __virtual__():
    if __grains__.get("kernel", "Linux") != "Linux":
        return False, "The mount module is for Linux."
    return True


def active(extended=False):
    """
    Return the mounted file systems: ``{mount point: {device, alt_device, fstype, opts}}``; with ``extended`` also
    ``superopts``, ``device_uuid``, ``device_label``, ``major``, ``minor``, ``root``, ``mountid`` and ``parentid``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.active
    """
    if extended and os.access("/proc/self/mountinfo", os.R_OK):
        return _mountinfo()
    listed, result = _listed(), {}
    for line in _proc("/proc/self/mounts"):
        device, name, fstype, opts = line.split()[:4]
        result[name] = {
            "device": device,
            "alt_device": listed.get(name),
            "fstype": fstype,
            "opts": _named(opts.split(",")),
        }
    return result


def fstab(config="/etc/fstab"):
    """
    Return the entries of fstab: ``{mount point: {device, fstype, opts: [...], dump, pass}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.fstab
    """
    return table.parse(textfile.lines(config)) if os.path.isfile(config) else {}


def set_fstab(
    name,
    device,
    fstype,
    opts="defaults",
    dump=0,
    pass_num=0,
    config="/etc/fstab",
    test=False,
    match_on="auto",
    not_change=False,
    **kwargs,
):
    """
    Add or change an entry of fstab: ``new``, ``change`` or ``present``. ``match_on`` names the fields (name, device,
    fstype, opts, dump, pass_num) by which it is found; ``not_change`` keeps an existing entry that differs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.set_fstab /srv/app /dev/vdb1 ext4
    """
    if not isinstance(match_on, (str, list)):
        raise CommandExecutionError("match_on must be a string or list of strings")
    opts = ",".join(str(opt) for opt in opts) if isinstance(opts, list) else str(opts)
    entry = {
        "name": name,
        "device": device.replace("\\ ", "\\040"),
        "fstype": fstype,
        "opts": opts.replace("\\ ", "\\040"),
        "dump": str(dump),
        "pass_num": str(pass_num),
    }
    keys = [match_on] if isinstance(match_on, str) else match_on
    if match_on == "auto":
        keys = ["name" if fstype in table.NAMED else "device"]
    unknown = [str(key) for key in keys if key not in table.FIELDS]
    if unknown:
        raise CommandExecutionError('Unrecognized keys in match_on: "%s"' % ", ".join(unknown))
    if not os.path.isfile(config):
        raise CommandExecutionError('Bad config file "%s"' % config)
    action, lines = table.put(textfile.lines(config), entry, keys, not_change)
    if action != "present" and not test:
        textfile.write(config, "".join(lines))
    return action


def rm_fstab(name, device, config="/etc/fstab"):
    """
    Remove the entry of a mount point and device (None: any device) from fstab; returns True, also if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.rm_fstab /srv/app /dev/vdb1
    """
    text = textfile.read(config)
    if text is None:
        raise CommandExecutionError("Couldn't read from %s: no such file" % config)
    wanted = {key: value for key, value in (("name", name), ("device", device)) if value is not None}
    lines = textfile.split(text)
    kept = [line for line in lines if not table.matches(line, wanted)]
    if kept != lines:
        textfile.write(config, "".join(kept))
    return True


def mount(name, device=False, mkmnt=False, fstype="", opts="defaults", user=None, util="mount"):
    """
    Mount a device, by default that of fstab for the mount point; returns True, or the error of mount(8)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.mount /srv/app /dev/vdb1 True
    """
    if util != "mount":
        raise CommandExecutionError("mount.mount: the util %r is not supported" % util)
    if mkmnt and not os.path.exists(name):
        __salt__["file.mkdir"](name, user=user)
    return _mount(name, device, fstype, opts, user)


def remount(name, device, mkmnt=False, fstype="", opts="defaults", user=None):
    """
    Mount again, with other options; mounts also a file system that is not mounted. Returns True, or the error of
    mount(8)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.remount /srv/app /dev/vdb1
    """
    if name not in active():
        return mount(name, device, mkmnt, fstype, opts, user=user)
    opts = _options(opts)
    return _mount(name, device, fstype, opts if "remount" in opts else opts + ["remount"], user)


def umount(name, device=None, user=None, util="mount", lazy=False):
    """
    Unmount; returns True, or the error of umount(8)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.umount /mnt/data
    """
    if util != "mount":
        raise CommandExecutionError("mount.umount: the util %r is not supported" % util)
    if not {name, name.replace(" ", "\\040")} & set(active()):  # the kernel's spelling
        return "%s does not have anything mounted" % name
    return _done(["umount"] + (["-l"] if lazy else []) + [device or name], user)


def is_fuse_exec(cmd):
    """
    Whether a command mounts by FUSE

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.is_fuse_exec bindfs
    """
    path = __salt__["cmd.which"](cmd)
    if not path:
        return False
    if not __salt__["cmd.which"]("ldd"):
        raise CommandNotFoundError("ldd")
    return "libfuse" in __salt__["cmd.run"](["ldd", path], python_shell=False, ignore_retcode=True)


def swaps():
    """
    Return the swap in use: ``{path: {type, size, used, priority}}``, as texts, sizes in KiB

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.swaps
    """
    rows = [line.split() for line in _proc("/proc/swaps") if not line.startswith("Filename")]
    return {row[0]: dict(zip(("type", "size", "used", "priority"), row[1:])) for row in rows if row}


def swapon(name, priority=None):
    """
    Use a swap device or file: ``{stats: {...}, new: whether it was not in use before}``, {} if it failed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.swapon /swapfile
    """
    used = swaps()
    if name in used:
        return {"stats": used[name], "new": False}
    __salt__["cmd.run"](["swapon", name] + (["-p", str(priority)] if priority else []), python_shell=False)
    used = swaps()
    return {"stats": used[name], "new": True} if name in used else {}


def swapoff(name):
    """
    Stop using a swap device or file; returns whether it worked, None if it was not in use

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.swapoff /swapfile
    """
    if name not in swaps():
        return None
    __salt__["cmd.run"](["swapoff", name], python_shell=False)
    return name not in swaps()


def is_mounted(name):
    """
    Whether something is mounted there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.is_mounted /mnt/data
    """
    return name in active()


def read_mount_cache(name):
    """Return the data of the last mount by a state: ``{device, fstype, mkmnt, opts}``, or {}."""
    return _cached().get(name) or {}


def write_mount_cache(real_name, device, mkmnt, fstype, mount_opts):
    """Store the options of this mount: if an option is later removed from the state, a remount is necessary."""
    entry = {"device": device, "fstype": fstype, "mkmnt": mkmnt, "opts": mount_opts}
    return _cache(dict(_cached(), **{real_name: entry}))


def delete_mount_cache(real_name):
    """Delete the stored data of this mount."""
    cache = _cached()
    return real_name not in cache or _cache({name: entry for name, entry in cache.items() if name != real_name})


def get_mount_from_path(path):
    """
    Return the mount point of the file system that contains a path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.get_mount_from_path /srv/www/data
    """
    path = os.path.realpath(path)
    while path != "/" and not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def get_device_from_path(path):
    """
    Return the device of the file system that contains a path, None if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.get_device_from_path /srv
    """
    return active().get(get_mount_from_path(path), {}).get("device")


def _mountinfo():
    if "disk.blkid" not in __context__:
        __context__["disk.blkid"] = __salt__["disk.blkid"]()
    properties_of, listed, result = __context__["disk.blkid"], _listed(), {}
    for line in _proc("/proc/self/mountinfo"):
        words = line.split()
        # any number of optional fields precedes the hyphen
        end = words.index("-")
        device = words[end + 2]
        properties = properties_of.get(device, {})
        major, _, minor = words[2].partition(":")
        result[words[4]] = {
            "mountid": words[0],
            "parentid": words[1],
            "major": major,
            "minor": minor,
            "root": words[3],
            "opts": _named(words[5].split(",")),
            "fstype": words[end + 1],
            "device": device.replace("\\040", "\\ "),
            "alt_device": listed.get(words[4]),
            "superopts": _named(words[end + 3].split(",")),
            "device_uuid": properties.get("UUID") and properties["UUID"].lower(),
            "device_label": properties.get("LABEL"),
        }
    return result


def _listed():
    """``{mount point: device}`` with the names of devices that mount(8) prints."""
    output = __salt__["cmd.run_stdout"](["mount", "-l"], python_shell=False, ignore_retcode=True)
    rows = [line.split() for line in output.splitlines()]
    return {row[2]: row[0] for row in rows if len(row) > 2}


def _named(opts):
    """The options with numbers instead of names of users and groups."""
    result = []
    for opt in opts:
        key, _, value = opt.partition("=")
        if key in ("uid", "gid") and value and not re.match("[0-9]+$", value):
            info = __salt__["user.info" if key == "uid" else "group.info"](value)
            opt = "%s=%s" % (key, (info or {}).get(key, value))
        result.append(opt.replace("\\040", "\\ "))
    return result


def _proc(path):
    text = textfile.read(path)
    if text is None:
        raise CommandExecutionError("File not readable %s" % path)
    return text.splitlines()


def _options(opts):
    return opts.split(",") if isinstance(opts, str) else [str(opt) for opt in opts or ()]


def _mount(name, device, fstype, opts, user):
    opts = _options(opts)
    how = (["-o", ",".join(opts)] if opts else []) + (["-t", fstype] if fstype else [])
    return _done(["mount"] + (how + [device] if device else []) + [name], user)


def _done(command, user):
    out = __salt__["cmd.run_all"](command, runas=user, python_shell=False)
    return (out["stderr"] or "%s failed" % command[0]) if out["retcode"] else True


def _cache_path():
    return os.path.join(cachedir(__opts__), "mounted")


def _cached():
    from thin import wire

    msgpack = wire.msgpack()

    try:
        with open(_cache_path(), "rb") as stream:
            cache = msgpack.unpackb(stream.read(), raw=False, strict_map_key=False)
    except (OSError, ValueError, msgpack.exceptions.UnpackException):
        return {}
    return cache if isinstance(cache, dict) else {}


def _cache(mounts):
    from thin import wire
    from thin.utils.files import atomic

    msgpack = wire.msgpack()

    # options may contain passwords: only root can read the file
    try:
        atomic.makedirs(_cache_path(), mode="0700")
        atomic.write(_cache_path(), [msgpack.packb(mounts, use_bin_type=True)], mode=0o600)
    except (OSError, TypeError) as exc:
        raise CommandExecutionError("Unable to write mount cache %s: %s" % (_cache_path(), exc))
    return True
