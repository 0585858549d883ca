"""Messages that only one receiver can read and only one sender can have made.

A sealed message is an age file (X25519, ``planning/agefile.py``) with an Ed25519 signature (64 bytes) and the data in
it. The signature covers the receiver, the purpose and the data: a message cannot be forwarded to another receiver, nor
used for something else. The key that signs is not the one with which NATS is logged in to: a server chooses what that
one signs.

Public keys are a text of two lines, ``seal: age1…`` and ``sign: HEX``; private ones have ``identity:
AGE-SECRET-KEY-1…`` and ``signer: HEX``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from pushsalt.errors import UsageError
from pushsalt.planning import agefile
from pushsalt.workers.keys import CONTROLLER, PRIVATE, private_text, public_text

_LINE: Final = re.compile(r"(seal|sign|identity|signer): *(\S+) *")
_SIGNATURE: Final = 64


class NotAuthentic(UsageError):
    """A message cannot be opened: it is for another receiver, from another sender, or was altered."""


@dataclass(frozen=True)
class PublicKeys:
    """The public keys of a site or of a project's controllers. ``sign``: 32 bytes as hexadecimal text."""

    seal: str
    sign: str

    @classmethod
    def parse(cls, text: str, place: object) -> PublicKeys:
        """Raises UsageError; ``place`` names the file."""
        found = _lines(text)
        try:
            agefile.recipient_key(found.get("seal", ""))
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(found.get("sign", "")))
        except (UsageError, ValueError):
            raise UsageError(
                f"{place} has no public keys of `pushsalt worker init`", hint="copy the file again, or make new keys"
            ) from None
        return cls(found["seal"], found["sign"])

    def text(self, title: str) -> str:
        return f"# {title}\nseal: {self.seal}\nsign: {self.sign}\n"


@dataclass(frozen=True)
class PrivateKeys:
    """The private keys of a site or of a project's controllers. ``signer``: 32 bytes as hexadecimal text."""

    identity: str = field(repr=False)
    signer: str = field(repr=False)

    @classmethod
    def new(cls) -> PrivateKeys:
        return cls(agefile.identity_text(os.urandom(32)), os.urandom(32).hex())

    @classmethod
    def parse(cls, text: str, place: object) -> PrivateKeys:
        """Raises UsageError; ``place`` names the file."""
        found = _lines(text)
        try:
            keys = cls(found["identity"], found["signer"])
            agefile.recipient_key(keys.public.seal)
        except (KeyError, ValueError):
            raise UsageError(
                f"{place} has no private keys of `pushsalt worker init`", hint="make new keys, or restore the file"
            ) from None
        return keys

    def text(self) -> str:
        return f"# private: do not copy it elsewhere\nidentity: {self.identity}\nsigner: {self.signer}\n"

    @cached_property
    def public(self) -> PublicKeys:
        identity = agefile.identity_bytes(self.identity)
        if identity is None:
            raise ValueError("no identity of age")
        seal = X25519PrivateKey.from_private_bytes(identity).public_key().public_bytes_raw()
        return PublicKeys(agefile.recipient_text(seal), self._signer.public_key().public_bytes_raw().hex())

    @cached_property
    def _signer(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self.signer))

    def seal(self, to: PublicKeys, data: bytes, purpose: str) -> bytes:
        """``data`` signed by these keys and encrypted to ``to``."""
        signature = self._signer.sign(_signed(to, data, purpose))
        return agefile.encrypt(signature + data, [to.seal])

    def unseal(self, sender: PublicKeys, message: bytes, purpose: str) -> bytes:
        """The data of a message of ``sender`` for this receiver and purpose. Raises NotAuthentic."""
        hint = "the keys of sender and receiver do not fit: see docs/workers.md, rotation"
        try:
            opened = agefile.decrypt(message, [self.identity])
        except agefile.Unreadable as exc:
            raise NotAuthentic(f"a sealed message cannot be read: {exc}", hint=hint) from None
        signature, data = opened[:_SIGNATURE], opened[_SIGNATURE:]
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(sender.sign))
            key.verify(signature, _signed(self.public, data, purpose))
        except (InvalidSignature, ValueError):
            raise NotAuthentic("a sealed message is not signed by the expected sender", hint=hint) from None
        return data

    def derived(self, purpose: str) -> bytes:
        """A secret of 32 bytes for a purpose, always the same one."""
        return hashlib.blake2b(purpose.encode(), key=bytes.fromhex(self.signer), digest_size=32).digest()


@dataclass(frozen=True)
class Keys:
    """One party of a project: its controllers, or the workers of a site.

    ``peers``: the public keys of the others, by the name of their site, or CONTROLLER (also for itself).
    """

    private: PrivateKeys
    peers: Mapping[str, PublicKeys]

    def peer(self, name: str) -> PublicKeys:
        """The public keys of a site, or of CONTROLLER. Raises UsageError."""
        found = self.peers.get(name)
        if found is None:
            text = f"the project has no public key of the site {name}: nothing is sent there unsealed"
            raise UsageError(text, hint=f"`pushsalt worker init {name}` in the project makes the keys of the site")
        return found

    def seal(self, to: str, data: bytes, purpose: str) -> bytes:
        """The data, signed, for a site or for CONTROLLER. Raises UsageError for a site without keys."""
        return self.private.seal(self.peer(to), data, purpose)

    def open(self, sender: str, data: bytes, purpose: str) -> bytes:
        """The data that ``sender`` sealed for this party and purpose. Raises NotAuthentic."""
        return self.private.unseal(self.peer(sender), data, purpose)


def controller_keys(folder: Path | None) -> Keys:
    """The keys of a project's controllers. ``folder``: ``workers`` of the project. Raises UsageError."""
    if folder is None or not (folder / PRIVATE / "controller.key").exists():
        where = folder / PRIVATE if folder is not None else "workers/private of a project"
        raise UsageError(
            f"there is no controller.key in {where}, with which work for the sites is signed",
            hint="`pushsalt worker init SITE` makes the keys; or copy that folder from where it ran",
        )
    path = folder / PRIVATE / "controller.key"
    private = PrivateKeys.parse(private_text(path), path)
    peers = {file.stem: PublicKeys.parse(public_text(file), file) for file in sorted(folder.glob("*.pub"))}
    return Keys(private, {**peers, CONTROLLER: private.public})


def site_keys(folder: Path) -> Keys:
    """The keys of a site's workers. ``folder``: what ``pushsalt worker init`` made. Raises UsageError."""
    private = PrivateKeys.parse(private_text(folder / "site.key"), folder / "site.key")
    path = folder / "controller.pub"
    return Keys(private, {CONTROLLER: PublicKeys.parse(public_text(path), path)})


def _signed(to: PublicKeys, data: bytes, purpose: str) -> bytes:
    head = f"pushsalt workers 1\0{to.seal}\0{len(purpose)}\0{purpose}\0".encode()
    return head + hashlib.sha256(data).digest()


def _lines(text: str) -> dict[str, str]:
    return {found[1]: found[2] for line in text.splitlines() if (found := _LINE.fullmatch(line))}
