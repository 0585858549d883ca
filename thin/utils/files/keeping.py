"""What ``file`` states change is kept, so that ``pushsalt undo`` can put it back.

While such a state runs, ``places.watch`` tells of each path before it changes. The first time, what is there is noted:
of a regular file that gets other content a copy (thin.utils.files.backup), of folders that go all that is in them. The
notes of a job are the file ``undo/JID`` of the folder in which backups are. Its lines are JSON: some have a ``salt``,
all others ``path`` and either ``state`` (a salted hash of the tag: names of states may be secret), ``hidden`` (the
contents must not be shown) and ``before``, or ``after``. A line that was cut off is ignored.

``before`` and ``after`` are:

==== ==================================================================================================
kind "none", "file", "link", "dir" or "other" (device, pipe, socket)
mode in bits; uid, gid: of all but "none"
sha  SHA-256 of a file, where its content was to change
copy where the copy of it is (``before`` only)
to   where a link leads
lost why it was not kept (a folder that is too large)
==== ==================================================================================================
"""

import json
import os
import stat

from thin.boot import read, sha256
from thin.utils.files import atomic, backup, hashes, places, safepath

#: What a folder may hold at most to be kept when it goes.
MOST_ENTRIES = 10000
MOST_BYTES = 1 << 30
#: Bytes of notes that are read.
_LIMIT = 64 * 1024 * 1024
NOTHING = {"kind": "none"}


def state_key(salt, tag):
    """How a state is named in notes."""
    return sha256((salt + tag).encode("utf-8", "surrogatepass")).hexdigest()


def notes_path(cachedir, jid):
    return os.path.join(cachedir, "undo", jid)


class Keeper(object):
    """Keeps what the ``file`` states of one job change. ``always``: of all of them, else of those that say ``backup``.

    ``usual``: what ``backup`` is where a state does not say.
    """

    def __init__(self, cachedir, jid, always=False, usual=""):
        self._cachedir, self._jid = cachedir, jid
        self._always, self._usual = always, usual
        self._salt = os.urandom(16).hex()  # made before parallel states are forked
        self._begun = False  # the notes have it
        self._state = None  # of the notes of the state that runs
        self._found = {}  # path -> what was there
        self._busy = False

    def of_state(self, low, tag):
        """A context in which what changes is kept, if the chunk wants that."""
        if not (self._always or low.get("backup", self._usual) in ("minion", "both")):
            return Nothing()
        hides = low.get("no_log") or low.get("show_changes") is False or low.get("show_diff") is False
        return self.of(tag, bool(hides))

    def of(self, name, hidden=False):
        """A context in which all changes of files are kept under this name."""
        self._state = {"state": name, "hidden": hidden}
        return self

    def __enter__(self):
        self._found = {}
        places.watch, backup.keeper = self.watch, self

    def __exit__(self, *exc):
        places.watch = backup.keeper = None
        lines = []
        for path, before in self._found.items():
            try:
                after = look(path, digest="sha" in before or before["kind"] != "file")
            except OSError:
                continue  # what it is now is not known
            if before.get("copy") and after == {key: before[key] for key in before if key != "copy"}:
                safepath.unlink(before["copy"])
            lines.append({"path": path, "after": after})
        self._write(lines)

    def watch(self, place, content):
        """Keep what is at this place, the first time. Raises OSError if it cannot be kept: then nothing changes."""
        if self._busy or os.path.basename(place.name).startswith(".pushsalt-"):
            return
        self._busy = True
        try:
            self._keep(place.real_path(), content)
        finally:
            self._busy = False

    def keep(self, path):
        """Where the copy of the file is that is about to change; for ``thin.utils.files.backup``."""
        with safepath.at(path, follow=True) as place:
            self.watch(place, True)
            return self._found.get(place.real_path(), {}).get("copy")

    def _keep(self, path, content):
        if path == self._cachedir or path.startswith(self._cachedir.rstrip("/") + "/"):
            return
        known = self._found.get(path)
        if known is not None and not (content and known["kind"] == "file" and "sha" not in known):
            return
        found = look(path)
        if content and found["kind"] == "dir" and known is None:
            found = self._keep_below(path, found)
        if content and found["kind"] == "file":
            found = dict(found, copy=backup.copy(path, self._cachedir))
            found["sha"] = hashes.file_hash(found["copy"])
            if known is not None:  # its owner or mode were changed before
                found.update((key, known[key]) for key in ("mode", "uid", "gid"))
        self._note(path, found)

    def _keep_below(self, path, found):
        """Keep all that is in a folder which goes. Returns what is noted of the folder itself."""
        from thin.utils.files import safetree

        count = size = 0
        for folder in safetree.descend(path, follow=False):
            for name in folder.folders + folder.others:
                count, size = count + 1, size + folder.place(name).lstat().st_size
            if count > MOST_ENTRIES or size > MOST_BYTES:
                return dict(found, lost="it had more than %d entries or %d bytes" % (MOST_ENTRIES, MOST_BYTES))
        if count:
            for folder in safetree.descend(path, follow=False):
                for name in folder.folders:
                    self._note(os.path.join(folder.path, name), look(os.path.join(folder.path, name)))
                for name in folder.others:
                    self._keep(os.path.join(folder.path, name), True)
        return found

    def _note(self, path, before):
        line = {"path": path, "before": before}
        line["state"] = state_key(self._salt, self._state["state"])
        if self._state["hidden"]:
            line["hidden"] = True
        self._write([line])
        self._found[path] = before

    def _write(self, lines):
        if not lines:
            return
        path = notes_path(self._cachedir, self._jid)
        if not self._begun:
            lines = [{"salt": self._salt}] + lines
            atomic.makedirs(path, mode="0700")
        data = "".join(json.dumps(line) + "\n" for line in lines).encode("ascii")
        with safepath.at(path) as place:
            descriptor = place.open(os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._begun = True


class Nothing(object):
    """A context in which nothing is kept."""

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


def look(path, digest=False):
    """What is at a path, see above. ``digest``: with the SHA-256 of a file. Raises OSError."""
    try:
        with safepath.at(path) as place:
            found = place.look()
            link = place.readlink() if found is not None and stat.S_ISLNK(found.st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        found = None
    if found is None:
        return dict(NOTHING)
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"))
    kind = next((kind for test, kind in kinds if test(found.st_mode)), "other")
    seen = {"kind": kind, "uid": found.st_uid, "gid": found.st_gid, "mode": stat.S_IMODE(found.st_mode)}
    if kind == "link":
        seen["to"] = link
    elif kind == "file" and digest:
        seen["sha"] = hashes.file_hash(path)
    return seen


def notes(cachedir, jid):
    """``salts``, and ``paths``: path -> {``before``, ``after`` or None, ``states``, ``hidden``}; None without notes.

    Of a path that several states changed: what was there before the first, and after the last.
    """
    data = read(notes_path(cachedir, jid), None, _LIMIT)
    if not data:
        return None
    held = {"salts": [], "paths": {}}
    try:
        for line in map(json.loads, data.decode("ascii", "replace").split("\n")[:-1]):
            if "salt" in line:
                held["salts"].append(line["salt"])
                continue
            entry = held["paths"].setdefault(line["path"], {"states": [], "hidden": False})
            if "after" in line:
                entry["after"] = line["after"]
            else:
                _add(entry, line)
    except (ValueError, KeyError, TypeError):
        return None
    return held


def _add(entry, line):
    before = entry.setdefault("before", line["before"])
    if before["kind"] == "file" and "sha" not in before and "sha" in line["before"]:
        # the first state changed its owner or mode only
        entry["before"] = dict(line["before"], mode=before["mode"], uid=before["uid"], gid=before["gid"])
    entry["after"] = None  # until it is known
    entry["states"].append(line["state"])
    entry["hidden"] = entry["hidden"] or bool(line.get("hidden"))
