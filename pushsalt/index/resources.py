"""Which resources there are, of what type, and who manages them: on disk, for any number of readers and writers.

A resource is ``type:id`` (its SRN) with the name of its manager. Lookups by SRN, by type and by manager cost what they
return, in a fresh process too: both listings lie on disk. Salt: salt.utils.resource_registry.

State in memory: a segment on disk, and above it ``_changes``, the writes of the log. Layout: ``format``, ``segment``.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from pushsalt.errors import IndexCorrupt
from pushsalt.index import build
from pushsalt.index.base import Index
from pushsalt.index.files import segment_name
from pushsalt.index.format import Damage, decode, encode, join, split
from pushsalt.index.segment import Segment, Triple

Key = tuple[str, str]
_State = tuple[Segment | None, dict[Key, str | None], dict[Key, str | None]]
_T = TypeVar("_T")

#: bytes of log from which on it is worth to be merged into a segment: at least so many, and such a part of the segment
LOG_LEAST: Final = 256 * 1024
LOG_PART: Final = 8
#: writes in the log from which on the same holds: a process that opens the index reads them all, some 3 µs each
LOG_WRITES: Final = 8192
#: bytes of segment and log up to which a merge is so short that the writer does it at once
AT_ONCE: Final = 512 * 1024
#: look-ups that are remembered, until a segment comes
SEEN_MOST: Final = 1 << 16


class ResourceIndex(Index):
    """The index in a folder of its own, which is made when it is missing; a context manager.

    Every method raises IndexCorrupt for damage that cannot be mended, and OSError for what the disk refuses.
    Threads may share one; processes that fork may too.
    """

    KIND = "resources"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._segment: Segment | None = None
        self._changes: dict[Key, str | None] = {}
        #: both, and what was found in the segment, for readers that take no lock: all change hands at once
        self._state: _State = (None, self._changes, {})
        #: what of ``_changes`` is not in ``_types`` and ``_managed`` yet
        self._ungrouped: list[Iterable[tuple[Key, str | None]]] = []
        self._types: dict[str, dict[str, str | None]] = {}
        self._managed: dict[str, set[Key]] = {}
        #: what was in memory before the last rewrite: one by one let go of, as thousands of objects take their time
        self._retired: list[object] = []
        #: the segment that was replaced. Whoever lets go of a removed file last waits for the system to clear it away:
        #: not the readers, but who compacts
        self._buried: Segment | None = None

    # --- reading ---------------------------------------------------------------------------------------------------

    def get(self, type: str, id: str) -> str | None:
        """The manager of a resource, or None when there is no such resource."""
        try:
            return self._get(type, id)
        except Damage as exc:
            return self._after(exc, lambda: self._get(type, id))

    def _get(self, type: str, id: str) -> str | None:
        journal = self._journal
        if journal.fd < 0 or os.lseek(journal.fd, 0, os.SEEK_END) != journal.settled:
            self._refresh()
        segment, changes, seen = self._state
        key = (type, id)
        if key in changes:
            return changes[key]
        if key in seen:
            return seen[key]
        if segment is None:
            return None
        manager = segment.get(type, id)
        if len(seen) >= SEEN_MOST:
            seen.clear()
        seen[key] = manager
        return manager

    def by_type(self, type: str) -> list[str]:
        """The ids of a type, sorted."""
        return self._read(lambda: self._by_type(type))

    def owners(self, type: str) -> dict[str, str]:
        """id -> manager of all resources of a type, in no particular order: one pass, however many there are."""
        return self._read(lambda: self._owners(type))

    def by_manager(self, manager: str) -> list[Key]:
        """The resources of a manager as (type, id), sorted."""
        return self._read(lambda: self._by_manager(manager))

    def types(self) -> list[str]:
        """The types that have resources, sorted."""
        return self._read(self._all_types)

    def managers(self) -> list[str]:
        """Who manages any resource, sorted."""
        return self._read(self._all_managers)

    def items(self) -> list[Triple]:
        """Everything, as (type, id, manager), sorted."""
        return self._read(lambda: sorted((type, id, manager) for (type, id), manager in self._all().items()))

    def _read(self, function: Callable[[], _T]) -> _T:
        with self._journal.mutex:
            self._journal.look()
            self._refresh()
            if self._retired:
                self._retired.pop()
            try:
                return function()
            except Damage as exc:
                return self._after(exc, function)

    def _after(self, damage: Damage, function: Callable[[], _T]) -> _T:
        """The answer once the segment is mended."""
        with self._journal.mutex:
            if self._segment is not None:
                self._mend(self._segment, damage)
            try:
                return function()
            except Damage as exc:  # what was written a moment ago: this is no disk to work with
                raise self._journal.corrupt(str(exc)) from None

    def _by_type(self, type: str) -> list[str]:
        ids = self._segment.by_type(type) if self._segment is not None else []
        self._group()
        changes = self._types.get(type)
        if not changes:
            return ids
        merged: list[str] = []
        at = 0
        for id in sorted(changes):
            place = bisect_left(ids, id, at)
            merged += ids[at:place]
            at = place + 1 if place < len(ids) and ids[place] == id else place
            if changes[id] is not None:
                merged.append(id)
        return merged + ids[at:]

    def _owners(self, type: str) -> dict[str, str]:
        owners = self._segment.owners(type) if self._segment is not None else {}
        self._group()
        for id, manager in self._types.get(type, {}).items():
            if manager is None:
                owners.pop(id, None)
            else:
                owners[id] = manager
        return owners

    def _by_manager(self, manager: str) -> list[Key]:
        pairs = self._segment.by_manager(manager) if self._segment is not None else []
        if not self._changes:
            return pairs
        self._group()
        known = self._changes
        pairs = [pair for pair in pairs if pair not in known]
        return sorted([*pairs, *self._managed.get(manager, ())])

    def _all_types(self) -> list[str]:
        if not self._changes:
            return self._segment.types.sorted() if self._segment is not None else []
        self._group()
        stored = self._segment.types.sorted() if self._segment is not None else []
        return sorted(
            type
            for type in {*stored, *self._types}
            if type not in self._types or any(self._types[type].values()) or self._by_type(type)
        )

    def _all_managers(self) -> list[str]:
        stored = self._segment.managers.sorted() if self._segment is not None else []
        if not self._changes:
            return stored
        self._group()
        touched = {manager for key in self._changes for manager in (self._stored(key),) if manager is not None}
        return sorted(
            name
            for name in {*stored, *self._managed}
            if self._managed.get(name) or (name not in touched and name in stored) or self._by_manager(name)
        )

    def _stored(self, key: Key) -> str | None:
        return self._segment.get(*key) if self._segment is not None else None

    def _all(self) -> dict[Key, str]:
        found: dict[Key, str] = {}
        if self._segment is not None:
            found = {(type, id): manager for type, id, manager in self._segment.by_type_triples()}
        for key, manager in self._changes.items():
            if manager is None:
                found.pop(key, None)
            else:
                found[key] = manager
        return found

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, type: str, id: str, manager: str) -> None:
        """Say who manages a resource. It survives SIGKILL when this returns."""
        payload = encode("P" + join((type, id, manager)))
        journal = self._journal
        self._refresh()  # what takes time is done before others have to wait
        journal.acquire()
        try:
            if self.get(type, id) == manager:
                return
            journal.append(payload)
            self._changes[type, id] = manager
            self._ungrouped.append((((type, id), manager),))
        except BaseException:
            journal.forget()
            raise
        finally:
            journal.release()
        if journal.end > LOG_LEAST:
            self._grow()

    def put_many(self, entries: Iterable[Triple]) -> None:
        """Many at once, all or nothing. Of two for one resource the later counts."""
        entries = entries if isinstance(entries, list | tuple) else list(entries)
        if not entries:
            return
        types, ids, managers = zip(*entries, strict=True)
        flat = [""] * (3 * len(entries))
        flat[0::3], flat[1::3], flat[2::3] = types, ids, managers
        payload = encode("P" + join(flat))
        items = list(zip(zip(types, ids, strict=True), managers, strict=True))
        journal = self._journal
        self._refresh()
        journal.acquire()
        try:
            self._refresh()
            journal.append(payload)
            self._changes.update(items)
            self._ungrouped.append(items)
        except BaseException:
            journal.forget()
            raise
        finally:
            journal.release()
        if journal.end > LOG_LEAST:
            self._grow()

    def delete(self, type: str, id: str) -> bool:
        """Forget a resource; whether it was there."""
        journal = self._journal
        self._refresh()
        journal.acquire()
        try:
            if self.get(type, id) is None:
                return False
            journal.append(encode("D" + join((type, id))))
            self._changes[type, id] = None
            self._ungrouped.append((((type, id), None),))
        except BaseException:
            journal.forget()
            raise
        finally:
            journal.release()
        if journal.end > LOG_LEAST:
            self._grow()
        return True

    def compact(self) -> None:
        """Merge the log into a new segment. Readers and writers go on meanwhile; it happens by itself as it grows."""
        self._compact(wait=True)

    def maintain(self) -> None:
        """Merge if the log is long and nobody else is at it."""
        self._refresh()
        if self._long():
            self._compact(wait=False)

    def _long(self) -> bool:
        segment = self._segment.size if self._segment is not None else 0
        return self._journal.end >= max(LOG_LEAST, segment // LOG_PART) or self._journal.number >= LOG_WRITES

    def _grow(self) -> None:
        """Merge when the log has become long: at once if that takes no time, else in a process of its own."""
        if not self._long():
            return
        segment = self._segment.size if self._segment is not None else 0
        if segment + self._journal.end > AT_ONCE and self._child.start("resources", self.path):
            return
        try:
            self._compact(wait=False)
        except OSError as exc:  # the write itself is done
            self._journal.note(f"the log cannot be merged: {exc.strerror or exc}")

    def _compact(self, *, wait: bool) -> None:
        journal = self._journal
        with journal.rewriting(wait=wait) as ours:
            if not ours:
                return
            with journal.mutex:
                self._refresh()
                base, changes = self._segment, dict(self._changes)
                end, number = journal.end, journal.number
                old = list(journal.segments)
            if not changes:
                journal.sweep((), keep=old)
                return
            name = segment_name()
            try:
                build.merge(self.path / name, base, changes)
            except Damage as exc:
                assert base is not None
                self._mend(base, exc, rewrite=False)
                with journal.mutex:
                    changes, end, number = dict(self._changes), journal.end, journal.number
                build.merge(self.path / name, None, changes)
            try:
                journal.replace([name], end, number, take=self._take)
            except (OSError, IndexCorrupt):
                (self.path / name).unlink(missing_ok=True)
                raise
            self._buried = base
            self._refresh()
            journal.sweep(old, keep=journal.segments)

    # --- state -----------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """See every write that returned before."""
        journal = self._journal
        if journal.fd >= 0 and os.lseek(journal.fd, 0, os.SEEK_END) == journal.settled:
            return
        with journal.mutex:
            if not journal.poll(self._take):
                journal.load(self._begin, self._first)
            elif self._retired:
                self._retired.pop()

    def _begin(self, segments: list[str]) -> None:
        """Start over from these segments."""
        if len(segments) > 1:
            raise Damage("its log names more than one segment")
        if not segments:
            self._segment = None
        elif self._segment is None or self._segment.name != segments[0]:
            self._segment = Segment(self._journal.file(segments[0]))
        self._retired[:] = (self._ungrouped, self._types, self._managed, *reversed(self._state))
        self._changes = {}
        self._ungrouped = []
        self._types = {}
        self._managed = {}

    def _first(self, payloads: list[bytes]) -> None:
        self._take(payloads)
        self._state = (self._segment, self._changes, {})

    def _take(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            fields = split(decode(payload[1:]))
            if payload[:1] == b"P" and len(fields) % 3 == 0:
                keys = zip(fields[0::3], fields[1::3], strict=True)
                items: list[tuple[Key, str | None]] = list(zip(keys, fields[2::3], strict=True))
            elif payload[:1] == b"D" and len(fields) == 2:
                items = [((fields[0], fields[1]), None)]
            else:
                raise Damage("its log has a write of an unknown kind")
            self._changes.update(items)
            self._ungrouped.append(items)

    def _group(self) -> None:
        """Bring ``_types`` and ``_managed`` up to date with ``_changes``."""
        todo, self._ungrouped = self._ungrouped, []
        for items in todo:
            for key, manager in items:
                of_type = self._types.setdefault(key[0], {})
                before = of_type.get(key[1])
                if before is not None:
                    self._managed[before].discard(key)
                of_type[key[1]] = manager
                if manager is not None:
                    self._managed.setdefault(manager, set()).add(key)

    def _mend(self, segment: Segment, damage: Damage, *, rewrite: bool = True) -> None:
        """Take the entries from the view that is sound, and write a segment anew. Raises IndexCorrupt when none is."""
        with self._journal.mutex:
            if self._segment is not segment:
                return  # another thread did it
            try:
                entries = segment.salvage()
            except Damage as exc:
                raise self._journal.corrupt(str(exc)) from None
            self._journal.note(f"{damage}; mended from the other view")
            self._segment = None
            self._changes = {**entries, **self._changes}
            self._state = (None, self._changes, {})
            self._types = {}
            self._managed = {}
            self._ungrouped = [self._changes.items()]
            if rewrite:
                try:
                    self._compact(wait=False)
                except OSError:
                    pass  # what is in memory is right; the next one to look mends again

    # --- the rest --------------------------------------------------------------------------------------------------

    def _segment_problems(self) -> list[str]:
        return self._segment.problems() if self._segment is not None else []

    def refill(self, source: Callable[[], Iterable[Triple]], instead: tuple[int, int] | None) -> None:
        """Begin anew with these entries, all at once for everybody: writers wait until it is done.

        ``instead`` is the ``place`` of the log that is to go: nothing is done when somebody else was first. Of two
        entries for one resource the later counts.
        """

        def fill(made: list[str]) -> None:
            entries = {(type, id): manager for type, id, manager in source()}
            if entries:
                made.append(segment_name())
                build.merge(self.path / made[0], None, entries)
            self._journal.reset(made)

        self._anew(instead, fill, waiting=True)

    def close(self) -> None:
        super().close()
        self._segment = self._buried = None
        self._state = (None, {}, {})
        self._retired.clear()
