"""The base class of both indexes: a folder with a journal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import ClassVar, TypeVar

from pushsalt.index.compaction import Child
from pushsalt.index.journal import Journal
from pushsalt.privatefolder import private_dir

_Self = TypeVar("_Self", bound="Index")


class Index:
    """A context manager; a missing folder is created."""

    #: the kind of the index, in the first frame of the log
    KIND: ClassVar[str]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._journal = Journal(private_dir(os.fspath(path)), self.KIND)
        self._child = Child()

    @cached_property
    def path(self) -> Path:
        return self._journal.folder

    def _refresh(self) -> None:
        """Read all writes that have returned by now."""
        raise NotImplementedError

    def _segment_problems(self) -> list[str]:
        """Damage of the segments, as texts."""
        raise NotImplementedError

    def verify(self) -> list[str]:
        """Damage of the files, as texts; also damage that this object has found and repaired before."""
        from pushsalt.errors import IndexCorrupt

        with self._journal.mutex:
            problems = []
            try:
                self._refresh()
            except IndexCorrupt as exc:
                problems.append(exc.message)
            problems += self._journal.problems()
            problems += self._segment_problems()
            return list(dict.fromkeys(problems))

    def place(self) -> tuple[int, int] | None:
        """Identity (device, inode) of the current log file, for ``refill``; None if there is no log yet."""
        return self._journal.place()

    def crashed(self) -> float | None:
        """Time of the last write, if the machine was rebooted since, so that writes may be lost; else None."""
        return self._journal.crashed()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """A context without other writers; afterwards the log counts as complete for this boot."""
        with self._journal.locked():
            self._refresh()
            yield
            self._journal.confirm()

    def reset(self) -> None:
        """Remove all entries, also if files are damaged; the index can be filled again then."""
        with self._journal.rewriting(wait=True):
            self._journal.reset()
            self._refresh()
            self._journal.sweep(self._segments(), keep=())

    def _anew(
        self, instead: tuple[int, int] | None, fill: Callable[[list[str]], None], *, waiting: bool = False
    ) -> None:
        """Let ``fill`` write segments and add their names to its list, then reset the log to them.

        Does nothing if the log's ``place`` is no longer ``instead``, because another process has replaced the log.
        ``waiting``: writers are blocked until ``fill`` returns.
        """
        journal = self._journal
        with journal.rewriting(wait=True), journal.locked() if waiting else contextlib.nullcontext():
            if journal.place() == instead:
                old = self._segments()
                names: list[str] = []
                try:
                    fill(names)
                except BaseException:
                    for name in names:
                        (self.path / name).unlink(missing_ok=True)
                    raise
                journal.sweep(old, keep=names)
            journal.forget()
            self._refresh()

    def _segments(self) -> list[str]:
        """Names of all segment files, whether the log names them or not."""
        return [path.name for path in self.path.glob("seg-*")]

    def close(self) -> None:
        """Close the files."""
        self._journal.close()
        self._child.reap()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
