"""Plan files: a plan with all that a run of it needs, sealed.

A file consists of the line ``pushsalt-plan``, a line of JSON (version, method of sealing, time), and the sealed rest.
It is sealed with the user's key (that of the caches; AES-256-GCM), or to age recipients. The sealed content is a
msgpack map, which contains the digest of the first two lines, so that any change or truncation is detected. Its keys:

========== =====================================================================================================
made       {created: seconds, runtime: its SHA-256, revision: that of the project, dirty: whether it had other
           changes, lock: SHA-256 of pushsalt.lock, options: that the states were compiled with,
           words: of the command, by: the version of pushsalt, key: that of the fingerprints}
targets    {id: {place: digest of its address and login, data: Forecast.as_data, run: fields of the message run
           (thin.wire), files: {file key: digest or None}, trees: {file key: entries}, templates: {key: text},
           pillar, disabled, custom: SHA-256 of the users' own modules}}
failed     {id: the return of a target that could not be planned}
blobs      {digest: bytes}, of all targets
secrets    texts to be hidden wherever something of the plan is shown
========== =====================================================================================================
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt import __version__, regular
from pushsalt.cache.sealed import key_path, user_key
from pushsalt.errors import UsageError
from pushsalt.planning import agefile, planshape
from thin import wire

_FIRST: Final = b"pushsalt-plan\n"
_VERSION: Final = 1
_HEAD_LIMIT: Final = 4096
#: Maximum size of an unpacked plan in bytes.
LIMIT: Final = 1024 * 1024 * 1024
_NEW_PLAN: Final = "make a new one: pushsalt plan TARGET -o FILE"


@dataclass
class PlanFile:
    """The content of a plan file; see the module."""

    made: dict[str, Any] = field(default_factory=dict)
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return list(self.targets)

    @property
    def age(self) -> float:
        """Seconds since it was made."""
        return max(0.0, time.time() - float(self.made.get("created") or 0))


def write(path: Path, plan: PlanFile, recipients: Sequence[str] = ()) -> None:
    """Write a plan file, 0600, sealed to these age recipients, or else to the user's key. Raises UsageError."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(plan.made.get("created")))
    head = {"version": _VERSION, "sealed": "age" if recipients else "user", "created": created, "by": __version__}
    first = _FIRST + json.dumps(head).encode() + b"\n"
    content = {"made": plan.made, "targets": plan.targets, "failed": plan.failed, "blobs": plan.blobs}
    packed = wire.pack({**content, "secrets": plan.secrets, "head": hashlib.sha256(first).digest()})
    data = zlib.compress(packed, 1)
    try:
        sealed = agefile.encrypt(data, recipients) if recipients else _sealed(data, first)
        aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(first + sealed)
                stream.flush()
                os.fsync(descriptor)
            aside.rename(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except OSError as exc:
        raise UsageError(
            f"{path}: the plan cannot be written: {exc.strerror or exc}", hint="name another file"
        ) from exc


def read(path: Path, identities: Callable[[], Sequence[str]]) -> PlanFile:
    """The plan of a file. ``identities`` gives those of age, if they are needed. Raises UsageError."""
    try:
        with regular.opened(path) as stream:
            data = stream.read(LIMIT + 1)
    except OSError as exc:
        raise UsageError(f"{path}: the plan cannot be read: {exc.strerror or exc}", hint=_NEW_PLAN) from exc
    if len(data) > LIMIT:
        raise UsageError(f"{path}: the plan is larger than {LIMIT // 2**20} MiB", hint=_NEW_PLAN)
    head, first, sealed = _head(path, data)
    try:
        if head["sealed"] == "age":
            packed = agefile.decrypt(sealed, identities())
        else:
            packed = _opened(sealed, first)
        unpacker = zlib.decompressobj()
        content = wire.unpack(unpacker.decompress(packed, LIMIT))
        if not unpacker.eof or content["head"] != hashlib.sha256(first).digest():
            raise agefile.Unreadable("its first lines were altered")
        planshape.check(content)
        return PlanFile(*(content[name] for name in ("made", "targets", "failed", "blobs", "secrets")))
    except (agefile.Unreadable, zlib.error, ValueError, KeyError, TypeError) as exc:
        why = str(exc) if isinstance(exc, agefile.Unreadable) else "it was altered, or is cut short"
        hint = _NEW_PLAN
        if "another key" in why:
            hint = "the option age_identity names the files of your identities" if head["sealed"] == "age" else _OWN_KEY
        raise UsageError(f"{path}: the plan cannot be used: {why}", hint=hint) from None


_OWN_KEY: Final = (
    "only the user who made it can use it, on this machine; --recipient age1… seals to somebody else's key"
)


def _head(path: Path, data: bytes) -> tuple[Mapping[str, Any], bytes, bytes]:
    """The decoded second line, the bytes of both lines, and the rest."""
    end = data.find(b"\n", len(_FIRST), _HEAD_LIMIT)
    if not data.startswith(_FIRST) or end < 0:
        raise UsageError(f"{path} is no plan, or it was altered or cut short", hint=_NEW_PLAN)
    try:
        head = json.loads(data[len(_FIRST) : end])
        version, sealed = head["version"], head["sealed"]
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: the plan cannot be used: its first lines were altered", hint=_NEW_PLAN) from None
    if version != _VERSION:
        raise UsageError(
            f"{path}: the plan has the format {version}, and this pushsalt {__version__} knows {_VERSION}",
            hint=f"use the pushsalt that made it ({str(head.get('by'))[:20]}), or {_NEW_PLAN}",
        )
    if sealed not in ("age", "user"):
        raise UsageError(f"{path}: the plan cannot be used: its first lines were altered", hint=_NEW_PLAN)
    return head, data[: end + 1], data[end + 1 :]


def _cipher() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    place = key_path()
    if place is None:
        raise UsageError(
            "there is no key to seal plans with: no home folder", hint="set HOME, or use --recipient age1…"
        )
    try:
        return AESGCM(user_key(place))
    except OSError as exc:
        raise UsageError(f"the key that seals plans cannot be used: {exc}", hint="or use --recipient age1…") from exc


def _sealed(data: bytes, first: bytes) -> bytes:
    nonce = secrets.token_bytes(12)
    sealed: bytes = nonce + _cipher().encrypt(nonce, data, first)
    return sealed


def _opened(sealed: bytes, first: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(_cipher().decrypt(sealed[:12], sealed[12:], first))
    except (InvalidTag, ValueError):
        raise agefile.Unreadable("it was altered, is cut short, or is sealed to another key") from None
