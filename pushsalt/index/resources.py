"""Which resources there are, of what type, and who manages them: on disk, for any number of readers and writers.

A resource is ``type:id`` (its SRN) with the name of its manager. Lookups by SRN, by type and by manager cost what they
return, in a fresh process too: both listings lie on disk. Salt: salt.utils.resource_registry.

State: segments on disk, the oldest first, and above them ``_recent``, the writes of the log (``layers``). What a fresh
process pays is bounded: a writer that finds the log long writes it into a new segment (``_flush``), together with the
newest segments where they have become many; larger merges (``_merge``) are made by a process of their own. Who finds
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
#: the name of a segment, and what is in it
_Batch = tuple[str, ByType]
_T = TypeVar("_T")

#: the log is written into a segment from so many bytes, writes or entries on: a process that opens the index reads them
#: all, about 1 µs each
LOG_BYTES: Final = 256 * 1024
LOG_WRITES: Final = 1024
LOG_ENTRIES: Final = 1024
#: after so many writes a checkpoint follows, from which on a process that opens the index reads the log
CHECKPOINT_WRITES: Final = 256
#: when it has so many times as much, writers wait for who is at it
PATIENCE: Final = 2
#: entries, and bytes, of a batch that goes into the log; a larger one becomes a segment
BATCH: Final = 1024
BATCH_BYTES: Final = 64 * 1024
#: entries up to which a merge is so short that the writer does it at once
AT_ONCE: Final = 32 * 1024
#: entries of a segment up to which it is read to be merged; of a larger one what did not change is copied
IN_MEMORY: Final = 32 * 1024
#: entries of a small segment that stay in the memory of who wrote it: who puts looks up what was there before
REMEMBERED_MOST: Final = 8192
#: look-ups that are remembered, until the log becomes a segment
LOOKUPS_MOST: Final = 1 << 16


class ResourceIndex(Index):
    """The index in a folder of its own, which is made when it is missing; a context manager.

    Every method raises IndexCorrupt for damage that cannot be mended, and OSError for what the disk refuses.
    Threads may share one; processes that fork may too.
    """

    KIND = "resources"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._below: list[Layer] = []
        self._recent = Recent()
        #: what is recent, the segments, the newest first, and what was found in them, for readers that take no lock:
        #: all change hands at once
        self._state: _State = (self._recent.known, (), {})
        #: name of a segment of this process that is about to be named in the log -> what is in it, if that is little
        self._written: dict[str, ByType] = {}
        self._claims = Claims(self._journal.file("merge.lock"))
        #: segments that were replaced. Whoever lets go of a removed file last waits for the system to clear it away:
        #: not the readers, but who merges
        self._buried: list[Layer] = []

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
        """id -> manager of all resources of a type, in no particular order: one pass, however many there are."""
        return self._read(lambda: layers.owners(self._layers(), type))

    def by_manager(self, manager: str) -> list[Key]:
        """The resources of a manager as (type, id), sorted."""
        return self._read(lambda: layers.by_manager(self._layers(), manager))

    def types(self) -> list[str]:
        """The types that have resources, sorted."""
        return self._read(lambda: layers.types(self._layers()))

    def managers(self) -> list[str]:
        """Who manages any resource, sorted."""
        return self._read(lambda: layers.managers(self._layers()))

    def items(self) -> list[Triple]:
        """Everything, as (type, id, manager), sorted."""
        return self._read(lambda: sorted(layers.everything(self._layers())))

    def _layers(self) -> list[Layer]:
        """All that there are, the oldest first; one that is empty if there is none."""
        return [*self._below, self._recent] if self._recent.known or not self._below else self._below

    def _read(self, function: Callable[[], _T]) -> _T:
        with self._journal.mutex:
            self._journal.look()
            self._refresh()
            try:
                return function()
            except Damage as exc:
                return self._after(exc, function)

    def _after(self, damage: Damage, function: Callable[[], _T]) -> _T:
        """The answer once the segments are mended."""
        with self._journal.mutex:
            self._mend(damage)
            try:
                return function()
            except Damage as exc:  # what was written a moment ago: this is no disk to work with
                raise self._journal.corrupt(str(exc)) from None

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, type: str, id: str, manager: str) -> None:
        """Say who manages a resource. It survives SIGKILL when this returns."""
        payload = encode("P" + join((type, id, manager)))
        if len(payload) > BATCH_BYTES:
            self.put_many([(type, id, manager)])
            return
        journal = self._journal
        self._refresh()  # what takes time is done before others have to wait
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
        """Many at once, all or nothing. Of two for one resource the later counts."""
        entries = entries if isinstance(entries, list | tuple) else list(entries)
        if not entries:
            return
        types, ids, managers = zip(*entries, strict=True)
        flat = [""] * (3 * len(entries))
        flat[0::3], flat[1::3], flat[2::3] = types, ids, managers
        payload = encode("P" + join(flat))
        if len(entries) > BATCH or len(payload) > BATCH_BYTES:
            self._put_above(Recent(zip(types, ids, managers, strict=True)).known)
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
        """A batch as a segment of its own. It is made while others go on, and counts from when the log names it."""
        self._refresh()  # the log is there before the first segment, which without a log would be damage
        name = segment_name()
        _build(self.path / name, None, entries)
        self._flush(wait=True, above=(name, entries))
        self._settle()

    def delete(self, type: str, id: str) -> bool:
        """Forget a resource; whether it was there."""
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
        """Write one if it is time. The lock is held, and ``_recent`` is all that the log says.

        It is at most half as long as the log, which it therefore never makes longer than a writer lets it become.
        """
        if self._journal.number % CHECKPOINT_WRITES == 0 and self._journal.end < LOG_BYTES // 2:
            with contextlib.suppress(OSError):  # the write itself is done
                self._journal.append(checkpoint(self._recent.known))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with self._journal.rewriting(wait=True), super().held():  # as one write may be a batch
            yield

    # --- merging ---------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Make one segment of all. Readers and writers go on meanwhile; what is needed of it happens by itself."""
        self._flush(wait=True)
        self._merge(len, wait=True)

    def maintain(self) -> None:
        """Merge what is worth it, if nobody else is at it."""
        self._merge(due, wait=False)

    def _grow(self) -> None:
        """Write the log into a segment when it has become long."""
        journal = self._journal
        length = max(journal.end / LOG_BYTES, journal.number / LOG_WRITES, self._recent.count / LOG_ENTRIES)
        if length < 1:
            return
        try:
            self._flush(wait=length > PATIENCE)
            self._settle()
        except OSError as exc:  # the write itself is done
            journal.note(f"the log cannot be merged: {exc.strerror or exc}")

    def _settle(self) -> None:
        """Have segments merged when they have become many."""
        if self._journal.is_rewriting():  # who merges may wait for us
            return
        if len(self._journal.segments) >= MOST:
            self._merge(due, wait=True)
            return
        many = len(self._journal.segments) > FEW and self._claims.others() is None
        if many and not self._child.start("resources", self.path):
            self._merge(due, wait=False)

    def _flush(self, *, wait: bool, above: _Batch | None = None) -> None:
        """Write the log into a segment, and put that of a batch on it."""
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
            made = [self._write(segments[len(kept) :], changes, lowest=not kept)] if changes else []
            new, translate = [*kept, *made], None
            if above is not None:
                name, batch = above
                new.append(name)
                translate = partial(without, batch)
                made.append(name)
                if not (self.path / name).exists():  # somebody began anew meanwhile, and tidied up
                    _build(self.path / name, None, batch)
            self._replace(new, end, number, made, translate)
            for name in old:
                (self.path / name).unlink(missing_ok=True)

    def _joining(self, segments: Sequence[Layer], changes: int) -> int:
        """How many of the newest segments are merged with the log: none as long as there are few."""
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
        """Make one of so many of the newest segments as ``choose`` says, given how much is in each."""
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
                if names[at : at + len(old)] != old:  # filled anew meanwhile, or mended
                    (self.path / new).unlink(missing_ok=True)
                    return
                self._replace([*names[:at], new, *names[at + len(old) :]], journal.start, 0, [new])
                self._buried = sources
                journal.sweep(old, keep=journal.segments)

    def _write(self, segments: Sequence[Layer], changes: ByType, *, lowest: bool) -> str:
        """A new segment of these and of what was written since; its name."""
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
        made: Sequence[str],
        translate: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Put a log of these segments in place, of which some were ``made`` for it, and go over to it."""
        try:
            self._journal.replace(segments, end, number, translate=translate, take=self._take)
        except Exception:
            for name in made:
                (self.path / name).unlink(missing_ok=True)
            raise
        self._refresh()

    def _mend(self, damage: Damage) -> None:
        """Take the entries of damaged segments from the view that is sound, and write these anew.

        Raises IndexCorrupt when neither view is.
        """
        with self._journal.mutex:
            saved: list[Layer] = []
            for layer in self._below:
                if isinstance(layer, Segment) and layer.problems():
                    try:
                        saved.append(layer.salvage())
                    except Damage as exc:
                        raise self._journal.corrupt(str(exc)) from None
                    self._journal.note(f"{damage}; mended from the other view")
            by_name = {layer.name: layer for layer in saved}
            self._use([by_name.get(layer.name, layer) for layer in self._below], self._recent)
        try:
            for layer in saved:
                self._rewrite(layer)
        except OSError:
            pass  # what is in memory is right; the next one to look mends again

    def _rewrite(self, layer: Layer) -> None:
        """Write a segment anew, unless another one is at work: then that, or the next to look, does it."""
        with self._journal.rewriting(wait=False) as ours:
            names = self._journal.segments
            if ours and layer.name in names:
                new = self._write([layer], {}, lowest=layer.name == names[0])
                segments = [new if name == layer.name else name for name in names]
                self._replace(segments, self._journal.start, 0, [new])
                self._journal.sweep([layer.name], keep=segments)

    # --- state -----------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """See every write that returned before."""
        journal = self._journal
        if journal.fd >= 0 and os.lseek(journal.fd, 0, os.SEEK_END) == journal.settled:
            return
        with journal.mutex:
            if not journal.poll(self._take):
                journal.load(self._begin, self._first)

    def _begin(self, segments: list[str]) -> None:
        """Start over from these segments."""
        known = {layer.name: layer for layer in self._below if isinstance(layer, Segment)}
        written = self._written
        self._below = [known.get(name) or Segment(self._journal.file(name), written.get(name)) for name in segments]
        written.clear()
        self._recent = Recent()

    def _first(self, payloads: list[bytes]) -> None:
        self._take(payloads)
        self._use(self._below, self._recent)

    def _use(self, segments: list[Layer], recent: Recent) -> None:
        self._below = segments
        self._state = (recent.known, tuple(reversed(segments)), {})

    def _take(self, payloads: list[bytes]) -> None:
        self._recent.add(items_of(payloads))

    # --- the rest --------------------------------------------------------------------------------------------------

    def _segment_problems(self) -> list[str]:
        return [text for layer in self._below if isinstance(layer, Segment) for text in layer.problems()]

    def refill(self, source: Callable[[], Iterable[Triple]], instead: tuple[int, int] | None) -> None:
        """Begin anew with these entries, all at once for everybody: writers wait until it is done.

        ``instead`` is the ``place`` of the log that is to go: nothing is done when somebody else was first. Of two
        entries for one resource the later counts.
        """

        def fill(made: list[str]) -> None:
            entries = Recent(source()).known
            if entries:
                made.append(segment_name())
                _build(self.path / made[0], None, entries)
            self._journal.reset(made)

        self._anew(instead, fill, waiting=True)

    def close(self) -> None:
        super().close()
        self._buried = []
        self._recent = Recent()
        self._use([], self._recent)


def _build(path: Path, base: Segment | None, entries: ByType, *, lowest: bool = True) -> None:
    from pushsalt.index import build  # which readers do without

    build.merge(path, base, entries, lowest=lowest)
