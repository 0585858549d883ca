"""The on-disk index of grains, by value: a query calls Salt's matcher once per different value, not once per id.

Its state: parts (``part``), whose rows may be dead because a later write replaced them, and over them the entries of
the log that are in no part yet. A write in the log (``format``) is a msgpack list::

    [name of a new part or nil,
     [[id, seen, grains as msgpack], …],       entries; each replaces that of the same id
     {name of a part: its rows that become dead, as u32},
     [id, …]]                                   ids to remove from the entries: deleted, or in the new part

The writer computes which rows become dead, so that readers need not.
"""

from __future__ import annotations

import contextlib
import os
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pushsalt.errors import IndexCorrupt
from pushsalt.index import part
from pushsalt.index.base import Index
from pushsalt.index.columns import numbers_of, to_bytes
from pushsalt.index.files import segment_name
from pushsalt.index.format import Damage
from pushsalt.index.part import Entry, Part
from pushsalt.index.view import View

#: entries of the log, and of one write, from which on they are written into a part
MOST_ENTRIES: Final = 64
#: number of parts from which on some are merged
MOST_PARTS: Final = 8
#: rows up to which the writer merges parts itself
AT_ONCE: Final = 2048
#: bytes of the log from which on it is rewritten, plus twice the size of its lists of dead rows
LOG_LEAST: Final = 1 << 20


#: ids per part when the index is filled from a source
FILL: Final = 4096

_Filled = tuple[str, Mapping[str, Any], float, object]


class GrainIndex(Index):
    """The index in a folder of its own, which is created if missing; a context manager.

    Grains are stored as msgpack: tuples become lists. Every method raises IndexCorrupt if it needs damaged bytes (call
    ``reset()`` and fill it again), and OSError for errors of the file system.
    """

    KIND = "grains"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._parts: dict[str, Part] = {}
        self._dead: dict[str, bytearray] = {}
        self._entries: dict[str, Entry] = {}
        self._view: View | None = None
        #: replaced parts, kept open until the end of the merge: the process that closes a removed file last waits for
        #: the system to free it, and that should be the merging one
        self._buried: list[Part] = []

    # --- reading ---------------------------------------------------------------------------------------------------

    def match(self, expression: str, regex: bool = False, delimiter: str = ":", exact: bool = False) -> list[str]:
        """The sorted ids whose grains match a glob (``-G``), a regular expression (``-P``), or exactly.

        Raises ValueError for an empty delimiter. An expression without delimiter matches nothing.
        """
        view = self.view()
        return view.ids(view.grain(expression, delimiter=delimiter, regex=regex, exact=exact))

    def view(self) -> View:
        """A snapshot, for several queries on the same state."""
        with self._journal.mutex:
            self._journal.look()
            self._refresh()
            if self._view is None:
                self._view = View(list(self._parts.values()), self._dead, self._entries, self._journal.corrupt)
            return self._view

    def ids(self) -> list[str]:
        """All ids of the index, sorted."""
        view = self.view()
        return view.ids(view.everything)

    # --- writing ---------------------------------------------------------------------------------------------------

    def put_many(
        self,
        entries: Iterable[tuple[str, Mapping[str, Any]]],
        seen: float | None = None,
        *,
        within: Callable[[], object] | None = None,
    ) -> None:
        """Store the grains of these ids, all or none; ``seen``: when they were collected, by default now.

        ``within`` is called under the lock before they are written; if it raises, nothing is written.
        """
        at = time.time() if seen is None else seen
        packed = {id: Entry(_text(id), at, part.pack(dict(grains))) for id, grains in entries}
        if packed:
            with self._reading():
                self._put(packed, within)
                self._grow()

    def _put(self, packed: Mapping[str, Entry], within: Callable[[], object] | None) -> None:
        self._refresh()  # creates the log before the first segment: a segment without a log counts as damage
        new = part.build(packed.values()) if len(packed) > MOST_ENTRIES else None
        if new is not None:
            new.name = segment_name()
            new.write(self.path / new.name)
        number = -1
        try:
            with self._journal.locked():
                self._refresh()
                added = [] if new is not None else [list(entry) for entry in packed.values()]
                removed = [id for id in packed if id in self._entries] if new is not None else []
                if within is not None:
                    within()
                number = self._journal.number
                self._append([new.name if new is not None else None, added, self._kills(packed), removed])
        except Exception:
            if new is not None and number in (-1, self._journal.number):  # otherwise the log names it
                (self.path / new.name).unlink(missing_ok=True)
            raise

    def delete(self, id: str, *, within: Callable[[], object] | None = None) -> bool:
        """Remove an id; returns whether the index had it. ``within`` as for ``put_many``."""
        with self._reading():
            with self._journal.locked():
                self._refresh()
                if within is not None:
                    within()
                kills = self._kills([id])
                if not kills and id not in self._entries:
                    return False
                self._append([None, [], kills, [id]])
            self._grow()
            return True

    def compact(self) -> None:
        """Merge all parts into one. Readers and writers are not blocked; done automatically when there are many."""
        with self._reading():
            self._rewrite(list, wait=True)

    def maintain(self) -> None:
        """Merge what is due, unless another process is merging."""
        with self._reading():
            self._rewrite(self._worth, wait=False)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """A context in which Damage of parts becomes IndexCorrupt."""
        try:
            yield
        except Damage as exc:
            self._journal.forget()
            raise self._journal.corrupt(str(exc)) from None
        except FileNotFoundError as exc:
            self._journal.forget()
            raise self._journal.corrupt(f"{Path(str(exc.filename)).name} is missing") from None

    def _kills(self, ids: Iterable[str]) -> dict[str, bytes]:
        """name of a part -> the live rows of these ids, as u32."""
        wanted = list(ids)
        kills = {}
        for name, one in self._parts.items():
            rows = [row for id in wanted if (row := one.row(id)) is not None and not self._is_dead(name, row)]
            if rows:
                kills[name] = to_bytes(rows)
        return kills

    def _is_dead(self, name: str, row: int) -> bool:
        return name in self._dead and self._dead[name][row] != 0

    def _append(self, write: list[Any]) -> None:
        payload = part.pack(write)
        try:
            self._journal.append(payload)
            self._take([payload])
        except BaseException:
            self._journal.forget()
            raise

    def _grow(self) -> None:
        with self._journal.mutex:
            worth = self._worth(list(self._parts))
            if worth is None:
                return
            rows = sum(self._parts[name].rows for name in worth)
        if rows > AT_ONCE and self._child.start("grains", self.path):
            return
        try:
            self.maintain()
        except OSError as exc:  # the write itself has succeeded
            self._journal.note(f"parts cannot be merged: {exc.strerror or exc}")

    def _worth(self, names: Sequence[str]) -> list[str] | None:
        """The parts to merge now; None for nothing to do. The log's entries are always included."""
        living = {name: self._parts[name].rows - sum(self._dead.get(name, b"")) for name in names}
        chosen = [name for name in names if living[name] * 2 <= self._parts[name].rows]
        if len(names) - len(chosen) > MOST_PARTS:
            total = sum(living[name] for name in chosen)
            for place, name in enumerate(sorted(set(names) - set(chosen), key=living.__getitem__)):
                if place >= MOST_PARTS // 2 and living[name] > total:
                    break
                chosen.append(name)
                total += living[name]
        return chosen if chosen or len(self._entries) > MOST_ENTRIES or self._long() else None

    def _long(self) -> bool:
        dead = sum(len(flags) - flags.count(0) for flags in self._dead.values())
        return self._journal.end > LOG_LEAST + 16 * dead  # 4 bytes each, in both copies

    def _rewrite(self, choose: Callable[[list[str]], list[str] | None], *, wait: bool) -> None:
        journal = self._journal
        with journal.rewriting(wait=wait) as ours:
            if not ours:
                return
            with journal.mutex:
                self._refresh()
                end, number = journal.end, journal.number
                names = choose(list(self._parts))
                parts = dict(self._parts)
                dead = {name: bytes(self._dead.get(name, bytes(one.rows))) for name, one in parts.items()}
                entries = dict(self._entries)
                long = self._long()
            if names is None:
                return
            if not (entries or long or len(names) > 1 or any(any(dead[name]) for name in names)):
                return
            sources, gone = [parts[name] for name in names], [dead[name] for name in names]
            flushed = part.build(entries.values()) if entries else None
            if flushed is not None:
                sources.append(flushed)
                gone.append(bytes(flushed.rows))
            merged = part.merge(sources, gone)
            new = merged.part
            kept = [name for name in parts if name not in names]
            if new.rows:
                new.name = segment_name()
                new.write(self.path / new.name)
            translate = _Translation(names, merged.rows, new, flushed)
            died = {name: [row for row, flag in enumerate(dead[name]) if flag] for name in kept}
            kills = {name: to_bytes(rows) for name, rows in died.items() if rows}
            segments = [*kept, *([new.name] if new.rows else [])]
            writes = [part.pack([None, [], kills, []])] if kills else []
            try:
                journal.replace(segments, end, number, writes, translate, take=self._take)
            except (OSError, IndexCorrupt):
                if new.rows:
                    (self.path / new.name).unlink(missing_ok=True)
                raise
            self._buried = sources
            with journal.mutex:
                self._refresh()
                journal.sweep(names, keep=self._parts)

    # --- state -----------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        journal = self._journal
        if journal.fd >= 0 and os.lseek(journal.fd, 0, os.SEEK_END) == journal.settled:
            return
        with journal.mutex:
            try:
                current = journal.poll(self._take)
            except FileNotFoundError:  # the part was merged meanwhile
                current = False
            if not current:
                journal.load(self._begin, self._take)

    def _begin(self, names: list[str]) -> None:
        opened = self._parts
        self._parts = {name: opened.get(name) or Part.open(self.path / name) for name in names}
        self._dead = {}
        self._entries = {}
        self._view = None

    def _take(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            write = part.unpack(payload)
            if not isinstance(write, list) or len(write) != 4:
                raise Damage("its log has a write of an unknown kind")
            added, entries, kills, gone = write
            for id in gone:
                self._entries.pop(id, None)
            for name, rows in kills.items():
                dead = self._dead.setdefault(name, bytearray(self._parts[name].rows))
                for row in numbers_of("I", rows):
                    dead[row] = 1
            if added is not None and added not in self._parts:
                self._parts[added] = Part.open(self.path / added)
            self._entries.update({entry[0]: Entry(*entry) for entry in entries})
        if payloads:
            self._view = None

    # --- the rest --------------------------------------------------------------------------------------------------

    def _segment_problems(self) -> list[str]:
        return [text for one in self._parts.values() for text in one.problems()]

    def refill(
        self,
        source: Callable[[], Iterable[_Filled]],
        differing: Callable[[dict[str, object]], Iterable[tuple[str, Mapping[str, Any] | None, float]]],
        instead: tuple[int, int] | None,
    ) -> None:
        """Replace all entries by those of a source, atomically.

        ``source`` yields (id, grains, seen, stamp), without blocking writers; then, while writers wait, ``differing``
        is called with the stamps by id and yields (id, grains or None, seen) for entries that changed meanwhile.
        ``instead`` is the ``place`` of the log to replace: nothing is done if another process was first.
        """

        def fill(written: list[str]) -> None:
            parts: list[Part] = []
            staged: dict[str, object] = {}
            for batch in _batches(source()):
                new = part.build(Entry(_text(id), at, part.pack(dict(grains))) for id, grains, at, _ in batch)
                staged.update((id, stamp) for id, _, _, stamp in batch)
                new.name = segment_name()
                written.append(new.name)
                new.write(self.path / new.name)
                parts.append(new)
            with self._journal.locked():
                self._journal.reset(written, _corrections(parts, list(differing(staged))))

        self._anew(instead, fill)

    def spoil(self) -> None:
        """Mark the index as damaged, so that it is filled again; needs no disk space."""
        with self._journal.locked():
            os.truncate(self.path / "log", 1)

    def close(self) -> None:
        super().close()
        self._parts = {}
        self._buried = []
        self._view = None


def _batches(entries: Iterable[_Filled]) -> Iterator[list[_Filled]]:
    rest = iter(entries)
    while batch := list(islice(rest, FILL)):
        yield batch


def _corrections(parts: Sequence[Part], changed: Sequence[tuple[str, Mapping[str, Any] | None, float]]) -> list[bytes]:
    """The writes to append after new parts."""
    if not changed:
        return []
    kills = {}
    for one in parts:
        rows = sorted({row for id, _, _ in changed if (row := one.row(id)) is not None})
        if rows:
            kills[one.name] = to_bytes(rows)
    added = [[id, seen, part.pack(dict(grains))] for id, grains, seen in changed if grains is not None]
    return [part.pack([None, added, kills, []])]


class _Translation:
    """Translates writes of the old log for the new part: dead rows of the merged parts, and entries that are in it."""

    def __init__(self, names: Sequence[str], rows: Sequence[array[int]], new: Part, flushed: Part | None) -> None:
        self._rows = dict(zip(names, rows, strict=False))
        self._new = new
        self._flushed = set(flushed.ids) if flushed is not None else set()

    def __call__(self, payload: bytes) -> bytes:
        added, entries, kills, gone = part.unpack(payload)
        dying = set()
        for name in [name for name in kills if name in self._rows]:
            numbers = self._rows[name]
            dying |= {numbers[row] for row in numbers_of("I", kills.pop(name))} - {-1}
        for id in [*gone, *(entry[0] for entry in entries)]:
            if id in self._flushed:
                row = self._new.row(id)
                assert row is not None
                dying.add(row)
        if dying:
            kills[self._new.name] = to_bytes(sorted(dying))
        return part.pack([added, entries, kills, gone])


def _text(id: object) -> str:
    if not isinstance(id, str):
        raise TypeError(f"an id must be text, not {id!r}")
    return id
