"""Encrypted cache entries. The key is in the user's state folder, not in the cache.

Value of an entry: ``{"nonce": 12 bytes, "sealed": AES-256-GCM of a msgpack {"value": …}}``. The bank's name and the
entry's key are authenticated with it, so entries cannot be exchanged. The key: 32 bytes in
``$XDG_STATE_HOME/pushsalt/cache.key`` (0600). An entry that cannot be decrypted counts as missing, with one warning.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pushsalt.cache.store import Bank, private_dir
from thin import wire

log = logging.getLogger(__name__)

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


def key_path(env: Mapping[str, str] = os.environ) -> Path | None:
    """The path of the user's key; None without a home folder."""
    base, home = Path(env.get("XDG_STATE_HOME", "")), Path(env.get("HOME", ""))
    if not base.is_absolute():
        if not home.is_absolute():
            return None
        base = home / ".local/state"
    return base / "pushsalt" / "cache.key"


def user_key(path: Path) -> bytes:
    """The key, which is made at first use. Raises OSError if it cannot be stored, or if others can read it."""
    private_dir(path.parent)
    for _ in range(2):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            _make_key(path)
            continue
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise PermissionError(f"{path} must be your own file, and not readable by others (chmod 600)")
            key = stream.read(_KEY_BYTES + 1)
        if len(key) == _KEY_BYTES:
            return key
        raise PermissionError(f"{path} is not a key; remove it, and a new one is made")
    raise FileNotFoundError(f"{path} cannot be created")


def _make_key(path: Path) -> None:
    """Create the key file atomically: of two concurrent processes, one wins."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
            stream.flush()
            os.fsync(descriptor)
        os.link(aside, path)
    except FileExistsError:
        pass
    finally:
        aside.unlink(missing_ok=True)


class SealedBank(Bank):
    """``Bank`` with encrypted values. Without a key no value is stored or found."""

    def __init__(self, root: Path, name: str, key: Path | None) -> None:
        super().__init__(root, name)
        self._key = key

    def get(self, key: str) -> Any | None:
        return self._opened(key, super().get(key))

    def put(self, key: str, value: Any) -> bool:
        cipher = self._cipher
        if cipher is None:
            return False
        data = wire.pack({"value": value})
        if self.written(key) is not None and self._plain(key, super().get(key)) == data:
            self._touch(key)  # a new nonce would change the file
            return True
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return super().put(key, {"nonce": nonce, "sealed": cipher.encrypt(nonce, data, self._about(key))})

    def entries(self) -> Iterator[tuple[str, Any, float]]:
        for key, sealed, seen in super().entries():
            value = self._opened(key, sealed)
            if value is not None:
                yield key, value, seen

    def sweep(self, before: float) -> int:
        """As ``Bank``; also removes entries that cannot be decrypted with the user's key."""
        removed = super().sweep(before)
        if self._cipher is not None:
            sound = {key for key, _, _ in self.entries()}
            removed += sum(self.delete(key) for key, _, _ in list(super().entries()) if key not in sound)
        return removed

    def problems(self) -> list[str]:
        """As ``Bank``, with entries that cannot be decrypted with the user's key."""
        problems = super().problems()
        before, self._complained = self._complained, True
        try:
            if self._cipher is None:
                return problems
            for key, sealed, _ in super().entries():
                if self._opened(key, sealed) is None:
                    problems.append(f"the entry of {key} was sealed with another key")
        finally:
            self._complained = before
        return problems

    def _opened(self, key: str, sealed: Any) -> Any | None:
        data = self._plain(key, sealed)
        try:
            return wire.unpack(data)["value"] if data is not None else None
        except (ValueError, KeyError):
            return None

    def _plain(self, key: str, sealed: Any) -> bytes | None:
        if not isinstance(sealed, dict) or self._cipher is None:
            return None
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(self._cipher.decrypt(sealed["nonce"], sealed["sealed"], self._about(key)))
        except (InvalidTag, KeyError, TypeError, ValueError):
            self._complain("%s: the entry of %s was sealed with another key; it will be rebuilt", self.path.name, key)
            return None

    def _about(self, key: str) -> bytes:
        return f"{self.path.name}\0{key}".encode("utf-8", "surrogateescape")

    @cached_property
    def _cipher(self) -> Any:
        if self._key is None:
            return None
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(user_key(self._key))
        except OSError as exc:
            self._complain("%s is not kept between runs: %s", self.path.name, exc)
            return None
