"""The digests that verify images of compiled code, with and without BLAKE2b."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from thin import boot

KEY, DATA = b"k" * 32, b"code" * 1000


def test_images_are_verified_by_blake2b():
    assert boot.digest(DATA) == hashlib.blake2b(DATA, digest_size=32).digest()
    assert boot.digest(DATA, KEY) == hashlib.blake2b(DATA, digest_size=32, key=KEY).digest()


def test_a_system_that_refuses_blake2b_uses_hmac(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(boot, "blake2b", None)
    assert boot.digest(DATA, KEY) == hmac.new(KEY, DATA, "sha256").digest()
    assert boot.digest(DATA) == hmac.new(b"", DATA, "sha256").digest() != boot.digest(DATA, KEY)
