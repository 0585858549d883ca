"""``pushsalt cp`` to a target, over a session. ``fetching`` has the other direction.

``thin.utils.files.transfer`` is the code on the target for both.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError, TargetError
from pushsalt.model import Blob
from pushsalt.session import intake

if TYPE_CHECKING:
    from pushsalt.session.session import Session

#: Limits of one copy: entries, and bytes (default of --max-size).
MOST_ENTRIES: Final = 500_000
MOST_BYTES: Final = 10 * 1024**3
#: Limits of one step: entries, and bytes of files.
STEP_ENTRIES: Final = 500
STEP_BYTES: Final = 64 * 1024 * 1024
#: Bytes of file content in one answer, and the number of questions that are sent in advance.
PIECE: Final = 1024 * 1024
AHEAD: Final = 4

ERROR: Final = "CommandExecutionError"
Entry = list[Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Copy:
    """One ``cp``. If ``to_target``, ``source`` is on the controller and ``target`` on the target; else vice versa."""

    source: str
    target: str
    to_target: bool
    user: str | int | None = None
    group: str | int | None = None
    mode: str | None = None
    dir_mode: str | None = None
    max_size: int = MOST_BYTES

    @property
    def name(self) -> str:
        """The name of the copy in its destination folder; "" if only the content of the source is copied."""
        source = self.source.replace(os.sep, "/")
        name = "" if source.endswith("/") else posixpath.basename(source)
        return "" if name in (".", "..", "~") else name

    def options(self, test: bool) -> dict[str, Any]:
        return {"user": self.user, "group": self.group, "mode": self.mode, "dir_mode": self.dir_mode, "test": test}


@dataclass
class Done:
    """The results of a copy: path -> change, error, or reason to leave it out. ``value`` makes the return of them."""

    changed: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    same: int = 0
    total: int = 0

    def value(self, test: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"changed": self.changed, "same": self.same}
        for name in ("left_out", "failed"):
            if getattr(self, name):
                found[name] = getattr(self, name)
        return {**found, "test": True} if test else found

    def words(self) -> str:
        done = len(self.changed) + len(self.failed) + self.same
        return f"copy {done} of {self.total}"


class LocalSources:
    """The files that are copied to targets, listed once for all targets. Raises CommandError."""

    def __init__(self, copy: Copy) -> None:
        self.entries: list[Entry] = []
        self.left_out: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        root = str(Path(copy.source).expanduser())
        try:
            found = Path(root).stat()
            self._take("", root, found)
            if stat.S_ISDIR(found.st_mode):
                self._below(root)
            elif copy.source.endswith("/"):
                raise CommandError(f"{root} is no folder", "leave out the slash at its end")
        except OSError as exc:
            raise CommandError(
                f"{exc.filename or root} cannot be read: {exc.strerror}", "check that it exists and may be read"
            ) from exc

    def _below(self, root: str) -> None:
        todo = [(root, "")]
        while todo:
            folder, before = todo.pop()
            with os.scandir(folder) as found:
                inside = sorted(found, key=lambda each: each.name)
            for each in inside:
                self._take(before + each.name, each.path, each.stat(follow_symlinks=False))
            folders = [each for each in inside if each.is_dir(follow_symlinks=False)]
            todo += [(each.path, f"{before}{each.name}/") for each in reversed(folders)]

    def _take(self, name: str, path: str, found: os.stat_result) -> None:
        mode = found.st_mode & 0o777
        if stat.S_ISDIR(found.st_mode):
            self.entries.append([name, "d", None, mode, 0])
        elif stat.S_ISLNK(found.st_mode):
            self.entries.append([name, "l", str(Path(path).readlink()), mode, 0])
        elif stat.S_ISREG(found.st_mode):
            digest, size = digest_of(path)
            self._paths[digest], self._sizes[digest] = path, size
            self.entries.append([name, "f", digest, mode, size])
        elif not name:
            raise CommandError(f"{path} is no file and no folder", "name a file or a folder")
        else:
            self.left_out[path] = "neither a file nor a folder nor a link"

    def blob(self, digest: str) -> Blob:
        return Blob(digest, self._sizes[digest], self._paths[digest])


async def send(session: Session, copy: Copy, sources: LocalSources, test: bool, say: Say) -> dict[str, Any]:
    """Copy to the target; returns the value of the target's return."""
    done = Done(left_out=dict(sources.left_out), total=len(sources.entries))
    top = await session.copy("top", path=copy.target, name=copy.name)
    for step in steps_of(sources.entries, STEP_BYTES, STEP_ENTRIES):
        say(done.words())
        match await session.copy("put", sources.blob, top=top, entries=step, options=copy.options(test)):
            case {"changed": dict(changed), "failed": dict(failed), "same": int(same)}:
                done.changed.update(changed)
                done.failed.update(failed)
                done.same += same
            case _:
                raise nonsense(session, "its answer to a copy is invalid")
    return done.value(test)


def steps_of(entries: list[Entry], most_bytes: int, most_entries: int | None = None) -> Iterator[list[Entry]]:
    """The entries in groups of at most ``most_bytes`` and ``most_entries``; a larger file is a group by itself."""
    group: list[Entry] = []
    size = 0
    for entry in entries:
        if group and (len(group) == most_entries or size + entry[4] > most_bytes):
            yield group
            group, size = [], 0
        group.append(entry)
        size += entry[4]
    if group:
        yield group


def digest_of(path: str) -> tuple[str, int]:
    sha, size = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as source:
        for piece in iter(lambda: source.read(PIECE), b""):
            sha.update(piece)
            size += len(piece)
    return sha.hexdigest(), size


def nonsense(session: Session, what: str) -> TargetError:
    return TargetError("protocol_error", f"{session.target.id}: {what}", "check which program answers there")


def unread(data: Any) -> str:
    if isinstance(data, str):
        shown: str = intake.UNFIT.sub(" ", data)[:500]
        return f"cannot be read there: {shown}"
    return "it changed while it was copied"


def reason_of(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    return str(exc)


def problem(copy: Copy) -> str:
    """The error in the controller's path or in the options of a copy, or ""."""
    name, path = ("SRC", copy.source) if copy.to_target else ("DST", copy.target)
    if not path:
        return f"{name} is empty"
    try:
        Path(path).expanduser()
    except RuntimeError:
        return f"{name}: {path.partition('/')[0]} is no home of a user"
    for flag, mode in (("--mode", copy.mode), ("--dir-mode", copy.dir_mode)):
        if mode is not None and not (mode.isdigit() and len(mode) <= 4 and all(digit in "01234567" for digit in mode)):
            return f"{flag}: {mode!r} is no mode in octal digits"
    return ""
