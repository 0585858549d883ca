"""``pushsalt cp``: copies files and trees to and from a target. The controller writes fetched files with the same
``Tree``.

An entry is ``[path relative to the top ("" for the top itself), kind, what, mode, size]``. Kinds: ``f`` is a file
(what: its SHA-256 or None), ``d`` a folder, ``l`` a link (what: its target), ``x`` another kind of file (what: its
name), ``e`` an unreadable folder (what: the error). Parents precede their content.
"""

import errno
import os
import stat

from thin.boot import sha256
from thin.exceptions import CommandExecutionError, SaltException
from thin.utils.files import atomic, owner, safepath, safetree

#: The number of entries in one answer.
PAGE = 10000


def resolved(path):
    """The absolute path, relative to the user's home, without a slash at its end."""
    path = os.path.expanduser(path)
    return os.path.join(os.path.expanduser("~"), path).rstrip("/") or "/"


def top_of(path, name):
    """The destination of a file or folder called ``name`` when the user gives ``path``: within ``path``, if that is a
    folder or ends with a slash, else ``path`` itself. ``name`` is "" if the content of a folder is copied."""
    target = resolved(path)
    if name and (path.endswith("/") or path in ("", "~", ".") or os.path.isdir(target)):
        return os.path.join(target, name)
    return target


class Tree(object):
    """Writes below ``top``, and follows no link there. ``user``, ``group``, ``mode`` and ``dir_mode`` are set on
    everything that is written, if they are given; else existing files keep theirs, and new ones have the entry's mode.

    Methods that change return a text about the change (with ``test``: the change that would be made), or "". They
    raise OSError and CommandExecutionError.
    """

    def __init__(self, top, user=None, group=None, mode=None, dir_mode=None, test=False):
        self.top = top
        self.test = test
        self._owner = (user, group)
        self._seen = {}  # name -> stat result of a compared file: only this file gets owner and mode
        self._modes = {"f": owner.normalize_mode(mode), "d": owner.normalize_mode(dir_mode)}
        for each in self._modes.values():
            if each is not None:
                owner.mode_bits(each)
        missing = owner.missing_owners(user, group)
        if missing:
            raise CommandExecutionError(missing.strip())

    def path(self, name):
        return os.path.join(self.top, name) if name else self.top

    def at(self, name):
        """The Place of an entry."""
        if name:
            return safepath.at(name, below=self.top)
        return safepath.at(self.top, follow=True)

    def lstat(self, name):
        """The stat result of an entry, or None."""
        try:
            with self.at(name) as place:
                return place.look()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def has(self, name, digest, size):
        """Whether the file exists with this size and digest."""
        status = self.lstat(name)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_size != size:
            return False
        return self.digest(name, keep=True) == digest

    def digest(self, name, keep=False):
        """The SHA-256 of a file, None if it cannot be read. ``keep``: remember which file it was, for ``same``."""
        try:
            with self.at(name) as place, os.fdopen(place.open_to_read(), "rb") as source:
                digest = sha256()
                for piece in iter(lambda: source.read(atomic.PIECE), b""):
                    digest.update(piece)
                if keep:
                    self._seen[name] = os.fstat(source.fileno())
                return digest.hexdigest()
        except OSError:
            return None

    def prepare(self):
        """Create the folders above the top."""
        if not self.test:
            safepath.makedirs(os.path.dirname(self.top) or ".")

    def predict(self, name):
        """In a dry run: whether the user may write the entry. Raises PermissionError."""
        folder = os.path.dirname(self.path(name)) or "."
        while not os.path.lexists(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)

    def folder(self, name, mode):
        status = self.lstat(name)
        if status is None and not self.test:
            try:
                with self.at(name) as place:
                    place.mkdir(0o700)
            except FileExistsError:  # another copy into this folder created it meanwhile
                status = self.lstat(name)
        if status is not None:
            if not stat.S_ISDIR(status.st_mode):
                raise CommandExecutionError("%s exists, and is no folder" % self.path(name))
            return self._dress(name, "d", status)
        if not self.test:
            self._dress(name, "d", self.lstat(name), "%04o" % (mode | 0o700))
        return "new"

    def file(self, name, mode, pieces):
        """Write a file whose content differs. ``pieces()`` returns its bytes."""
        self._seen.pop(name, None)
        target = self._room(name)
        if not self.test:
            user, group = self._owner
            wanted = self._modes["f"] or (None if target else "%04o" % mode)
            with self.at(name) as place:
                # set before the rename: a file that others put there afterwards gets neither owner nor mode
                written = atomic.write_at(
                    place,
                    pieces(),
                    None if user is None else owner.user_to_uid(user),
                    None if group is None else owner.group_to_gid(group),
                    None if wanted is None else owner.mode_bits(wanted),
                )
            _complain(owner.drift(written, user, group, self._modes["f"]))
        return "content" if target else "new"

    def take(self, name, part, mode, written):
        """As ``file``, with a file ``part`` in the same folder that has the content and is renamed. ``written``: its
        stat result."""
        self._seen.pop(name, None)
        room = self._room(name)
        user, group = self._owner
        wanted = self._modes["f"] or (owner.mode_text(room) if room else "%04o" % mode)
        with self.at(name) as place:
            with place.sibling(part).pin() as pinned:
                pinned.expect(written)
                now = pinned.stat()
                if room and (room.st_uid, room.st_gid) != (now.st_uid, now.st_gid):
                    pinned.chown(room.st_uid, room.st_gid)
                pinned.chmod(owner.mode_bits(wanted))
                owner.dress(pinned, owner.drift(pinned.stat(), user, group, wanted))
                left = owner.drift(pinned.stat(), user, group, wanted)
            place.take(part)
        _complain(left)
        return "content" if room else "new"

    def same(self, name):
        """Set owner and mode of a file whose content is right."""
        return self._dress(name, "f", self.lstat(name), seen=self._seen.pop(name, None))

    def link(self, name, target):
        for _ in range(10):
            try:
                return self._link(name, target)
            except (FileExistsError, FileNotFoundError):  # another copy into this folder writes it, too: try again
                pass
        return self._link(name, target)

    def _link(self, name, target):
        existing = self._in_the_way(name)
        with self.at(name) if existing else _NoPlace() as place:
            if existing and stat.S_ISLNK(existing.st_mode) and place.readlink() == target:
                return ""
        if not self.test:
            with self.at(name) as place:
                if existing is not None:
                    place.unlink()
                place.symlink(target)
        return "link"

    def _room(self, name):
        """The stat result of an existing regular file, or None."""
        existing = self._in_the_way(name)
        return existing if existing is not None and stat.S_ISREG(existing.st_mode) else None

    def _in_the_way(self, name):
        """The stat result of what will be replaced, or None. Raises CommandExecutionError if it is no file or link."""
        status = self.lstat(name)
        if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "a %s" % owner.kind(status)
            raise CommandExecutionError("%s exists, and is %s" % (self.path(name), what))
        return status

    def _dress(self, name, kind, status, mode=None, seen=None):
        user, group = self._owner
        wanted = owner.drift(status, user, group, self._modes[kind] or mode)
        if wanted and not self.test:
            with self.at(name) as place, place.pin() as pinned:
                if seen is not None:
                    pinned.expect(seen)
                words = owner.dress(pinned, wanted)[1]
            if words:
                raise CommandExecutionError("; ".join(words))
        return ", ".join(sorted(wanted))


def _complain(left):
    """Raise CommandExecutionError if owner or mode could not be set; ``left`` is what still differs."""
    if left:
        raise CommandExecutionError("; ".join("Failed to change %s to %s" % item for item in left.items()))


class _NoPlace(object):
    def __enter__(self):
        return None

    def __exit__(self, *exc):
        pass


# -- on the target -----------------------------------------------------------------------------------------------------


class Transfers(object):
    """Answers the session's messages: ``what`` is the name of a method, the other fields are its arguments.

    ``controller`` (thin.controller) has the received bytes; ``need(list of [digest, part])`` requests the missing ones.
    """

    def __init__(self, controller, store):
        self._controller, self._store = controller, store
        self._trees = {}
        self._listed = []

    def answer(self, message, need):
        what = message["what"]
        arguments = {key: value for key, value in message.items() if key not in ("k", "n", "what")}
        if what == "put":
            arguments["need"] = need
        elif what not in ("top", "look", "more", "digests", "read"):
            raise CommandExecutionError("there is no %r of files" % what)
        return getattr(self, what)(**arguments)

    # to the target

    def top(self, path, name):
        return top_of(path, name)

    def put(self, top, entries, options, need):
        """Write entries. Returns ``changed``: {path: text}, ``failed``: {path: error}, ``same``: their number."""
        tree = Tree(top, **options)
        changed, failed, same, wanted = {}, {}, 0, []
        tree.prepare()
        missing = {}
        for entry in entries:
            if entry[1] != "f":
                continue
            try:
                if not tree.has(entry[0], entry[2], entry[4]):
                    missing[entry[0]] = entry[2]
            except (OSError, CommandExecutionError):
                pass  # reported below
        fetched = []
        if missing and not tree.test:
            wanted = self._controller.begin(wants=[[digest, None] for digest in missing.values()])
            fetched = [digest for digest, _ in wanted]
            if wanted:
                need(wanted)
        try:
            for name, kind, what, mode, _size in entries:
                try:
                    words = self._put(tree, name, kind, what, mode, need if name in missing else None)
                    if words and tree.test and (name in missing or tree.lstat(name) is None):
                        tree.predict(name)
                except (OSError, SaltException) as exc:
                    failed[tree.path(name)] = _words(exc)
                    continue
                if words:
                    changed[tree.path(name)] = words
                else:
                    same += 1
        finally:
            for digest in fetched:
                self._store.remove(digest)
            self._controller.end()
        return {"changed": changed, "failed": failed, "same": same}

    def _put(self, tree, name, kind, what, mode, need):
        if kind == "d":
            return tree.folder(name, mode)
        if kind == "l":
            return tree.link(name, what)
        if need is None:
            return tree.same(name)
        if tree.test:
            return tree.file(name, mode, None)
        with self._opened(what, need) as source:
            return tree.file(name, mode, lambda: iter(lambda: source.read(atomic.PIECE), b""))

    def _opened(self, digest, need):
        """Open the received bytes. Another session of this user may need the same ones, and remove them first; then
        they are requested again."""
        for _ in range(5):
            path = self._controller.arrived(digest)
            try:
                if path is not None:
                    return open(path, "rb")
            except FileNotFoundError:
                pass
            wanted = self._controller.begin(wants=[[digest, None]])
            if wanted:
                need(wanted)
        raise CommandExecutionError("it was not received")

    # from the target

    def look(self, path):
        """``top``, its ``kind``, and the number of entries; ``more`` returns them."""
        top = resolved(path)
        try:
            status = os.stat(top)
        except OSError as exc:
            raise CommandExecutionError("%s: %s" % (top, exc.strerror))
        if not stat.S_ISDIR(status.st_mode):
            self._listed = [_entry("", status, lambda: "")]
        else:
            self._listed = [["", "d", None, stat.S_IMODE(status.st_mode), 0, 0]]
            folders = {}

            def unreadable(path, exc):
                entry = folders.get(os.path.relpath(path, top))
                if entry is not None:
                    entry[1:3] = "e", _words(exc)

            for folder in safetree.descend(top, failed=unreadable):
                below = "" if folder.path == top else os.path.relpath(folder.path, top) + "/"
                for name in sorted(folder.folders + folder.others):
                    place = folder.place(name)
                    try:
                        entry = _entry(below + name, place.lstat(), place.readlink)
                    except OSError:
                        continue  # removed meanwhile
                    self._listed.append(entry)
                    if entry[1] == "d":
                        folders[below + name] = entry
        self._trees[top] = Tree(top)
        return {"top": top, "kind": self._listed[0][1], "count": len(self._listed)}

    def more(self, begin):
        """A page of entries from this number on; each has its modification time, in nanoseconds, at its end."""
        return self._listed[begin : begin + PAGE]

    def digests(self, top, names):
        return [self._trees[top].digest(name) for name in names]

    def read(self, top, pieces):
        """For each ``[name, offset, bytes]`` the bytes, or the text of the error."""
        result = []
        for name, begin, size in pieces:
            try:
                with self._trees[top].at(name) as place, os.fdopen(place.open_to_read(), "rb") as source:
                    source.seek(begin)
                    result.append(source.read(size))
            except (OSError, CommandExecutionError) as exc:
                result.append(_words(exc))
        return result


def _entry(name, status, readlink):
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISREG(status.st_mode):
        return [name, "f", None, mode, status.st_size, status.st_mtime_ns]
    if stat.S_ISDIR(status.st_mode):
        return [name, "d", None, mode, 0, 0]
    if stat.S_ISLNK(status.st_mode):
        return [name, "l", readlink(), mode, 0, 0]
    return [name, "x", next((word for test, word in owner.KINDS if test(status.st_mode)), "unknown"), mode, 0, 0]


def _words(exc):
    if isinstance(exc, OSError) and getattr(exc, "strerror", None):
        return exc.strerror
    return str(exc)
