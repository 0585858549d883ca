"""The on-disk index of resources, their types and managers, for any number of concurrent readers and writers.

A resource is ``type:id`` (its SRN) with the name of its manager. The cost of a look-up by SRN, type or manager is
proportional to its result, also in a new process: both views are on disk. Salt: salt.utils.resource_registry.

Its state: segments on disk, oldest first, and over them ``_recent``, the writes of the log (``layers``). The cost of
opening it is bounded: a writer that finds the log long writes it into a new segment (``_flush``), merged with the
newest segments if there are many; larger merges (``_merge``) are done by a separate process. A writer that finds
``compaction.MOST`` segments waits until some are merged. Layout: ``format``, ``segment``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from pushsalt.index import layers
from pushsalt.index.base import Index
from pushsalt.index.claims import Claims
from pushsalt.index.compaction import FEW, MOST, due, worth
from pushsalt.index.files import segment_name
from pushsalt.index.format import Damage, encode, join
from pushsalt.index.layers import ByType, Key, Layer, Recent
from pushsalt.index.segment import Segment, Triple
from pushsalt.index.writes import checkpoint, items_of, without

_State = tuple[dict[str, dict[str, str | None]], tuple[Layer, ...], dict[Key, str | None]]
#: the name of a segment, and its entries
_Batch = tuple[str, ByType]
_T = TypeVar("_T")

#: limits of the log (bytes; writes; entries); a longer one is written into a segment, since a process that opens the
#: index reads all of it, about 1 µs per write
LOG_BYTES: Final = 256 * 1024
LOG_WRITES: Final = 1024
LOG_ENTRIES: Final = 1024
#: writes between checkpoints; a process that opens the index reads the log from the last checkpoint on
CHECKPOINT_WRITES: Final = 256
#: at this multiple of the limits above, writers wait for the process that writes the segment
PATIENCE: Final = 2
#: entries, and bytes, up to which a batch is written to the log; a larger one becomes a segment
BATCH: Final = 1024
BATCH_BYTES: Final = 64 * 1024
#: entries up to which the writer merges segments itself
AT_ONCE: Final = 32 * 1024
#: entries up to which a segment is loaded to merge it; of a larger one unchanged bytes are copied
IN_MEMORY: Final = 32 * 1024
#: entries up to which a segment stays in the memory of the process that wrote it, for look-ups by later writes
REMEMBERED_MOST: Final = 8192
#: look-ups that are cached until the log becomes a segment
LOOKUPS_MOST: Final = 1 << 16


class ResourceIndex(Index):
    """The index in a folder of its own, which is created if missing; a context manager.

    Every method raises IndexCorrupt for damage that cannot be repaired, and OSError for errors of the file system.
    Thread-safe, and usable after a fork.
    """

    KIND = "resources"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._below: list[Layer] = []
        self._recent = Recent()
        #: (recent writes, segments newest first, cached look-ups) for readers, which take no lock; replaced as a whole
        self._state: _State = (self._recent.by_type, (), {})
        #: name of a segment that this process wrote and the log will name -> its entries, if they are few
        self._written: dict[str, ByType] = {}
        self._claims = Claims(self._journal.file("merge.lock"))
        #: replaced segments, kept open until the end of the merge: the process that closes a removed file last waits
        #: for the system to free it, and that should not be a reader
        self._buried: list[Layer] = []

    # --- reading ---------------------------------------------------------------------------------------------------

    def get(self, type: str, id: str) -> str | None:
        """The manager of a resource, or None for an unknown one."""
        try:
            return self._get(type, id)
        except Damage as exc:
            return self._after(exc, lambda: self._get(type, id))

    def _get(self, type: str, id: str) -> str | None:
        journal = self._journal
        if journal.fd < 0 or os.lseek(journal.fd, 0, os.SEEK_END) != journal.settled:
            self._refresh()
        recent, segments, seen = self._state
        if type in recent and id in recent[type]:
            return recent[type][id]
        key = (type, id)
        if key in seen:
            return seen[key]
        if not segments:
            return None
        manager = layers.find(segments, type, id)
        if len(seen) >= LOOKUPS_MOST:
            seen.clear()
        seen[key] = manager
        return manager

    def by_type(self, type: str) -> list[str]:
        """The ids of a type, sorted."""
        return self._read(lambda: layers.by_type(self._layers(), type))

    def owners(self, type: str) -> dict[str, str]:
        """id -> manager, for all resources of a type, in no particular order; reads them in one pass."""
        return self._read(lambda: layers.owners(self._layers(), type))

    def by_manager(self, manager: str) -> list[Key]:
        """The resources of a manager as (type, id), sorted."""
        return self._read(lambda: layers.by_manager(self._layers(), manager))

    def types(self) -> list[str]:
        """The types that have resources, sorted."""
        return self._read(lambda: layers.types(self._layers()))

    def managers(self) -> list[str]:
        """All managers, sorted."""
        return self._read(lambda: layers.managers(self._layers()))

    def items(self) -> list[Triple]:
        """All resources as (type, id, manager), sorted."""
        return self._read(lambda: sorted(layers.everything(self._layers())))

    def _layers(self) -> list[Layer]:
        """All layers, oldest first; an empty one if there are none."""
        return [*self._below, self._recent] if self._recent.by_type or not self._below else self._below

    def _read(self, function: Callable[[], _T]) -> _T:
        with self._journal.mutex:
            self._journal.look()
            self._refresh()
            try:
                return function()
            except Damage as exc:
                return self._after(exc, function)

    def _after(self, damage: Damage, function: Callable[[], _T]) -> _T:
        """Repair the segments, then call the function again."""
        with self._journal.mutex:
            self._mend(damage)
            try:
                return function()
            except Damage as exc:  # in bytes that were just written: the disk is unusable
                raise self._journal.corrupt(str(exc)) from None

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, type: str, id: str, manager: str) -> None:
        """Set the manager of a resource. When this returns, the write survives SIGKILL."""
        payload = encode("P" + join((type, id, manager)))
        if len(payload) > BATCH_BYTES:
            self.put_many([(type, id, manager)])
            return
        journal = self._journal
        self._refresh()  # the slow part, before the lock is taken
        journal.acquire()
        try:
            if self.get(type, id) == manager:
                return
            journal.append(payload)
            self._recent.add([(type, id, manager)])
            self._checkpoint()
        except BaseException:
            journal.forget()
            raise
        finally:
            journal.release()
        self._grow()

    def put_many(self, entries: Iterable[Triple]) -> None:
        """Set many entries, all or none. If a resource occurs twice, the later entry wins."""
        entries = entries if isinstance(entries, list | tuple) else list(entries)
        if not entries:
            return
        types, ids, managers = zip(*entries, strict=True)
        flat = [""] * (3 * len(entries))
        flat[0::3], flat[1::3], flat[2::3] = types, ids, managers
        payload = encode("P" + join(flat))
        if len(entries) > BATCH or len(payload) > BATCH_BYTES:
            self._put_above(Recent(zip(types, ids, managers, strict=True)).by_type)
            return
        journal = self._journal
        self._refresh()
        journal.acquire()
        try:
            self._refresh()
            journal.append(payload)
            self._recent.add(zip(types, ids, managers, strict=True))
            self._checkpoint()
        except BaseException:
            journal.forget()
            raise
        finally:
            journal.release()
        self._grow()

    def _put_above(self, entries: ByType) -> None:
        """Write a batch as a segment, without blocking other writers; it is valid when the log names it."""
        self._refresh()  # creates the log before the first segment: a segment without a log counts as damage
        name = segment_name()
        _build(self.path / name, None, entries)
        self._flush(wait=True, above=(name, entries))
        self._settle()

    def delete(self, type: str, id: str) -> bool:
        """Remove a resource; whether it existed."""
        journal = self._journal
        self._refresh()
        journal.acquire()
        try:
            if self.get(type, id) is None:
                return False
            journal.append(encode("D" + join((type, id))))
            self._recent.add([(type, id, None)])
            self._checkpoint()
        except BaseException:
            journal.forget()
            raise
        finally:
            journal.release()
        self._grow()
        return True

    def _checkpoint(self) -> None:
        """Write a checkpoint if it is due. The lock is held, and ``_recent`` has all writes of the log.

        Its size is at most half of the log's, so the log does not exceed its limit by it.
        """
        if self._journal.number % CHECKPOINT_WRITES == 0 and self._journal.end < LOG_BYTES // 2:
            with contextlib.suppress(OSError):  # the write itself has succeeded
                self._journal.append(checkpoint(self._recent.by_type))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with self._journal.rewriting(wait=True), super().held():  # a write within may be a batch, which rewrites
            yield

    # --- merging ---------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Merge all segments into one. Readers and writers are not blocked; necessary merges happen automatically."""
        self._flush(wait=True)
        self._merge(len, wait=True)

    def maintain(self) -> None:
        """Merge what is due, unless another process is merging."""
        self._merge(due, wait=False)

    def _grow(self) -> None:
        """Write the log into a segment if it is long."""
        journal = self._journal
        length = max(journal.end / LOG_BYTES, journal.number / LOG_WRITES, self._recent.count / LOG_ENTRIES)
        if length < 1:
            return
        try:
            self._flush(wait=length > PATIENCE)
            self._settle()
        except OSError as exc:  # the write itself has succeeded
            journal.note(f"the log cannot be merged: {exc.strerror or exc}")

    def _settle(self) -> None:
        """Start a merge if there are many segments."""
        if self._journal.is_rewriting():  # waiting could deadlock: the merging process may wait for this one
            return
        if len(self._journal.segments) >= MOST:
            self._merge(due, wait=True)
            return
        many = len(self._journal.segments) > FEW and self._claims.others() is None
        if many and not self._child.start("resources", self.path):
            self._merge(due, wait=False)

    def _flush(self, *, wait: bool, above: _Batch | None = None) -> None:
        """Write the log into a segment, and put the segment ``above`` of a batch over it."""
        try:
            self._flush_once(wait, above)
        except Damage as exc:
            self._mend(exc)
            try:
                self._flush_once(wait, above)
            except Damage as again:
                raise self._journal.corrupt(str(again)) from None

    def _flush_once(self, wait: bool, above: _Batch | None) -> None:
        journal = self._journal
        with journal.rewriting(wait=wait) as ours:
            if not ours:
                return
            with journal.mutex:
                self._refresh()
                changes = self._recent.entries()
                end, number = journal.end, journal.number
                names, segments = list(journal.segments), list(self._below)
            if not changes and above is None:
                return
            count = self._joining(segments, sum(map(len, changes.values()))) if changes else 0
            kept, old = names[: len(names) - count], names[len(names) - count :]
            written = [self._write(segments[len(kept) :], changes, lowest=not kept)] if changes else []
            new, translate = [*kept, *written], None
            if above is not None:
                name, batch = above
                new.append(name)
                translate = partial(without, batch)
                written.append(name)
                if not (self.path / name).exists():  # another process has reset the index meanwhile
                    _build(self.path / name, None, batch)
            self._replace(new, end, number, written, translate)
            for name in old:
                (self.path / name).unlink(missing_ok=True)

    def _joining(self, segments: Sequence[Layer], changes: int) -> int:
        """How many of the newest segments to merge with the log: none if there are few."""
        if len(segments) < FEW:
            return 0
        claimed = self._claims.others() or ()
        counts = [changes]
        for layer in reversed(segments):
            if layer.name in claimed:
                break
            counts.insert(0, layer.count)
        return worth(counts, AT_ONCE) - 1

    def _merge(self, choose: Callable[[list[int]], int], *, wait: bool) -> None:
        """Merge as many of the newest segments as ``choose`` returns, given the number of entries of each."""
        journal = self._journal
        with self._claims.hold(wait=wait) as ours:
            if not ours:
                return
            with journal.rewriting(wait=True), journal.mutex:
                self._refresh()
                segments = list(self._below)
                sources = segments[len(segments) - choose([layer.count for layer in segments]) :]
                if len(sources) < 2:
                    journal.sweep((), keep=journal.segments)
                    return
                old = [layer.name for layer in sources]
                self._claims.make(old)
            try:
                new = self._write(sources, {}, lowest=len(old) == len(segments))
            except Damage as exc:
                self._mend(exc)
                return
            with journal.rewriting(wait=True):
                self._refresh()
                names = list(journal.segments)
                at = names.index(old[0]) if old[0] in names else 0
                if names[at : at + len(old)] != old:  # refilled or repaired meanwhile
                    (self.path / new).unlink(missing_ok=True)
                    return
                self._replace([*names[:at], new, *names[at + len(old) :]], journal.start, 0, [new])
                self._buried = sources
                journal.sweep(old, keep=journal.segments)

    def _write(self, segments: Sequence[Layer], changes: ByType, *, lowest: bool) -> str:
        """Write a new segment of these segments and later changes; returns its name."""
        base = None
        if segments and isinstance(segments[0], Segment) and segments[0].count > IN_MEMORY:
            base = segments[0]
        entries = layers.united([*(layer.entries() for layer in segments[base is not None :]), changes])
        name = segment_name()
        _build(self.path / name, base, entries, lowest=lowest)
        if base is None and sum(map(len, entries.values())) <= REMEMBERED_MOST:
            self._written[name] = entries
        return name

    def _replace(
        self,
        segments: Sequence[str],
        end: int,
        number: int,
        written: Sequence[str],
        translate: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Replace the log by one with these segments, of which ``written`` are new, and switch to it."""
        try:
            self._journal.replace(segments, end, number, translate=translate, take=self._take)
        except Exception:
            for name in written:
                (self.path / name).unlink(missing_ok=True)
            raise
        self._refresh()

    def _mend(self, damage: Damage) -> None:
        """Rewrite damaged segments from their undamaged view.

        Raises IndexCorrupt if both views are damaged.
        """
        with self._journal.mutex:
            saved: list[Layer] = []
            for layer in self._below:
                if isinstance(layer, Segment) and layer.problems():
                    try:
                        saved.append(layer.salvage())
                    except Damage as exc:
                        raise self._journal.corrupt(str(exc)) from None
                    self._journal.note(f"{damage}; repaired from the other view")
            by_name = {layer.name: layer for layer in saved}
            self._use([by_name.get(layer.name, layer) for layer in self._below], self._recent)
        try:
            for layer in saved:
                self._rewrite(layer)
        except OSError:
            pass  # the state in memory is right; the next reader repairs the file

    def _rewrite(self, layer: Layer) -> None:
        """Rewrite a segment, unless another process is rewriting: then that one, or the next reader, does it."""
        with self._journal.rewriting(wait=False) as ours:
            names = self._journal.segments
            if ours and layer.name in names:
                new = self._write([layer], {}, lowest=layer.name == names[0])
                segments = [new if name == layer.name else name for name in names]
                self._replace(segments, self._journal.start, 0, [new])
                self._journal.sweep([layer.name], keep=segments)

    # --- state -----------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Read all writes that have returned by now."""
        journal = self._journal
        if journal.fd >= 0 and os.lseek(journal.fd, 0, os.SEEK_END) == journal.settled:
            return
        with journal.mutex:
            if not journal.poll(self._take):
                journal.load(self._begin, self._first)

    def _begin(self, segments: list[str]) -> None:
        """Set the state to these segments, without writes."""
        opened = {layer.name: layer for layer in self._below if isinstance(layer, Segment)}
        written = self._written
        self._below = [opened.get(name) or Segment(self._journal.file(name), written.get(name)) for name in segments]
        written.clear()
        self._recent = Recent()

    def _first(self, payloads: list[bytes]) -> None:
        self._take(payloads)
        self._use(self._below, self._recent)

    def _use(self, segments: list[Layer], recent: Recent) -> None:
        self._below = segments
        self._state = (recent.by_type, tuple(reversed(segments)), {})

    def _take(self, payloads: list[bytes]) -> None:
        self._recent.add(items_of(payloads))

    # --- the rest --------------------------------------------------------------------------------------------------

    def _segment_problems(self) -> list[str]:
        return [text for layer in self._below if isinstance(layer, Segment) for text in layer.problems()]

    def refill(self, source: Callable[[], Iterable[Triple]], instead: tuple[int, int] | None) -> None:
        """Replace all entries by these, atomically; writers wait meanwhile.

        ``instead`` is the ``place`` of the log to replace: nothing is done if another process has replaced it. If a
        resource occurs twice, the later entry wins.
        """

        def fill(written: list[str]) -> None:
            entries = Recent(source()).by_type
            if entries:
                written.append(segment_name())
                _build(self.path / written[0], None, entries)
            self._journal.reset(written)

        self._anew(instead, fill, waiting=True)

    def close(self) -> None:
        super().close()
        self._buried = []
        self._recent = Recent()
        self._use([], self._recent)


def _build(path: Path, base: Segment | None, entries: ByType, *, lowest: bool = True) -> None:
    from pushsalt.index import build  # not needed by readers

    build.merge(path, base, entries, lowest=lowest)
