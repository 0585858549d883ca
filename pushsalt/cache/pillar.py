"""The pillar cache: an encrypted entry for each target, and an image of all (``pillarimage``) that answers terms.

Former secrets of a target's pillar are also stored, encrypted: files on the target may contain them until the next run,
and diffs and backups of files after that. Secrets in ``--pillar`` of commands are stored too, for all targets together.
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


#: Number of former secrets that are stored for a target, the newest ones, and their maximum length.
FORMER: Final = 100
LONGEST: Final = 16 * 1024
#: The key in the bank of former secrets for secrets of ``--pillar``. No id has a line break.
_GIVEN: Final = "\n--pillar"


class PillarBank(SealedBank):
    """``SealedBank`` with an image, which is encrypted too, and removed when an entry is deleted."""

    def __init__(self, root: Path, name: str, key: Path | None) -> None:
        super().__init__(root, name, key)
        self.images = SealedBank(root, f"{name}-index", key)
        self._former = SealedBank(root, f"{name}-former", key)
        #: key -> stamp of the entry's file when it was read, and a digest of its content
        self._seen: dict[str, tuple[Stamp, bytes]] = {}
        self._packed: tuple[Any, bytes] = None, b""
        self._given: list[str] | None = None

    def bytes_of(self, key: str) -> bytes | None:
        """The decrypted bytes of an entry. Equal bytes mean equal pillars, so they can be compared undecoded."""
        before = stamp(self._file(key))
        data = self._plain(key, Bank.get(self, key))
        if before is not None and data is not None:
            self._seen[key] = before, _digest(data)
        return data

    def renew(self, key: str, pillar: Any) -> bool:
        """Whether the entry, as read by ``bytes_of``, equals this pillar and has not changed since.

        If so, it is touched, without decryption.
        """
        seen = self._seen.get(key)
        if seen is None or stamp(self._file(key)) != seen[0]:
            return False
        if self._packed[0] is not pillar:  # targets with equal pillars share one object
            self._packed = pillar, _digest(wire.pack({"value": pillar}))
        if self._packed[1] != seen[1]:
            return False
        self._touch(key)
        del self._seen[key]
        return True

    def former(self, key: str) -> list[str]:
        """Former secrets of the pillar of a target."""
        return list(self._former.get(key) or ())

    def add_former(self, key: str, secrets: Iterable[str]) -> None:
        """Store former secrets of the pillar of a target."""
        newest = dict.fromkeys(sorted(text for text in secrets if len(text) <= LONGEST))
        self._former.put(key, list({**newest, **dict.fromkeys(self.former(key))})[:FORMER])

    def given(self) -> list[str]:
        """The stored secrets of ``--pillar``."""
        if self._given is None:
            self._given = self.former(_GIVEN)
        return self._given

    def add_given(self, secrets: Iterable[str]) -> None:
        """Store secrets of a command's ``--pillar``."""
        new = set(secrets).difference(self.given())
        if new:
            self.add_former(_GIVEN, new)
            self._given = None

    def view(self, *, look: bool = False) -> View | None:
        """A snapshot, for any number of terms; None without a usable key or image.

        The times of entries are those of the last check of their files (``look``: the files are checked now). An entry
        that was written again with the same value may be newer.
        """
        if self._cipher is None:
            return None
        from pushsalt.cache import pillarimage

        return pillarimage.view(self, look)

    def open_file(self, path: Path) -> tuple[str, Any, bytes]:
        """(key, value, head) of a file; the value is None for an invalid entry."""
        data = file_bytes(path) or b""
        entry = self._parsed(path, data or None)
        key = entry.get("key") if entry is not None else None
        if entry is None or not isinstance(key, str):
            return "", None, b""
        return key, self._opened(key, entry.get("value")), data[:HEAD]

    def forget_image(self) -> None:
        """Remove the image; it is made again on demand."""
        self.images.clear()

    def delete(self, key: str) -> bool:
        existed = super().delete(key)
        self._former.delete(key)
        if existed:
            self.forget_image()
        return existed

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
