"""Grains between runs: a file for each id, and an index of all of them that answers target terms.

The files are what is kept; the index is made from them again whenever it is not there or damaged.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.cache.store import Bank
from pushsalt.errors import IndexCorrupt

if TYPE_CHECKING:
    from pushsalt.index.grains import GrainIndex
    from pushsalt.index.view import View

log = logging.getLogger(__name__)


class GrainBank(Bank):
    """``Bank`` with an index beside it. Several threads and controllers may use it at once."""

    def __init__(self, root: Path, name: str = "grains") -> None:
        super().__init__(root, name)
        self.index_path = root / f"{name}-index"
        self._index: GrainIndex | None = None
        self._usable = True
        self._opening = threading.Lock()
        self._writing = threading.Lock()
        #: what waits for the one who writes; targets that finish together are one write
        self._waiting: dict[str, Any] = {}

    def put(self, key: str, value: Any) -> bool:
        kept = super().put(key, value)
        if kept and isinstance(value, dict):
            self._waiting[key] = value
            self._flush()
        return kept

    def put_many(self, entries: dict[str, Any]) -> bool:
        """Keep the grains of several ids, with one write to the index."""
        kept = [id for id, value in entries.items() if super(GrainBank, self).put(id, value)]
        self._waiting.update({id: entries[id] for id in kept})
        self._flush()
        return len(kept) == len(entries)

    def delete(self, key: str) -> bool:
        found = super().delete(key)
        index = self._open()
        if index is not None:
            try:
                found = index.delete(key) or found
            except (IndexCorrupt, OSError) as exc:
                self._rebuild(index, exc)
        return found

    def clear(self) -> int:
        count = super().clear()
        index = self._open()
        if index is not None:
            try:
                index.reset()
            except OSError as exc:
                self._give_up(exc)
        return count

    def sweep(self, before: float) -> int:
        """As ``Bank``; ids that only the index knows go too."""
        removed = super().sweep(before)
        view = self.view()
        kept = set(self.keys())
        for id in view.ids(view.everything) if view is not None else ():
            if id not in kept:
                self.delete(id)
        return removed

    def view(self) -> View | None:
        """What is known now, for any number of terms; None where the index cannot be used."""
        index = self._open()
        if index is None:
            return None
        try:
            return index.view()
        except (IndexCorrupt, OSError) as exc:
            return index.view() if self._rebuild(index, exc) else None

    def damaged(self, exc: Exception) -> View | None:
        """To be called when a view met damaged bytes: another view, made from the files, or None."""
        index = self._open()
        return index.view() if index is not None and self._rebuild(index, exc) else None

    def close(self) -> None:
        """Let go of the index."""
        with self._opening:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _flush(self) -> None:
        index = self._open()
        if index is None:
            self._waiting.clear()
            return
        with self._writing:
            batch: dict[str, Any] = {}
            while self._waiting:
                key, value = self._waiting.popitem()
                batch.setdefault(key, value)
            if batch:
                try:
                    index.put_many(batch.items())
                except (IndexCorrupt, OSError) as exc:
                    self._rebuild(index, exc)

    def _open(self) -> GrainIndex | None:
        with self._opening:
            if self._index is None and self._usable:
                from pushsalt.index.grains import GrainIndex

                new = not self.index_path.exists()
                try:
                    self._index = GrainIndex(self.index_path)
                    if new:
                        self._fill(self._index)
                except (IndexCorrupt, OSError) as exc:
                    self._give_up(exc)
            return self._index if self._usable else None

    def _rebuild(self, index: GrainIndex, exc: Exception) -> bool:
        """Make the index anew from the files; whether that went well."""
        with self._opening:
            if not self._usable:
                return False
            if isinstance(exc, OSError):
                return self._give_up(exc)
            log.warning("the index of grains is damaged and made anew: %s", exc)
            try:
                index.reset()
                self._fill(index)
            except (IndexCorrupt, OSError) as again:
                return self._give_up(again)
        return True

    def _fill(self, index: GrainIndex) -> None:
        by_time: dict[float, list[tuple[str, Any]]] = {}
        for key, value, seen in self.entries():
            if isinstance(value, dict):
                by_time.setdefault(seen // 60 * 60, []).append((key, value))
        for seen, entries in by_time.items():
            index.put_many(entries, seen=seen)

    def _give_up(self, exc: Exception) -> bool:
        self._usable = False
        self._complain("the index of grains cannot be used (%s); each id is looked at instead", exc)
        return False
