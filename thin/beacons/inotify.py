"""Reports changes of files, by comparing them with their previous state. Salt: ``salt/beacons/inotify.py``.

Salt uses the kernel's inotify, through a library that a target need not have. This beacon compares names, owners, modes
and the SHA-256 of contents. So it does not report that a file was read or opened (``access``, ``open``,
``close_nowrite``), nor changes that were undone between two evaluations. A file with a new name is reported as
``create``, or as ``moved_to`` if only that is in the mask.
"""

import fnmatch
import hashlib
import os
import re
import stat

from thin.log import getLogger
from thin.utils import beacons

log = getLogger(__name__)

MASKS = (
    *("access", "attrib", "close_nowrite", "close_write", "create", "delete", "delete_self", "excl_unlink"),
    *("ignored", "modify", "moved_from", "moved_to", "move_self", "oneshot", "onlydir", "open", "unmount"),
)
DEFAULT = ("create", "delete", "modify")
#: Maximum number of files and folders below one path; size in bytes above which only size and time are compared.
MOST, LARGE = 20000, 16 * 1024 * 1024
#: name of the beacon -> path of the configuration -> Tree
_trees = {}


def validate(config):
    """Whether the configuration has a dict of paths, each with ``mask``, ``recurse`` or ``auto_add``."""
    if not isinstance(config, list):
        return beacons.no_list("inotify")
    config = beacons.list_to_dict(config)
    if "files" not in config:
        return False, "Configuration for inotify beacon must include files."
    if not isinstance(config["files"], dict):
        return False, "Configuration for inotify beacon invalid, files must be a dict."
    for options in config["files"].values():
        if not isinstance(options, dict):
            return False, "Configuration for inotify beacon must be a list of dictionaries."
        if not any(name in options for name in ("mask", "recurse", "auto_add")):
            return False, "Configuration for inotify beacon must contain mask, recurse or auto_add items."
        for name in ("auto_add", "recurse"):
            if not isinstance(options.get(name, False), bool):
                return False, "Configuration for inotify beacon %s must be boolean." % name
        if not isinstance(options.get("mask", []), list):
            return False, "Configuration for inotify beacon mask must be list."
        for mask in options.get("mask", []):
            if mask not in MASKS:
                return False, "Configuration for inotify beacon invalid mask option %s." % mask
    return beacons.VALID


def beacon(config):
    """
    An event for each change: ``path``, and ``change`` with the kernel's name of it; the tag ends with the watched path

    .. code-block:: yaml

        beacons:
          inotify:
            - interval: 10
            - files:
                /etc/nginx:
                  mask: [create, delete, modify]
                  recurse: true
                  auto_add: true
                  exclude: [/etc/nginx/tmp, '*.swp', {'~$': {regex: true}}]

    recurse
        watch the folders below, too; ``auto_add``: also those that are created later
    """
    config, events = beacons.list_to_dict(config), []
    trees = _trees.setdefault(config.get("_beacon_name", "inotify"), {})
    for path, options in config["files"].items():
        before = trees.get(path)
        now = trees[path] = Tree(path, options, before)
        if before is not None:
            events += _changes(before, now, options.get("mask", DEFAULT))
    return events


def close(config):
    """Forget the state of the files."""
    _trees.pop(beacons.name_of(config, "inotify"), None)


class Tree(object):
    """The state of a watched path: ``files`` maps each path there to its Entry. ``before``: the previous state."""

    def __init__(self, path, options, before):
        self.path = path
        self.files = {}
        self._excludes = options.get("exclude") or []
        self._previous = before.files if before is not None else {}
        recurse, follow = options.get("recurse", False), before is None or options.get("auto_add", False)
        self.root = self._entry(path, os.stat)
        if self.root is not None and stat.S_ISDIR(self.root.mode):
            #: the folders whose names are compared
            self.folders = {path} if before is None else set(before.folders) | {path}
            self._walk(path, recurse, follow)
        else:
            self.folders = set()
            if self.root is not None:
                self.files[path] = self.root

    def _walk(self, folder, recurse, follow):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return
        for name in names:
            path = os.path.join(folder, name)
            if _is_excluded(path, self._excludes):
                continue
            entry = self._entry(path, os.lstat)
            if entry is None:
                continue
            if len(self.files) >= MOST:
                raise ValueError("there are more than %d files below %s" % (MOST, self.path))
            self.files[path] = entry
            if recurse and stat.S_ISDIR(entry.mode) and (follow or path in self.folders):
                self.folders.add(path)
                self._walk(path, recurse, follow)

    def _entry(self, path, get_status):
        try:
            return Entry(path, get_status(path), self._previous.get(path))
        except OSError:
            return None


class Entry(object):
    """A file or folder. ``status``: that of ``os.stat``.

    ``stamp`` differs after any change, ``content`` after a change of the content, ``owner`` after one of mode or owner.
    """

    def __init__(self, path, status, before):
        self.mode = status.st_mode
        self.is_empty = status.st_size == 0
        self.stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
        self.owner = (status.st_mode, status.st_uid, status.st_gid)
        self.times = None if stat.S_ISDIR(self.mode) else status.st_mtime_ns
        if before is not None and before.stamp == self.stamp:
            self.content = before.content
        elif stat.S_ISREG(self.mode):
            large = status.st_size > LARGE
            self.content = (status.st_size, status.st_mtime_ns) if large else _digest(path)
        else:
            self.content = os.readlink(path) if stat.S_ISLNK(self.mode) else None


def _digest(path):
    """The SHA-256 of a regular file; None if it cannot be read. Opening does not wait for a named pipe."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            for piece in iter(lambda: file.read(1 << 18), b""):
                digest.update(piece)
    except OSError:
        return None
    return digest.digest()


def _changes(before, now, mask):
    """The events for the differences between two states of a path."""
    if before.root is not None and now.root is None:
        word = next((word for word in ("delete_self", "move_self") if word in mask), None)
        return [_event(before.path, before.path, word, before.root)] if word else []
    if before.root is None:
        return []  # as in Salt, it is watched from now on
    events = []
    for path in sorted(set(before.files) | set(now.files)):
        old, new = before.files.get(path), now.files.get(path)
        for word in _words(old, new, mask):
            events.append(_event(path if path == now.path else os.path.dirname(path), path, word, new or old))
    return events


def _words(old, new, mask):
    """The words of the mask that describe the change of a file."""
    if new is None:
        return [word for word in ("delete", "moved_from") if word in mask][:1]
    words = []
    if old is None:
        words += [word for word in ("create", "moved_to") if word in mask][:1]
        written = stat.S_ISREG(new.mode) and words != ["moved_to"]
        changed = written and not new.is_empty
    else:
        changed = written = old.content != new.content
        if not changed and (old.owner != new.owner or old.times != new.times):
            words.append("attrib")
    if changed:
        words.append("modify")
    if written:
        words.append("close_write")
    return [word for word in words if word in mask]


def _event(folder, path, word, entry):
    change = "IN_%s%s" % (word.upper(), "|IN_ISDIR" if stat.S_ISDIR(entry.mode) else "")
    return {"tag": folder, "path": path, "change": change}


def _is_excluded(path, excludes):
    for exclude in excludes if isinstance(excludes, list) else ():
        if isinstance(exclude, dict):
            pattern = next(iter(exclude))
            if not (exclude[pattern] or {}).get("regex", False):
                exclude = pattern
            else:
                try:
                    if re.search(pattern, path):
                        return True
                except re.error:
                    log.warning("beacon inotify: the regular expression %s is invalid", pattern)
                continue
        if fnmatch.fnmatch(path, exclude) if "*" in exclude else path.startswith(exclude):
            return True
    return False
