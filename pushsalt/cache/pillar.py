"""Pillar between runs: a sealed entry for each target, and an image of all (``pillarimage``) that answers terms.

Secrets that a target's pillar had and has no more are kept as well, sealed: its files have them until the new ones are
there, and diffs and backups of files after that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.cache.sealed import SealedBank
from pushsalt.cache.store import HEAD, Bank, Stamp, file_bytes, stamp
from thin import wire

if TYPE_CHECKING:
    from pushsalt.index.view import View


#: So many former secrets are kept of a target, the newest, if they are no longer than that.
FORMER: Final = 100
LONGEST: Final = 16 * 1024


class PillarBank(SealedBank):
    """``SealedBank`` with the image beside it, which is as secret, and gone when an entry is deleted."""

    def __init__(self, root: Path, name: str, key: Path | None) -> None:
        super().__init__(root, name, key)
        self.images = SealedBank(root, f"{name}-index", key)
        self._former = SealedBank(root, f"{name}-former", key)
        #: the file of an entry, as it was when it was read, and a digest of what was in it
        self._seen: dict[str, tuple[Stamp, bytes]] = {}
        self._packed: tuple[Any, bytes] = None, b""

    def bytes_of(self, key: str) -> bytes | None:
        """The decrypted bytes of an entry: equal bytes are equal pillars, so nobody has to decode them to compare."""
        before = stamp(self._file(key))
        data = self._plain(key, Bank.get(self, key))
        if before is not None and data is not None:
            self._seen[key] = before, _digest(data)
        return data

    def renew(self, key: str, pillar: Any) -> bool:
        """Whether the entry, as ``bytes_of`` has read it, is this pillar and nobody has changed it since.

        Its age begins anew then; nothing is opened.
        """
        seen = self._seen.get(key)
        if seen is None or stamp(self._file(key)) != seen[0]:
            return False
        if self._packed[0] is not pillar:  # alike targets share one pillar
            self._packed = pillar, _digest(wire.pack({"value": pillar}))
        if self._packed[1] != seen[1]:
            return False
        self._touch(key)
        del self._seen[key]
        return True

    def former(self, key: str) -> list[str]:
        """Secrets that the pillar of a target had."""
        return list(self._former.get(key) or ())

    def add_former(self, key: str, secrets: Iterable[str]) -> None:
        """Keep what was secret in the pillar of a target, and is not there any more."""
        known = dict.fromkeys(sorted(text for text in secrets if len(text) <= LONGEST))
        self._former.put(key, list({**known, **dict.fromkeys(self.former(key))})[:FORMER])

    def view(self, *, look: bool = False) -> View | None:
        """All that is kept now, for any number of terms; None where nothing can be opened.

        When entries were written is as it was at the last look at their files, at the latest now if ``look``: one that
        was kept anew with the same value may be younger.
        """
        if self._cipher is None:
            return None
        from pushsalt.cache import pillarimage

        return pillarimage.view(self, look)

    def open_file(self, path: Path) -> tuple[str, Any, bytes]:
        """Key, value (None for what is no sound entry) and head of a file."""
        data = file_bytes(path) or b""
        entry = self._parsed(path, data or None)
        key = entry.get("key") if entry is not None else None
        if entry is None or not isinstance(key, str):
            return "", None, b""
        return key, self._opened(key, entry.get("value")), data[:HEAD]

    def forget_image(self) -> None:
        """Have it made anew when it is needed."""
        self.images.clear()

    def delete(self, key: str) -> bool:
        found = super().delete(key)
        self._former.delete(key)
        if found:
            self.forget_image()
        return found

    def _remove(self, chosen: Callable[[Path], bool]) -> int:
        removed = super()._remove(chosen)
        if removed:
            self.forget_image()
        return removed

    def clear(self) -> int:
        self._former.clear()
        return super().clear()

    def sweep(self, before: float) -> int:
        return super().sweep(before) + self._former.sweep(before)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
