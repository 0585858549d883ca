"""NKeys and JWTs of NATS: Ed25519 keys as text, and the signed claims of operator, account and user.

A key is a type byte, 32 bytes and a CRC-16 (XMODEM, little endian), in base32 without padding: ``O…`` operator, ``A…``
account, ``U…`` user; seeds begin with ``S`` and that letter. A JWT is ``header.claims.signature`` in base64url without
padding. Formats: the repositories nats-io/nkeys and nats-io/jwt (version 2).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pushsalt.errors import UsageError

OPERATOR: Final = 14 << 3
ACCOUNT: Final = 0
USER: Final = 20 << 3
_SEED: Final = 18 << 3
_KINDS: Final = (OPERATOR, ACCOUNT, USER)

_CREDENTIALS: Final = """\
-----BEGIN NATS USER JWT-----
{jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
{seed}
------END USER NKEY SEED------
"""
_SEED_LINE: Final = re.compile(r"BEGIN USER NKEY SEED-+\s*(\S+)")
_JWT_LINE: Final = re.compile(r"BEGIN NATS USER JWT-+\s*(\S+)")


@dataclass(frozen=True)
class NKey:
    """A key pair. ``kind``: OPERATOR, ACCOUNT or USER; ``private``: the 32 bytes of the Ed25519 key."""

    kind: int
    private: bytes = field(repr=False)

    @classmethod
    def new(cls, kind: int) -> NKey:
        return cls(kind, os.urandom(32))

    @classmethod
    def parse(cls, seed: str) -> NKey:
        """The key of a seed (``SO…``, ``SA…``, ``SU…``). Raises ValueError."""
        data = _decoded(seed.strip())
        kind = (data[0] & 7) << 5 | data[1] >> 3
        if len(data) != 34 or data[0] & 0xF8 != _SEED or kind not in _KINDS:
            raise ValueError("it is no seed of an NKey")
        return cls(kind, data[2:])

    @property
    def seed(self) -> str:
        return _encoded(bytes([_SEED | self.kind >> 5, (self.kind & 31) << 3]) + self.private)

    @cached_property
    def public(self) -> str:
        return _encoded(bytes([self.kind]) + self._key.public_key().public_bytes_raw())

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private)

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data)


def _encoded(data: bytes) -> str:
    whole = data + binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(whole).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    """The bytes of a key without its checksum. Raises ValueError."""
    try:
        whole = base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error:
        raise ValueError("it is no NKey") from None
    data, check = whole[:-2], whole[-2:]
    if len(data) < 33 or binascii.crc_hqx(data, 0).to_bytes(2, "little") != check:
        raise ValueError("it is no NKey, or was altered")
    return data


def operator_jwt(operator: NKey, name: str, system_account: str) -> str:
    """The operator's claims, signed by itself. ``system_account``: the public key of the server's own account."""
    claims = {"type": "operator", "version": 2, "system_account": system_account}
    return _jwt(operator, operator.public, name, claims)


def account_jwt(operator: NKey, public: str, name: str, revoked: Mapping[str, int], *, jetstream: bool) -> str:
    """An account without limits, signed by the operator.

    ``revoked``: public keys of users -> Unix time; their JWTs that are as old or older are refused.
    """
    limits: dict[str, Any] = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
    limits["wildcards"] = True
    if jetstream:
        limits.update(dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1))
    claims: dict[str, Any] = {
        "type": "account",
        "version": 2,
        "limits": limits,
        "default_permissions": {"pub": {}, "sub": {}},
    }
    if revoked:
        claims["revocations"] = dict(sorted(revoked.items()))
    return _jwt(operator, public, name, claims)


def user_jwt(account: NKey, public: str, name: str, publish: Sequence[str], subscribe: Sequence[str]) -> str:
    """A user of an account, signed by it, who may use these subjects only."""
    claims = {
        "type": "user",
        "version": 2,
        "pub": {"allow": list(publish)},
        "sub": {"allow": list(subscribe)},
        **dict.fromkeys(("subs", "data", "payload"), -1),
    }
    return _jwt(account, public, name, claims)


def _jwt(issuer: NKey, subject: str, name: str, nats: Mapping[str, Any]) -> str:
    claims: dict[str, Any] = {
        "iat": int(time.time()),
        "iss": issuer.public,
        "name": name,
        "nats": dict(nats),
        "sub": subject,
    }
    digest = hashlib.sha256(_json(claims)).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    signed = f"{_b64(_json({'typ': 'JWT', 'alg': 'ed25519-nkey'}))}.{_b64(_json(claims))}"
    return f"{signed}.{_b64(issuer.sign(signed.encode()))}"


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def credentials(jwt: str, user: NKey) -> str:
    """The text of a credentials file (``.creds``) as the programs of NATS read it."""
    return _CREDENTIALS.format(jwt=jwt, seed=user.seed)


def jwt_of(text: str) -> str:
    """The JWT in the text of a credentials file. Raises UsageError."""
    found = _JWT_LINE.search(text)
    if found is None:
        raise UsageError("it is no credentials file of NATS", hint="`pushsalt worker init` makes one")
    return found[1]


def user_of(text: str) -> NKey:
    """The user's key in the text of a credentials file. Raises UsageError."""
    found = _SEED_LINE.search(text)
    try:
        if found is not None:
            return NKey.parse(found[1])
    except ValueError:
        pass
    raise UsageError("it is no credentials file of NATS", hint="`pushsalt worker init` makes one")
