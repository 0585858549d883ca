"""The grain cache: a file for each id, and an index of all of them that answers target terms.

The index is rebuilt from the files if it is missing or damaged. Both are changed together, under the lock of the index,
so that a controller cannot overwrite newer grains of another one. If a controller is killed during a change, its
``Intents`` list the affected keys, and the next controller that opens the index completes the change.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.cache.intents import Intents
from pushsalt.cache.store import Bank, Staged, stamp
from pushsalt.errors import IndexCorrupt

if TYPE_CHECKING:
    from pushsalt.index.grains import GrainIndex
    from pushsalt.index.view import View

log = logging.getLogger(__name__)

#: Parallel writes; each waits for the disk most of the time.
_WRITERS: Final = 8
#: Number of consecutive rebuilds of an index after which the disk counts as unusable.
_TRIES: Final = 3
#: Seconds before a crash of the machine whose writes the index may lose.
_UNSYNCED: Final = 90


def _lasting(grains: Any) -> Any:
    """Grains without ``pid``, that of a process that has ended: with it, no entry would equal the one before, and each
    would be written and synced again.
    """
    return {name: value for name, value in grains.items() if name != "pid"} if isinstance(grains, dict) else grains


class GrainBank(Bank):
    """``Bank`` with an index. Safe for concurrent threads and controllers."""

    def __init__(self, root: Path, name: str = "grains") -> None:
        super().__init__(root, name)
        self.index_path = root / f"{name}-index"
        self._index: GrainIndex | None = None
        self._usable = True
        self._opening = threading.RLock()
        self._writing = threading.Lock()
        self._queueing = threading.Lock()
        self._intents = Intents(self.index_path)
        #: entries that wait for the writing thread, which writes all of them together
        self._waiting: list[tuple[str, Any, Staged]] = []

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(self, key: str, value: Any) -> bool:
        return self.put_many({key: value})

    def put_many(self, entries: Mapping[str, Any]) -> bool:
        """Store the grains of several ids, without their ``pid``, with one write to the index."""
        entries = {key: _lasting(value) for key, value in entries.items()}
        index = self._open()
        staged = self._all_staged(entries)
        if index is None:
            self._note(dict.fromkeys(staged, ""))
            kept = [self._commit(one) for one in staged.values()]
        else:
            with self._queueing:
                self._waiting += [(key, entries[key], one) for key, one in staged.items()]
            self._flush(index)
            kept = [one.done for one in staged.values()]
        return len(staged) == len(entries) and all(kept)

    def _all_staged(self, entries: Mapping[str, Any]) -> dict[str, Staged]:
        def stage(key: str) -> Staged | None:
            try:
                return self._stage(key, entries[key])
            except OSError as exc:
                self._complain("cannot keep %s in the cache: %s", self.path.name, exc)
                return None

        if len(entries) <= _WRITERS:
            staged = {key: stage(key) for key in entries}
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(_WRITERS) as pool:
                staged = dict(zip(entries, pool.map(stage, entries), strict=True))
        return {key: one for key, one in staged.items() if one is not None}

    def _flush(self, index: GrainIndex) -> None:
        with self._writing:
            with self._queueing:
                batch, self._waiting = self._waiting, []
            if not batch:
                return
            grains = {key: value if isinstance(value, dict) else {} for key, value, _ in batch}
            every = [one for _, _, one in batch]

            def commit() -> None:
                for one in every:
                    one.commit()

            names = {key: one.name for key, _, one in batch}
            if not self._change(index, names, lambda: index.put_many(grains.items(), within=commit), commit):
                for one in every:
                    self._commit(one)

    def _commit(self, one: Staged) -> bool:
        try:
            one.commit()
        except OSError as exc:
            one.discard()
            self._complain("cannot keep %s in the cache: %s", self.path.name, exc)
        return one.done

    def delete(self, key: str) -> bool:
        existed = False

        def remove() -> None:
            nonlocal existed
            existed = super(GrainBank, self).delete(key) or existed

        index = self._open()
        if index is None:
            self._note({key: ""})
            remove()
            return existed
        was_indexed = self._change(index, {key: ""}, lambda: index.delete(key, within=remove), remove)
        return was_indexed or existed or super().delete(key)

    def clear(self) -> int:
        count = 0

        def remove(staged: object) -> list[Any]:
            nonlocal count
            count = super(GrainBank, self).clear()
            return []

        index = self._open()
        if index is None or not self._change(index, None, lambda: index.refill(lambda: (), remove, index.place())):
            self._note(None)
            count += super().clear()
        return count

    def sweep(self, before: float) -> int:
        """As ``Bank``; ids of damaged entries, and ids without an entry, are also removed from the index."""
        index = self._open()
        removed = super().sweep(before)
        if index is not None:
            self._change(index, None, lambda: self._compare(index, float("inf")))
        return removed

    def _change(
        self,
        index: GrainIndex,
        keys: Mapping[str, str] | None,
        change: Callable[[], bool | None],
        files: Callable[[], None] | None = None,
    ) -> bool:
        """Change files and index together. Returns the result of ``change``, or True if that is None; False if the
        index cannot be used.

        ``files`` is the part of the change that concerns files; it may be done twice. If the index is found to be
        damaged during the change, it is rebuilt from the files afterwards, since other controllers may have written
        meanwhile.
        """
        noted = self._note(keys)

        def again() -> bool | None:
            if files is None or keys is None:
                return change()
            with index.held():
                files()
                self._settle(index, keys)
            return None

        try:
            done = self._tried(index, change, again)
        except (IndexCorrupt, OSError) as exc:
            return self._give_up(exc)
        if noted:
            self._intents.end()
        return done is not False

    def _tried(
        self, index: GrainIndex, change: Callable[[], bool | None], again: Callable[[], bool | None]
    ) -> bool | None:
        for attempt in range(_TRIES):
            try:
                return again() if attempt else change()
            except IndexCorrupt as exc:
                if not self._rebuild(index, exc):
                    raise
        return again()

    def _note(self, keys: Mapping[str, str] | None) -> bool:
        """Record that index and files may differ for these keys (None for all), until ``Intents.end``.

        ``keys``: key -> name of the file that will be its entry. False if that cannot be recorded.
        """
        if not self.index_path.is_dir():
            return False
        try:
            self._intents.begin(keys)
            return True
        except OSError as exc:
            log.debug("%s: intents cannot be written: %s", self.path.name, exc)
            from pushsalt.index.grains import GrainIndex

            with contextlib.suppress(OSError, IndexCorrupt), GrainIndex(self.index_path) as index:
                index.spoil()
            return False

    # --- reading -----------------------------------------------------------------------------------------------------

    def view(self) -> View | None:
        """A snapshot, for any number of terms; None if the index cannot be used."""
        index = self._open()
        if index is None:
            return None
        return self._view(index)

    def damaged(self, exc: Exception) -> View | None:
        """Rebuild the index after a view has raised IndexCorrupt. Returns a new view, or None."""
        index = self._open()
        return self._view(index) if index is not None and self._rebuild(index, exc) else None

    def _view(self, index: GrainIndex) -> View | None:
        for _ in range(_TRIES):
            try:
                return index.view()
            except (IndexCorrupt, OSError) as exc:
                if not self._rebuild(index, exc):
                    return None
        return None

    def problems(self) -> list[str]:
        """As ``Bank``, with the damage of the index."""
        problems = super().problems()
        if self.index_path.exists():
            from pushsalt.index.grains import GrainIndex

            try:
                with GrainIndex(self.index_path) as index:  # a new object, to see damage before it is repaired
                    problems += [f"index: {text}" for text in index.verify()]
            except OSError as exc:
                problems.append(f"index: {exc}")
        return problems

    def close(self) -> None:
        """Close the index."""
        with self._opening:
            if self._index is not None:
                self._index.close()
                self._index = None
            self._intents.close()

    # --- the index ---------------------------------------------------------------------------------------------------

    def _open(self) -> GrainIndex | None:
        with self._opening:
            if self._index is None and self._usable:
                from pushsalt.index.grains import GrainIndex

                try:
                    self._index = index = GrainIndex(self.index_path)
                    if index.place() is None:
                        self._fill(index)
                    self._put_right(index)
                except IndexCorrupt as exc:
                    self._rebuild(index, exc)
                except OSError as exc:
                    self._give_up(exc)
            return self._index if self._usable else None

    def _put_right(self, index: GrainIndex) -> None:
        """Complete changes that a killed controller or a crash has interrupted. Raises IndexCorrupt, OSError."""
        crashed = index.crashed()
        with self._intents.dead() as (entries, all_of_them):
            if not entries and not all_of_them and crashed is None:
                return
            with index.held():
                for key, name in entries:
                    self._finish(self._file(key), name)
                self._settle(index, [key for key, _ in entries])
                if all_of_them or crashed is not None:
                    self._compare(index, float("-inf") if all_of_them or not crashed else crashed - _UNSYNCED)

    def _finish(self, path: Path, name: str) -> None:
        """Move a file of an interrupted batch into place, unless a later write has replaced the entry."""
        aside = self.path / name
        if not name.startswith(f".{path.name}."):
            return
        try:
            begun = aside.lstat().st_ctime_ns
            if path.exists() and path.lstat().st_ctime_ns >= begun:
                aside.unlink()
            else:
                aside.replace(path)
        except FileNotFoundError:
            pass  # it was moved already

    def _settle(self, index: GrainIndex, keys: Iterable[str]) -> None:
        """Update the index for these keys from the files; the lock is held."""
        by_time: dict[float, list[tuple[str, Any]]] = {}
        for key in dict.fromkeys(keys):
            value, seen = self.get(key), self.written(key)
            if isinstance(value, dict) and seen is not None:
                by_time.setdefault(seen // 60 * 60, []).append((key, value))
            else:
                index.delete(key)
        for seen, entries in by_time.items():
            index.put_many(entries, seen=seen)

    def _compare(self, index: GrainIndex, since: float) -> None:
        """As ``_settle``, for keys that only the index or only the files have, and for files newer than ``since``."""
        with index.held():
            indexed = {self._file(id).name: id for id in index.ids()}
            files = {path.name: path for path in self._files()}
            keys = [id for name, id in indexed.items() if name not in files]
            for name, path in files.items():
                state = stamp(path)
                if name not in indexed or (state is not None and state[1] / 1e9 >= since):
                    entry = self._read(path)
                    if entry is not None and isinstance(entry.get("key"), str):
                        keys.append(entry["key"])
                    elif name in indexed:
                        keys.append(indexed[name])
            self._settle(index, keys)

    def _rebuild(self, index: GrainIndex, exc: Exception) -> bool:
        """Rebuild the index from the files; whether that succeeded."""
        with self._opening:
            if not self._usable:
                return False
            if isinstance(exc, OSError):
                return self._give_up(exc)
            log.warning("the index of %s is damaged and is rebuilt: %s", self.path.name, exc)
            for last in (False, True):
                try:
                    self._fill(index)
                    break
                except IndexCorrupt as again:
                    if last:
                        return self._give_up(again)
                except OSError as again:
                    return self._give_up(again)
        return True

    def _fill(self, index: GrainIndex) -> None:
        with contextlib.ExitStack() as until_done:

            def differing(staged: dict[str, object]) -> Iterator[tuple[str, dict[str, Any] | None, float]]:
                """The entries for the rebuild. Called under the lock: changes of dead processes are completed, then
                their intents removed.
                """
                entries, _ = until_done.enter_context(self._intents.dead())
                for key, name in entries:
                    self._finish(self._file(key), name)
                return self._differing(staged)

            index.refill(self._source, differing, index.place())

    def _source(self) -> Iterator[tuple[str, dict[str, Any], float, object]]:
        """All entries, with a stamp of their file that shows whether it has changed."""
        for path in self._files():
            state = stamp(path)
            entry = self._read(path)
            if entry is not None and state is not None and isinstance(entry.get("value"), dict):
                yield str(entry.get("key")), entry["value"], state[1] / 1e9, (path.name, state)

    def _differing(self, staged: dict[str, object]) -> Iterator[tuple[str, dict[str, Any] | None, float]]:
        """The entries whose stamps differ from ``taken``."""
        states = {path.name: stamp(path) for path in self._files()}
        for key, state in staged.items():
            name = self._file(key).name
            if state == (name, states.get(name)):
                del states[name]
            elif name not in states:
                yield key, None, 0.0
        for name, state_now in states.items():
            entry = self._read(self.path / name)
            if entry is not None and state_now is not None and isinstance(entry.get("value"), dict):
                yield str(entry.get("key")), entry["value"], state_now[1] / 1e9

    def _give_up(self, exc: Exception) -> bool:
        if not self._usable:
            return False
        self._usable = False
        self._complain("the index of %s cannot be used (%s); each entry is read instead", self.path.name, exc)
        return False
