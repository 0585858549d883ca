"""The runtime on the controller: its name, its bytes, and the record of the runtime on each target."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pushsalt.bundle import pack, shim
from pushsalt.bundle.contents import WORDS
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
    """The archives, the ``programs`` that start them, and the keys of the images.

    ``sha`` is a digest of the whole runtime; ``sizes``: {SHA-256 of a first archive: its size}.
    Made once per process by ``load``; the archives themselves are read or built only when a target lacks them.
    """

    def __init__(
        self,
        firsts: Mapping[str, tuple[str, int]],
        programs: Sequence[str],
        secret: bytes,
        bank: Bank | None,
        root: Path,
    ) -> None:
        self.sizes = dict(firsts.values())
        self.sha = hashlib.sha256(" ".join(self.sizes).encode()).hexdigest()
        self.programs = programs
        self._firsts = firsts
        self._secret = secret
        self._bank = bank
        self._root = root
        self._memory: dict[str, Met | None] = {}

    @classmethod
    def load(cls, cache_dir: Path | None, root: Path = pack.THIN) -> Runtime:
        """The runtime of this installation. Without a usable cache it is packed each time, and images are not used."""
        bank = _trusted(cache_dir)
        mark = pack.fingerprint(root)
        stored = bank.get(f"packed {mark}") if bank else None
        if not isinstance(stored, dict) or "firsts" not in stored:
            built = pack.build(root)
            firsts = {family: [archive.sha, archive.size] for family, archive in built.firsts.items()}
            programs = [shim.strip(root / name) for name in shim.PROGRAMS]
            stored = {"firsts": firsts, "programs": programs}
            runtime = cls(_pairs(firsts), programs, _secret(bank), bank, root)
            runtime._keep(built)
            if bank:
                bank.put(f"packed {mark}", stored)
            return runtime
        return cls(_pairs(stored["firsts"]), stored["programs"], _secret(bank), bank, root)

    def _keep(self, built: pack.Built) -> None:
        """Keep the archives in the cache."""
        if self._bank:
            self._bank.put(f"firsts {self.sha}", {archive.sha: archive.data for archive in built.firsts.values()})
            self._bank.put(f"packs {self.sha}", dict(built.packs))

    def _kept(self, kind: str) -> dict[str, bytes]:
        stored = self._bank.get(f"{kind} {self.sha}") if self._bank else None
        if isinstance(stored, dict):
            return stored
        built = pack.build(self._root)
        self._keep(built)
        return {archive.sha: archive.data for archive in built.firsts.values()} if kind == "firsts" else {**built.packs}

    @cached_property
    def _data(self) -> dict[str, bytes]:
        return self._kept("firsts")

    @cached_property
    def _packs(self) -> dict[str, bytes]:
        return self._kept("packs")

    def archive(self, sha: str) -> bytes:
        """A first archive as it travels, zlib-compressed. Raises KeyError for one that does not exist."""
        return self._data[sha]

    def pack(self, digest: str) -> Blob:
        """A pack (pushsalt.bundle.contents) by the SHA-256 of its compressed form. Raises KeyError."""
        data = self._packs[digest]
        return Blob(digest, len(data), data=data)

    def wanted(self, target: Target, user: str | None) -> dict[str, object]:
        """The parameters of the first stage that say which archive the target has, or may choose from.

        A target that is not known has a table of ``(SHA-256, size)``, and of the words of its system's name that choose
        one (thin/coldstart.py).
        """
        met = self.met(target, user)
        if met is not None:
            return {"sha": met.sha, "size": self.sizes[met.sha]}
        families = {family: number for number, family in enumerate(self._firsts)}
        words = {word: families[family] for word, family in WORDS.items() if family in families}
        return {"sha": "", "size": 0, "archives": list(self._firsts.values()), "words": words}

    def key(self, target_id: str) -> bytes:
        """The key that authenticates compiled code on that target. It is sent to the target, and never stored there."""
        return hmac.digest(self._secret, f"{target_id}\0{self.sha}".encode("utf-8", "surrogateescape"), "sha256")

    def use_secret(self, secret: bytes) -> None:
        """Make the keys from this secret instead of that of the cache: several machines find each other's runs then."""
        self._secret = secret

    def met(self, target: Target, user: str | None) -> Met | None:
        """The record of the target's last session; None if it had another runtime then."""
        place = _place(target, user)
        if place not in self._memory:
            self._memory[place] = self._recall(place)
        return self._memory[place]

    def _recall(self, place: str) -> Met | None:
        kept: Any = self._bank.get(place) if self._bank else None
        if not isinstance(kept, dict) or kept.get("sha") not in self.sizes:
            return None
        return Met(kept["sha"], str(kept.get("python", "")), str(kept.get("exe", "")))

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


def _pairs(firsts: Mapping[str, list[Any]]) -> dict[str, tuple[str, int]]:
    """{family: (SHA-256, size)} of first archives."""
    return {family: (str(sha), int(size)) for family, (sha, size) in firsts.items()}


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
