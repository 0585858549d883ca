"""Digests, encodings and randomness. Salt: salt.utils.hashutils, salt.utils.stringutils."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import random
from collections.abc import Callable
from typing import Any

from pushsalt.render.filters.text import to_bytes


def _digest(algorithm: str) -> Callable[[Any], str]:
    def digest(value: Any) -> str:
        return hashlib.new(algorithm, to_bytes(value), usedforsecurity=False).hexdigest()

    return digest


def base64_encode(value: Any) -> str:
    return base64.b64encode(to_bytes(value)).decode()


def base64_decode(value: Any) -> str | bytes:
    """The decoded text, or bytes if it is not UTF-8."""
    decoded = base64.b64decode(to_bytes(value))
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        return decoded


def hmac_fits(value: Any, shared_secret: Any, challenge_hmac: Any) -> bool:
    """Whether ``challenge_hmac`` is the base64 of the text's HMAC-SHA256."""
    expected = base64.b64encode(hmac.new(to_bytes(shared_secret), to_bytes(value), hashlib.sha256).digest())
    return hmac.compare_digest(expected, to_bytes(challenge_hmac))


def hmac_compute(value: Any, shared_secret: Any) -> str:
    return hmac.new(to_bytes(shared_secret), to_bytes(value), hashlib.sha256).hexdigest()


def random_hash(size: int = 9999999999, hash_type: str | None = None) -> str:
    """The digest of a random number up to ``size``."""
    number = random.SystemRandom().randint(0, size)
    return hashlib.new(hash_type or "md5", str(number).encode(), usedforsecurity=False).hexdigest()


def random_str(size: int = 32) -> str:
    """``size`` random characters of the base64 alphabet."""
    return base64.b64encode(os.urandom(size)).decode()[:size]


FILTERS: dict[str, Callable[..., Any]] = {
    "base64_decode": base64_decode,
    "base64_encode": base64_encode,
    "hmac": hmac_fits,
    "hmac_compute": hmac_compute,
    "md5": _digest("md5"),
    "rand_str": random_hash,
    "random_hash": random_hash,
    "random_str": random_str,
    "sha1": _digest("sha1"),
    "sha256": _digest("sha256"),
    "sha512": _digest("sha512"),
}
