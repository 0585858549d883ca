"""Grains between runs: a file for each id, and an index of all of them that answers target terms.

The files are what is kept; the index is made from them again whenever it is not there or damaged. Both change together,
under the lock of the index, so that of several controllers no one's older grains lie over another's newer ones. What
a controller was killed at is said by its ``Intents``, and put right by the next one that opens the index.
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

#: Writes at a time, of which each waits for the disk most of the time.
_WRITERS: Final = 8
#: How often in a row an index is made anew before the disk is no place for one.
_TRIES: Final = 3
#: Seconds before a crash of the machine that the index may have lost.
_UNSYNCED: Final = 90


class GrainBank(Bank):
    """``Bank`` with an index beside it. Several threads and controllers may use it at once."""

    def __init__(self, root: Path, name: str = "grains") -> None:
        super().__init__(root, name)
        self.index_path = root / f"{name}-index"
        self._index: GrainIndex | None = None
        self._usable = True
        self._opening = threading.RLock()
        self._writing = threading.Lock()
        self._queueing = threading.Lock()
        self._intents = Intents(self.index_path)
        #: what waits for the one who writes; targets that finish together are one write
        self._waiting: list[tuple[str, Any, Staged]] = []

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(self, key: str, value: Any) -> bool:
        return self.put_many({key: value})

    def put_many(self, entries: Mapping[str, Any]) -> bool:
        """Keep the grains of several ids, with one write to the index."""
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
            found = {key: stage(key) for key in entries}
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(_WRITERS) as pool:
                found = dict(zip(entries, pool.map(stage, entries), strict=True))
        return {key: one for key, one in found.items() if one is not None}

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
        found = False

        def remove() -> None:
            nonlocal found
            found = super(GrainBank, self).delete(key) or found

        index = self._open()
        if index is None:
            self._note({key: ""})
            remove()
            return found
        known = self._change(index, {key: ""}, lambda: index.delete(key, within=remove), remove)
        return known or found or super().delete(key)

    def clear(self) -> int:
        count = 0

        def remove(taken: object) -> list[Any]:
            nonlocal count
            count = super(GrainBank, self).clear()
            return []

        index = self._open()
        if index is None or not self._change(index, None, lambda: index.refill(lambda: (), remove, index.place())):
            self._note(None)
            count += super().clear()
        return count

    def sweep(self, before: float) -> int:
        """As ``Bank``; what is damaged is known no longer, and what the index has besides goes."""
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
        """Change files and index together; the answer, or True for None. False when the index is not up to it.

        ``files`` is the part of the change that is about files, which may be done twice. Where damage came between,
        others may have written since, so the index is told what the files say then.
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
        """What the index says of these keys, of all for None, may not be what the files say, until ``Intents.end``.

        Besides each key: the file that is to be its entry. False where that cannot be noted.
        """
        if not self.index_path.is_dir():
            return False
        try:
            self._intents.begin(keys)
            return True
        except OSError as exc:
            log.debug("%s: nothing can be noted: %s", self.path.name, exc)
            from pushsalt.index.grains import GrainIndex

            with contextlib.suppress(OSError, IndexCorrupt), GrainIndex(self.index_path) as index:
                index.spoil()
            return False

    # --- reading -----------------------------------------------------------------------------------------------------

    def view(self) -> View | None:
        """What is known now, for any number of terms; None where the index cannot be used."""
        index = self._open()
        if index is None:
            return None
        return self._view(index)

    def damaged(self, exc: Exception) -> View | None:
        """To be called when a view met damaged bytes: another view, made from the files, or None."""
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
        """As ``Bank``; what is wrong with the bytes of the index, too."""
        found = super().problems()
        if self.index_path.exists():
            from pushsalt.index.grains import GrainIndex

            try:
                with GrainIndex(self.index_path) as index:  # another one, so that it is seen before it is mended
                    found += [f"index: {text}" for text in index.verify()]
            except OSError as exc:
                found.append(f"index: {exc}")
        return found

    def close(self) -> None:
        """Let go of the index."""
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
        """What killed controllers, or a crash of the machine, left half done. Raises IndexCorrupt, OSError."""
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
        """A batch of which some files may be in place: this one too, unless another one was put there later."""
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
            pass  # it is in place

    def _settle(self, index: GrainIndex, keys: Iterable[str]) -> None:
        """Have the index say of these keys what the files do; nobody else writes meanwhile."""
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
        """The same for keys of which only one of both knows, and for files of since then."""
        with index.held():
            known = {self._file(id).name: id for id in index.ids()}
            files = {path.name: path for path in self._files()}
            keys = [id for name, id in known.items() if name not in files]
            for name, path in files.items():
                state = stamp(path)
                if name not in known or (state is not None and state[1] / 1e9 >= since):
                    entry = self._read(path)
                    if entry is not None and isinstance(entry.get("key"), str):
                        keys.append(entry["key"])
                    elif name in known:
                        keys.append(known[name])
            self._settle(index, keys)

    def _rebuild(self, index: GrainIndex, exc: Exception) -> bool:
        """Make the index anew from the files; whether that went well."""
        with self._opening:
            if not self._usable:
                return False
            if isinstance(exc, OSError):
                return self._give_up(exc)
            log.warning("the index of %s is damaged and made anew: %s", self.path.name, exc)
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

            def differing(taken: dict[str, object]) -> Iterator[tuple[str, dict[str, Any] | None, float]]:
                """Now that nobody writes; batches of the dead are finished, and forgotten when the index has them."""
                entries, _ = until_done.enter_context(self._intents.dead())
                for key, name in entries:
                    self._finish(self._file(key), name)
                return self._differing(taken)

            index.refill(self._source, differing, index.place())

    def _source(self) -> Iterator[tuple[str, dict[str, Any], float, object]]:
        """All entries, with what tells whether they have changed."""
        for path in self._files():
            state = stamp(path)
            entry = self._read(path)
            if entry is not None and state is not None and isinstance(entry.get("value"), dict):
                yield str(entry.get("key")), entry["value"], state[1] / 1e9, (path.name, state)

    def _differing(self, taken: dict[str, object]) -> Iterator[tuple[str, dict[str, Any] | None, float]]:
        """What is otherwise than what was taken."""
        states = {path.name: stamp(path) for path in self._files()}
        for key, state in taken.items():
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
        self._complain("the index of %s cannot be used (%s); each id is looked at instead", self.path.name, exc)
        return False
