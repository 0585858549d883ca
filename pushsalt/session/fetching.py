"""``pushsalt cp`` from a target, over a session.

File names and link destinations that a target sends are foreign: a name that leads out of the destination folder is
an error; a symbolic link that leads out of it, and anything that is not a file, folder or link, is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pushsalt.errors import FunctionError, TargetError
from pushsalt.session import intake
from pushsalt.session.copying import (
    AHEAD,
    ERROR,
    MOST_ENTRIES,
    PIECE,
    STEP_BYTES,
    STEP_ENTRIES,
    Copy,
    Done,
    Entry,
    Say,
    nonsense,
    reason_of,
    steps_of,
    unread,
)
from thin import wire
from thin.exceptions import CommandExecutionError
from thin.utils.files import transfer

if TYPE_CHECKING:
    from pushsalt.session.session import Session


def folder_of(copy: Copy, name: str, many: bool) -> Copy:
    """The copy for one target: ``{id}`` in the path is replaced by its name; of many targets each has its own folder.

    The name may be that of a resource, which its manager chose: it is checked.
    """
    safe = name if intake.fit(name) and "/" not in name else quote(name, safe="")
    if safe in (".", ".."):
        safe = safe.replace(".", "%2E")
    if "{id}" in copy.target:
        target = copy.target.replace("{id}", safe)
        is_home = target.startswith("~") and not copy.target.startswith("~")  # a name like ~root would be expanded
        return replace(copy, target=f"./{target}" if is_home else target)
    return replace(copy, target=f"{copy.target or '.'}/{safe}/") if many else copy


class Fetch:
    """One copy from a target."""

    def __init__(self, session: Session, copy: Copy, test: bool, say: Say) -> None:
        self._session, self._copy, self._test, self._say = session, copy, test, say
        self._done = Done()
        self._key = session.target.key
        self._folders: set[str] = set()

    async def run(self) -> dict[str, Any]:
        """Copy; returns the value of the target's return. Raises TargetError, FunctionError."""
        copy, session = self._copy, self._session
        match await session.copy("look", path=copy.source):
            case {"top": str(top), "kind": str(kind), "count": int(count)}:
                self._from = top
            case _:
                raise nonsense(session, "its answer about the source of the copy is invalid")
        if kind not in ("f", "d"):
            raise FunctionError("exception", f"{copy.source} is no file and no folder", "name another", ERROR)
        if count > MOST_ENTRIES:
            raise self._excess(f"{count} files")
        self._destination = _top(copy)
        entries = await self._entries(count)
        size = sum(entry[4] for entry in entries if entry[1] == "f")
        if size > copy.max_size:
            raise self._excess(f"files of {size} bytes", "--max-size takes more")
        self._done.total = len(entries)
        destination, options = self._destination, copy.options(self._test)
        try:
            self._tree = await asyncio.to_thread(lambda: transfer.Tree(destination, **options))
            await asyncio.to_thread(self._tree.prepare)
        except (OSError, CommandExecutionError) as exc:
            message = f"{destination}: {reason_of(exc)}"
            raise FunctionError("exception", message, "name another local folder", ERROR) from exc
        for step in steps_of(entries, STEP_BYTES, STEP_ENTRIES):
            self._say(self._done.words())
            await self._step(step)
        return self._done.value(self._test)

    def _excess(self, what: str, hint: str = "name a part of them") -> TargetError:
        message = f"{self._session.target.id}: {self._copy.source} has {what}, which is too much"
        return TargetError("excess", message, hint)

    async def _entries(self, count: int) -> list[Entry]:
        """The entries that the target lists, without those that are left out. Raises TargetError for invalid ones."""
        entries: list[Entry] = []
        seen: set[str] = set()
        begin = 0
        while begin < count:
            page = await self._session.copy("more", begin=begin)
            if not isinstance(page, list) or not page:
                raise self._nonsense("its list of files ends too early")
            begin += len(page)
            for entry in page:
                kept = self._checked(entry, seen)
                if kept is not None:
                    entries.append(kept)
        if not entries or entries[0][0] != "" or entries[0][1] not in ("f", "d") or len(entries) > count:
            raise self._nonsense("its list of files does not begin with what was asked for")
        if entries[0][1] == "f" and len(entries) > 1:
            raise self._nonsense("its list of files has entries below a file")
        return entries

    def _nonsense(self, what: str) -> TargetError:
        return nonsense(self._session, what)

    def _checked(self, entry: Any, seen: set[str]) -> Entry | None:
        """The entry, if it may be written below the destination; else None, and the reason goes to ``left_out``."""
        match entry:
            case [str(name), str(kind), what, int(mode), int(size), int(changed)] if size >= 0:
                pass
            case _:
                raise self._nonsense("its list of files has an invalid entry")
        steps = name.split("/") if name else []
        if any(step in ("", ".", "..") for step in steps) or "\0" in name or name in seen:
            raise self._nonsense(f"a file there has the name {name[:200]!r}")
        seen.add(name)
        if name and name.rpartition("/")[0] not in self._folders:
            return None  # its folder was left out
        why = None
        if kind == "e" and intake.fit(name):
            self._done.failed[f"{self._destination}/{name}"] = unread(what)
            return None
        if not intake.fit(name):
            why = "control characters in its name"
        elif any(len(os.fsencode(step)) > 255 for step in steps):
            why = "its name is too long"
        elif kind == "l" and not (isinstance(what, str) and _stays_inside(name, what)):
            why = "a link that leads out of the copy"
        elif kind not in ("f", "d", "l"):
            why = "neither a file nor a folder nor a link"
        if why is not None:
            shown = intake.UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", name)
            self._done.left_out[shown] = why
            return None
        if kind == "d":
            self._folders.add(name)
        return [name, kind, what if kind == "l" else None, mode & 0o777, size, changed]

    # --- a step

    async def _step(self, step: list[Entry]) -> None:
        """Fetch these entries."""
        local = await asyncio.to_thread(lambda: {entry[0]: self._look(entry) for entry in step if entry[1] == "f"})
        present = [name for name, digest in local.items() if digest is not None]
        same = set()
        if present:
            digests = await self._session.copy("digests", top=self._from, names=present)
            if not isinstance(digests, list) or len(digests) != len(present):
                raise self._nonsense("it answers with other files than were asked for")
            same = {name for name, digest in zip(present, digests, strict=True) if digest == local[name]}
        small: list[Entry] = []
        for entry in step:
            name, kind, what, mode, size = entry[:5]
            if kind == "d":
                await self._do(name, partial(self._tree.folder, name, mode))
            elif kind == "l":
                await self._do(name, partial(self._tree.link, name, what))
            elif name in same:
                await self._do(name, partial(self._tree.same, name))
            elif self._test:
                await self._do(name, partial(self._tree.file, name, mode, None))
            elif size > PIECE:
                await self._large(entry)
            else:
                small.append(entry)
        await self._small(small)

    def _look(self, entry: Entry) -> str | None:
        """The digest of the existing file on the controller, if its size is that of the entry; else None."""
        try:
            found = self._tree.lstat(entry[0])
        except OSError:
            return None
        if found is None or not stat.S_ISREG(found.st_mode) or found.st_size != entry[4]:
            return None
        digest: str | None = self._tree.digest(entry[0], keep=True)
        return digest

    async def _do(self, name: str, work: Callable[[], str]) -> None:
        """Change something on the controller; what was changed, or the error, is added to the results."""
        path = self._tree.path(name)
        try:
            words = await asyncio.to_thread(work)
        except (OSError, CommandExecutionError) as exc:
            self._done.failed[path] = reason_of(exc)
            return
        if words:
            self._done.changed[path] = words
        else:
            self._done.same += 1

    async def _small(self, entries: list[Entry]) -> None:
        """Fetch files of one piece each, many in one answer."""
        groups = list(steps_of(entries, PIECE))
        asked = [[[entry[0], 0, entry[4] + 1] for entry in group] for group in groups]
        async for group, found in self._read(asked, groups):
            for entry, data in zip(group, found, strict=True):
                name, mode = entry[0], entry[3]
                if isinstance(data, bytes) and len(data) == entry[4]:
                    await self._do(name, partial(self._tree.file, name, mode, partial(bytes, data)))
                else:
                    self._done.failed[self._tree.path(name)] = unread(data)

    async def _large(self, entry: Entry) -> None:
        """Fetch a file in pieces, continuing the partial file of an earlier copy."""
        name, mode, size, changed = entry[0], entry[3], entry[4], entry[5]
        mark = hashlib.sha256(wire.pack([self._key, self._from, name, size, changed])).hexdigest()
        part = f".pushsalt-{mark[:24]}.part"
        path = self._tree.path(name)
        trouble = ""
        try:
            for again in (True, False):
                done = await self._pieces(name, part, size, fresh=not again)
                if not isinstance(done, str):
                    await self._do(name, partial(self._tree.take, name, part, mode, done))
                    return
                trouble = done
                if trouble:
                    break
            self._done.failed[path] = trouble or "it changes while it is copied"
        except (OSError, CommandExecutionError) as exc:
            self._done.failed[path] = reason_of(exc)

    async def _pieces(self, name: str, part: str, size: int, fresh: bool) -> str | os.stat_result:
        """Complete the partial file; returns its stat.

        If its content is wrong, returns ""; if it cannot be completed, the reason.
        """
        with contextlib.closing(_Part(self._tree, name, part, fresh)) as file:
            begin = min(await asyncio.to_thread(file.begin), size)
            offsets = range(begin, size, PIECE)
            asked = [[[name, at, min(PIECE, size - at)]] for at in offsets]
            at = begin
            async for wanted, found in self._read(asked, asked):
                data = found[0]
                if not isinstance(data, bytes) or len(data) != wanted[0][2]:
                    file.drop()
                    return unread(data)
                await asyncio.to_thread(file.write, data)
                at += len(data)
                self._say(f"{self._done.words()}, {at // 1024**2} of {size // 1024**2} MiB of {name or self._from}")
            local = await asyncio.to_thread(file.digest)
            remote = await self._session.copy("digests", top=self._from, names=[name])
            if remote != [local]:
                file.drop()
                return ""
            return file.stat()

    async def _read(self, asked: list[Any], items: list[Any]) -> AsyncIterator[tuple[Any, Any]]:
        """Yields each mark with the answer to its question, in order; up to AHEAD questions are sent in advance."""
        waiting: list[asyncio.Task[Any]] = []
        try:
            for number, item in enumerate(items):
                for pieces in asked[number + len(waiting) : number + AHEAD]:
                    size = sum(piece[2] for piece in pieces) + 1024 * len(pieces)
                    ask = self._session.copy("read", wanted=size, top=self._from, pieces=pieces)
                    waiting.append(asyncio.create_task(ask))
                found = await waiting.pop(0)
                if not isinstance(found, list) or len(found) != len(asked[number]):
                    raise self._nonsense("it answers with other files than were asked for")
                yield item, found
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)


class _Part:
    """The partial file on the controller, in the folder of the final file."""

    def __init__(self, tree: Any, name: str, part: str, fresh: bool) -> None:
        self._place = tree.at(name)
        self._part = self._place.sibling(part)
        try:
            descriptor = self._part.open(os.O_RDWR | os.O_CREAT | (os.O_TRUNC if fresh else 0), 0o600)
        except BaseException:
            self._place.close()
            raise
        self._file = os.fdopen(descriptor, "r+b")
        self._sha = hashlib.sha256()

    def begin(self) -> int:
        """Check the partial file, and read it for the digest; returns its size. Raises OSError."""
        found = self.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            raise OSError(0, "something else has the name of the partial file")
        os.fchmod(self._file.fileno(), 0o600)
        for piece in iter(lambda: self._file.read(PIECE), b""):
            self._sha.update(piece)
        return self._file.tell()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
        self._sha.update(data)

    def stat(self) -> os.stat_result:
        return os.fstat(self._file.fileno())

    def digest(self) -> str:
        os.fsync(self._file.fileno())
        return self._sha.hexdigest()

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self._part.unlink()

    def close(self) -> None:
        self._file.close()
        self._place.close()


def _stays_inside(name: str, target: str) -> bool:
    """Whether a symbolic link leads to something below the top, even if its destination passes through other links.

    ``..`` is accepted only at the beginning, where it leaves real folders: after the name of another link it could lead
    anywhere.
    """
    if not target or target.startswith("/") or not intake.fit(target):
        return False
    steps = [step for step in target.split("/") if step not in ("", ".")]
    up = 0
    while up < len(steps) and steps[up] == "..":
        up += 1
    return ".." not in steps[up:] and up <= name.count("/")


def _top(copy: Copy) -> str:
    """``transfer.top_of`` for a path on the controller, relative to the working directory."""
    path = Path(copy.target).expanduser()
    if copy.name and (copy.target.endswith("/") or path.is_dir()):
        path /= copy.name
    return os.path.normpath(path.absolute())
