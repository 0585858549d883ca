"""Changes of files, found by comparing them with what they were. Salt: ``salt/beacons/inotify.py``.

Salt asks the kernel, by a library that a target need not have. Here names, owners, modes and the SHA-256 of contents
are compared each time, so it is not seen that a file was read or opened (``access``, ``open``, ``close_nowrite``), nor
what was undone between two looks. A file under a new name is ``create``, or ``moved_to`` if only that is in the mask.
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
#: Maximum number of files and folders below one path; larger files are compared by size and time only.
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
    An event for each change: ``path``, and ``change`` by the names of the kernel; its tag ends with the watched path

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
        the folders below, too; ``auto_add``: those that are made later, too
    """
    config, found = beacons.list_to_dict(config), []
    trees = _trees.setdefault(config.get("_beacon_name", "inotify"), {})
    for path, options in config["files"].items():
        before = trees.get(path)
        now = trees[path] = Tree(path, options, before)
        if before is not None:
            found += _changes(before, now, options.get("mask", DEFAULT))
    return found


def close(config):
    """Forget what the files were."""
    _trees.pop(beacons.name_of(config, "inotify"), None)


class Tree(object):
    """A watched path: ``files`` maps each path there to its Entry. ``before``: the Tree of the last look."""

    def __init__(self, path, options, before):
        self.path = path
        self.files = {}
        self._excludes = options.get("exclude") or []
        self._known = before.files if before is not None else {}
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

    def _entry(self, path, look):
        try:
            return Entry(path, look(path), self._known.get(path))
        except OSError:
            return None


class Entry(object):
    """A file or folder: ``stamp`` changes with everything, ``content`` with what is in it, ``about`` with the rest."""

    def __init__(self, path, found, before):
        self.mode = found.st_mode
        self.is_empty = found.st_size == 0
        self.stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)
        self.about = (found.st_mode, found.st_uid, found.st_gid)
        self.times = None if stat.S_ISDIR(self.mode) else found.st_mtime_ns
        if before is not None and before.stamp == self.stamp:
            self.content = before.content
        elif stat.S_ISREG(self.mode):
            large = found.st_size > LARGE
            self.content = (found.st_size, found.st_mtime_ns) if large else _digest(path)
        else:
            self.content = os.readlink(path) if stat.S_ISLNK(self.mode) else None


def _digest(path):
    """The SHA-256 of a regular file; None if it cannot be read. Its opener does not wait for a named pipe."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            for piece in iter(lambda: file.read(1 << 18), b""):
                digest.update(piece)
    except OSError:
        return None
    return digest.digest()


def _changes(before, now, mask):
    """The events of what has changed, by path."""
    if before.root is not None and now.root is None:
        word = next((word for word in ("delete_self", "move_self") if word in mask), None)
        return [_event(before.path, before.path, word, before.root)] if word else []
    if before.root is None:
        return []  # as in Salt: it is watched from now on
    found = []
    for path in sorted(set(before.files) | set(now.files)):
        old, new = before.files.get(path), now.files.get(path)
        for word in _words(old, new, mask):
            found.append(_event(path if path == now.path else os.path.dirname(path), path, word, new or old))
    return found


def _words(old, new, mask):
    """The words of the mask for what has become of a file."""
    if new is None:
        return [word for word in ("delete", "moved_from") if word in mask][:1]
    words = []
    if old is None:
        words += [word for word in ("create", "moved_to") if word in mask][:1]
        written = stat.S_ISREG(new.mode) and words != ["moved_to"]
        changed = written and not new.is_empty
    else:
        changed = written = old.content != new.content
        if not changed and (old.about != new.about or old.times != new.times):
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
