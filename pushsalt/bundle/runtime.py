"""The runtime on the controller: its name, its bytes, and the record of the runtime on each target."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pushsalt.bundle import pack, shim
from pushsalt.cache.store import Bank, private_dir
from pushsalt.model import Blob, Target

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Met:
    """The record of a target's last session: which runtime it has, and which Python."""

    sha: str
    python: str
    exe: str


class Runtime:
    """The archive by its SHA-256 (``sha``) and ``size``, the ``programs`` that start it, and the keys of the images.

    Made once per process by ``load``; the archives themselves are read or built only when a target lacks them.
    """

    def __init__(
        self, sha: str, size: int, more: str, programs: tuple[str, str], secret: bytes, bank: Bank | None, root: Path
    ) -> None:
        self.sha = sha
        self.size = size
        #: the digest of the other archive, as it is sent
        self.more_digest = more
        self.programs = programs
        self._secret = secret
        self._bank = bank
        self._root = root
        self._memory: dict[str, Met | None] = {}

    @classmethod
    def load(cls, cache_dir: Path | None, root: Path = pack.THIN) -> Runtime:
        """The runtime of this installation. Without a usable cache it is packed each time, and images are not used."""
        bank = _trusted(cache_dir)
        mark = pack.fingerprint(root)
        entry = bank.get(f"packed {mark}") if bank else None
        if not isinstance(entry, dict) or "more" not in entry:
            archive, more = pack.build(root)
            sha = hashlib.sha256(archive).hexdigest()
            programs = [shim.strip(root / name) for name in ("boot.py", "coldstart.py")]
            digest = hashlib.sha256(more).hexdigest()
            entry = {"sha": sha, "size": len(archive), "programs": programs, "more": digest}
            if bank:
                bank.put(f"archive {digest}", more)
                bank.put(f"archive {sha}", zlib.compress(archive, 9))
                bank.put(f"packed {mark}", entry)
        return cls(entry["sha"], entry["size"], entry["more"], tuple(entry["programs"]), _secret(bank), bank, root)

    @cached_property
    def archive(self) -> bytes:
        """The archive as it is sent, zlib-compressed."""
        kept = self._bank.get(f"archive {self.sha}") if self._bank else None
        return kept if isinstance(kept, bytes) else zlib.compress(pack.build(self._root)[0], 9)

    @cached_property
    def more(self) -> Blob:
        """The second archive, with the files that most runs do not need."""
        kept = self._bank.get(f"archive {self.more_digest}") if self._bank else None
        data = kept if isinstance(kept, bytes) else pack.build(self._root)[1]
        return Blob(self.more_digest, len(data), data=data)

    def key(self, target_id: str) -> bytes:
        """The key that authenticates compiled code on that target. It is sent to the target, and never stored there."""
        return hmac.digest(self._secret, f"{target_id}\0{self.sha}".encode("utf-8", "surrogateescape"), "sha256")

    def met(self, target: Target, user: str | None) -> Met | None:
        """The record of the target's last session; None if it had another runtime then."""
        place = _place(target, user)
        if place not in self._memory:
            self._memory[place] = self._recall(place)
        return self._memory[place]

    def _recall(self, place: str) -> Met | None:
        kept: Any = self._bank.get(place) if self._bank else None
        if not isinstance(kept, dict) or kept.get("sha") != self.sha:
            return None
        return Met(self.sha, str(kept.get("python", "")), str(kept.get("exe", "")))

    def remember(self, target: Target, user: str | None, met: Met | None) -> None:
        """Store the record of a target, or remove it if ``met`` is None. An unchanged record is not written."""
        if self._bank and met != self.met(target, user):
            place = _place(target, user)
            self._memory[place] = met
            if met is None:
                self._bank.delete(place)
            else:
                self._bank.put(place, {"sha": met.sha, "python": met.python, "exe": met.exe})


def _place(target: Target, user: str | None) -> str:
    """The key of a record: each user on a target has a separate private directory."""
    where = (target.place, target.transport, target.host, target.port)
    parts = (*where, target.user, user, target.thin_dir, target.python)
    return f"met {parts!r}"


def _trusted(cache_dir: Path | None) -> Bank | None:
    """The bank, if other users cannot write to it, since its content is executed as root on targets."""
    if cache_dir is None:
        return None
    try:
        private_dir(cache_dir)
        bank = Bank(cache_dir, "runtime")
        private_dir(bank.path)
    except OSError as exc:
        log.warning("the cache is not used for the runtime: %s", exc)
        return None
    return bank


def _secret(bank: Bank | None) -> bytes:
    kept = bank.get("secret") if bank else None
    if isinstance(kept, bytes) and len(kept) == 32:
        return kept
    fresh = secrets.token_bytes(32)
    if bank and bank.put("secret", fresh):
        kept = bank.get("secret")  # another process may have written it: use the stored one
    return kept if isinstance(kept, bytes) and len(kept) == 32 else fresh
