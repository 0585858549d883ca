"""What both indexes are: a folder with a journal of its own. What is in it, and how it is asked, is theirs."""

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
    """A context manager; the folder is made when it is missing."""

    #: what the log says that it is of
    KIND: ClassVar[str]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._journal = Journal(private_dir(os.fspath(path)), self.KIND)
        self._child = Child()

    @cached_property
    def path(self) -> Path:
        return self._journal.folder

    def _refresh(self) -> None:
        """See every write that returned before."""
        raise NotImplementedError

    def _segment_problems(self) -> list[str]:
        """What is wrong with the segments, in words."""
        raise NotImplementedError

    def verify(self) -> list[str]:
        """What is wrong with the bytes on disk, in words; also what was found and mended since this object exists."""
        from pushsalt.errors import IndexCorrupt

        with self._journal.mutex:
            found = []
            try:
                self._refresh()
            except IndexCorrupt as exc:
                found.append(exc.message)
            found += self._journal.problems()
            found += self._segment_problems()
            return list(dict.fromkeys(found))

    def place(self) -> tuple[int, int] | None:
        """Which file the log is now, for ``refill``; None when there is none yet."""
        return self._journal.place()

    def crashed(self) -> float | None:
        """When it was last written, if the machine was started anew since, so that the last writes may be lost."""
        return self._journal.crashed()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else writes; what was written is to be trusted as of now."""
        with self._journal.locked():
            self._refresh()
            yield
            self._journal.confirm()

    def reset(self) -> None:
        """Forget everything, whatever state the files are in; for who fills it anew."""
        with self._journal.rewriting(wait=True):
            self._journal.reset()
            self._refresh()
            self._journal.sweep(self._segments(), keep=())

    def _anew(
        self, instead: tuple[int, int] | None, fill: Callable[[list[str]], None], *, waiting: bool = False
    ) -> None:
        """Have ``fill`` write segments, whose names it adds to the list, and reset the log to them.

        Nothing is done when the log is not at the place ``instead`` any more: somebody else was first. ``waiting`` says
        that writers wait meanwhile.
        """
        journal = self._journal
        with journal.rewriting(wait=True), journal.locked() if waiting else contextlib.nullcontext():
            if journal.place() == instead:
                old = self._segments()
                made: list[str] = []
                try:
                    fill(made)
                except BaseException:
                    for name in made:
                        (self.path / name).unlink(missing_ok=True)
                    raise
                journal.sweep(old, keep=made)
            journal.forget()
            self._refresh()

    def _segments(self) -> list[str]:
        """All that are there, whether the log names them or not."""
        return [path.name for path in self.path.glob("seg-*")]

    def close(self) -> None:
        """Let go of the files. What was written is on disk as it is."""
        self._journal.close()
        self._child.reap()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
