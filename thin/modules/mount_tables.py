"""Mount tables of other systems than Linux: vfstab, auto_master, filesystems of AIX. Salt: modules/mount.py"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile
from thin.utils.formats import fstab as table

__virtualname__ = "mount"
__reads__ = ("vfstab", "automaster", "filesystems")
__changes__ = ("rm_vfstab", "set_vfstab", "set_automaster", "rm_automaster", "set_filesystems", "rm_filesystems")

_VFSTAB = ("device", "device_fsck", "name", "fstype", "pass_fsck", "mount_at_boot", "opts")
#: file systems that are identified by their mount point only
_NAMED = ("devfs", "proc", "ctfs", "objfs", "sharefs", "fs", "tmpfs")


def vfstab(config="/etc/vfstab"):
    """
    Return the entries of vfstab (Solaris): ``{mount point: {device, device_fsck, fstype, ...}}``; on other systems,
    what mount.fstab returns

    config
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.vfstab
    """
    lines = textfile.lines(config)
    if __grains__.get("kernel") != "SunOS":
        return table.parse(lines)
    result = {}
    for entry in filter(None, map(_parsed, lines)):
        result.setdefault(entry.pop("name"), dict(entry, opts=entry["opts"].split(",")))
    return result


def rm_vfstab(name, device, config="/etc/vfstab"):
    """
    Remove the entry of a mount point and device from vfstab; returns True, also if there is none

    name
        The mount point
    device
        The device; None for any
    config
        The file's path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.rm_vfstab /export/app /dev/dsk/c1t2d0s6
    """
    wanted = {key: value for key, value in (("name", name), ("device", device)) if value is not None}
    lines = _lines(config)
    kept = [line for line in lines if not _matches(_parsed(line), wanted)]
    if kept != lines:
        textfile.write(config, "".join(kept))
    return True


def set_vfstab(
    name,
    device,
    fstype,
    opts="-",
    device_fsck="-",
    pass_fsck="-",  # noqa: S107
    mount_at_boot="yes",
    config="/etc/vfstab",
    test=False,
    match_on="auto",
    not_change=False,
    **kwargs,
):
    """
    Add or change an entry of vfstab (Solaris): ``new``, ``change`` or ``present``

    name
        The mount point
    device
        The device
    fstype
        The file system's type
    opts
        Its options, a text with commas or a list
    device_fsck, pass_fsck
        The device for fsck, and the number of its pass
    mount_at_boot
        yes or no
    config
        The file's path
    test
        Only return the result; change nothing
    match_on
        The fields by which the entry is found: one, or a list
    not_change
        Keep an existing entry that differs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.set_vfstab /export/app /dev/dsk/c1t2d0s6 ufs
    """
    if not isinstance(match_on, (str, list)):
        raise CommandExecutionError("match_on must be a string or list of strings")
    keys = match_on if isinstance(match_on, list) else [match_on]
    if match_on == "auto":
        keys = ["name" if fstype in _NAMED else "device"]
    unknown = [str(key) for key in keys if key not in _VFSTAB]
    if unknown:
        raise CommandExecutionError('Unrecognized keys in match_on: "%s"' % ", ".join(unknown))
    entry = {
        "device": device,
        "device_fsck": device_fsck,
        "name": name,
        "fstype": fstype,
        "pass_fsck": str(pass_fsck),
        "mount_at_boot": "yes" if mount_at_boot == "yes" else "no",
        "opts": ",".join(opts) if isinstance(opts, list) else opts,
    }
    text = ("{device:<11} {device_fsck:<3} {name:<19} {fstype:<8} {pass_fsck:<3} {mount_at_boot:<6} {opts}\n").format(
        **entry
    )
    action, lines = None, _lines(config)
    for at, line in enumerate(lines):
        present = _parsed(line)
        if _matches(present, {key: entry[key] for key in keys}):
            action = action or "present"
            if not not_change and not _matches(present, entry):
                action, lines[at] = "change", text
    if action is None:
        action = "new"
        lines.append(text)
    if action != "present" and not test:
        textfile.write(config, "".join(lines))
    return action


def automaster(config="/etc/auto_salt"):
    """
    Return the entries of a map of automount (macOS): ``{mount point: {device, fstype, opts}}``

    config
        The map's path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.automaster
    """
    result = {}
    for row in map(_automount, textfile.lines(config)):
        if row:
            opts = row[1].split(",")
            device = row[2].split(":")
            result[row[0].replace("/..", "")] = {"device": device[1], "fstype": opts[0], "opts": opts[1:]}
    return result


def set_automaster(name, device, fstype, opts="", config="/etc/auto_salt", test=False, not_change=False, **kwargs):
    """
    Add or change an entry of a map of automount (macOS): ``new``, ``change`` or ``present``

    name
        The mount point
    device
        The device
    fstype
        The file system's type
    opts
        Its options, a text with commas or a list
    config
        The map's path; a new map is added to ``/etc/auto_master``
    test
        Only return the result; change nothing
    not_change
        Keep an existing entry that differs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.set_automaster /Volumes/app /dev/disk3s1 hfs
    """
    opts = ",".join(opts) if isinstance(opts, list) else opts
    place = "/.." + name
    row = [place, "-fstype=%s,%s" % (fstype, opts), "%s:%s" % ("" if fstype == "smbfs" else fstype, device)]
    lines, action = textfile.lines(config), None
    for at, line in enumerate(lines):
        present = _automount(line)
        if present and (present[0] == place or present[2] == row[2]):
            action = action or "present"
            if present != row and not not_change:
                action, lines[at] = "change", "\t".join(row) + "\n"
    if action is None:
        action = "new"
        lines.append("\t".join(row) + "\n")
    if action != "present" and not test:
        if not os.path.isfile(config):
            __salt__["file.append"]("/etc/auto_master", "/-\t\t\t%s" % config)
        textfile.write(config, "".join(lines))
    return action


def rm_automaster(name, device, config="/etc/auto_salt"):
    """
    Remove the entry of a mount point and device from a map of automount; returns True, also if there is none

    name
        The mount point
    device
        The device; none for any
    config
        The map's path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.rm_automaster /Volumes/app /dev/disk3s1
    """
    lines = textfile.lines(config)
    kept = []
    for line in lines:
        row = _automount(line)
        same = row and row[0].replace("/..", "") == name and (not device or row[2].split(":")[1] == device)
        kept += [] if same else [line]
    if kept != lines:
        textfile.write(config, "".join(kept))
        __salt__["cmd.run"](["automount", "-cv"], python_shell=False)
    return True


def filesystems(config="/etc/filesystems"):
    """
    Return {}: only AIX has this table, which is not supported

    config
        Its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.filesystems
    """
    return {}


def set_filesystems(
    name,
    device,
    vfstype,
    opts="-",
    mount="true",
    config="/etc/filesystems",
    test=False,
    match_on="auto",
    not_change=False,
    **kwargs,
):
    """
    Return None: only AIX has this table, which is not supported

    name, device, vfstype, opts, mount, config, test, match_on, not_change
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.set_filesystems /srv/app /dev/applv jfs2
    """
    return None


def rm_filesystems(name, device, config="/etc/filesystems"):
    """
    Return False: only AIX has this table, which is not supported

    name, device, config
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' mount.rm_filesystems /srv/app /dev/applv
    """
    return False


def _lines(config):
    if not os.path.isfile(config):
        raise CommandExecutionError('Bad config file "%s"' % config)
    lines = textfile.lines(config)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def _parsed(line):
    words = line.split()
    return None if line.startswith("#") or len(words) != len(_VFSTAB) else dict(zip(_VFSTAB, words))


def _matches(entry, wanted):
    if entry is None:
        return False
    return all(
        sorted(entry[key].split(",")) == sorted(wanted[key].split(",")) if key == "opts" else entry[key] == wanted[key]
        for key in wanted
    )


def _automount(line):
    words = line.split()
    return words if not line.startswith("#") and len(words) == 3 and ":" in words[2] else None
