"""Records what ``file`` states change, so that ``pushsalt undo`` can restore it.

While such a state runs, ``places.watch`` is called for each path before it changes. At the first call the present state
of the path is recorded: of a regular file whose content changes, a copy (thin.utils.files.backup); of a folder that is
removed, all of its content. The records of a job are in the file ``undo/JID`` of the folder for backups. Its lines are
JSON: some have a ``salt``, all others have ``path`` and either ``after``, or ``before``, ``state`` (a salted hash of
the tag, because names of states may be secret) and optionally ``hidden`` (the content must not be shown). An incomplete
last line is ignored.

``before`` and ``after`` are:

==== ==================================================================================================
kind "none", "file", "link", "dir" or "other" (device, pipe, socket)
mode in bits; uid, gid: of all but "none"
sha  SHA-256 of a file, if its content was going to change
copy path of the copy (``before`` only)
to   target of a link
lost why the content was not kept (a folder that is too large)
==== ==================================================================================================
"""

import binascii
import os
import stat

from thin import packing
from thin.boot import read, sha256
from thin.utils.files import atomic, backup, hashes, places, safepath

#: The maximum content of a folder that is kept when the folder is removed.
MOST_ENTRIES = 10000
MOST_BYTES = 1 << 30
#: The maximum of bytes of a job's records that are read.
_LIMIT = 64 * 1024 * 1024
ABSENT = {"kind": "none"}


def state_key(salt, tag):
    """The form in which the records contain a state's tag."""
    return sha256((salt + tag).encode("utf-8", "surrogatepass")).hexdigest()


def notes_path(cachedir, jid):
    return os.path.join(cachedir, "undo", jid)


class Keeper(object):
    """Keeps what the ``file`` states of one job change. ``always``: of all states, else of those with ``backup``.

    ``usual``: the value of ``backup`` for a state without it.
    """

    def __init__(self, cachedir, jid, always=False, usual=""):
        self._cachedir, self._jid = cachedir, jid
        self._always, self._usual = always, usual
        self._salt = os.urandom(16).hex()  # made before parallel states are forked
        self._begun = False  # whether the file of records exists and has the salt
        self._state = None  # "state" and "hidden" of the records of the running state
        self._found = {}  # path -> its ``before``
        self._busy = False

    def of_state(self, low, tag):
        """A context manager that keeps what the state changes, if its chunk requests that."""
        if not (self._always or low.get("backup", self._usual) in ("minion", "both")):
            return NoKeeper()
        hides = low.get("no_log") or low.get("show_changes") is False or low.get("show_diff") is False
        return self.of(tag, bool(hides))

    def of(self, name, hidden=False):
        """A context manager that keeps all changes of files under the name ``name``."""
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
                continue  # the present state cannot be found out
            if before.get("copy") and after == {key: before[key] for key in before if key != "copy"}:
                safepath.unlink(before["copy"])
            lines.append({"path": path, "after": after})
        self._write(lines)

    def watch(self, place, content):
        """Keep what is at this place, at the first call. Raises OSError if it cannot be kept; then nothing changes."""
        if self._busy or os.path.basename(place.name).startswith(".pushsalt-"):
            return
        self._busy = True
        try:
            self._keep(place.real_path(), content)
        finally:
            self._busy = False

    def keep(self, path):
        """Keep the file and return the path of its copy, for ``thin.utils.files.backup``."""
        with safepath.at(path, follow=True) as place:
            self.watch(place, True)
            return self._found.get(place.real_path(), {}).get("copy")

    def _keep(self, path, content):
        if path == self._cachedir or path.startswith(self._cachedir.rstrip("/") + "/"):
            return
        recorded = self._found.get(path)
        if recorded is not None and not (content and recorded["kind"] == "file" and "sha" not in recorded):
            return
        status = look(path)
        if content and status["kind"] == "dir" and recorded is None:
            status = self._keep_below(path, status)
        if content and status["kind"] == "file":
            status = dict(status, copy=backup.copy(path, self._cachedir))
            status["sha"] = hashes.file_hash(status["copy"])
            if recorded is not None:  # a record without the content exists: owner or mode were changed before
                status.update((key, recorded[key]) for key in ("mode", "uid", "gid"))
        self._note(path, status)

    def _keep_below(self, path, record):
        """Keep the content of a folder that will be removed. Returns the folder's own ``before``."""
        from thin.utils.files import safetree

        count = size = 0
        for folder in safetree.descend(path, follow=False):
            for name in folder.folders + folder.others:
                count, size = count + 1, size + folder.place(name).lstat().st_size
            if count > MOST_ENTRIES or size > MOST_BYTES:
                return dict(record, lost="it had more than %d entries or %d bytes" % (MOST_ENTRIES, MOST_BYTES))
        if count:
            for folder in safetree.descend(path, follow=False):
                for name in folder.folders:
                    self._note(os.path.join(folder.path, name), look(os.path.join(folder.path, name)))
                for name in folder.others:
                    self._keep(os.path.join(folder.path, name), True)
        return record

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
        data = b"".join(binascii.b2a_base64(packing.packed(line)) for line in lines)
        with safepath.at(path) as place:
            descriptor = place.open(os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._begun = True


class NoKeeper(object):
    """A context manager that keeps nothing."""

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


def look(path, digest=False):
    """What is at a path, in the form of ``before``. ``digest``: with the SHA-256 of a file. Raises OSError."""
    try:
        with safepath.at(path) as place:
            status = place.look()
            link = place.readlink() if status is not None and stat.S_ISLNK(status.st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        status = None
    if status is None:
        return dict(ABSENT)
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"))
    kind = next((kind for test, kind in kinds if test(status.st_mode)), "other")
    seen = {"kind": kind, "uid": status.st_uid, "gid": status.st_gid, "mode": stat.S_IMODE(status.st_mode)}
    if kind == "link":
        seen["to"] = link
    elif kind == "file" and digest:
        seen["sha"] = hashes.file_hash(path)
    return seen


def notes(cachedir, jid):
    """The records of a job: ``salts``, and ``paths``: path -> {``before``, ``after`` or None, ``states``, ``hidden``}.

    None if there are none. If several states changed a path, ``before`` is from the first and ``after`` from the last.
    """
    data = read(notes_path(cachedir, jid), None, _LIMIT)
    if not data:
        return None
    held = {"salts": [], "paths": {}}
    try:
        for text in data.split(b"\n")[:-1]:
            line = packing.unpacked(binascii.a2b_base64(text))
            if "salt" in line:
                held["salts"].append(line["salt"])
                continue
            entry = held["paths"].setdefault(line["path"], {"states": [], "hidden": False})
            if "after" in line:
                entry["after"] = line["after"]
            else:
                _add(entry, line)
    except (ValueError, KeyError, TypeError, packing.Unusual):
        return None
    return held


def _add(entry, line):
    before = entry.setdefault("before", line["before"])
    if before["kind"] == "file" and "sha" not in before and "sha" in line["before"]:
        # the earlier state changed only its owner or mode
        entry["before"] = dict(line["before"], mode=before["mode"], uid=before["uid"], gid=before["gid"])
    entry["after"] = None  # until the state has ended
    entry["states"].append(line["state"])
    entry["hidden"] = entry["hidden"] or bool(line.get("hidden"))
