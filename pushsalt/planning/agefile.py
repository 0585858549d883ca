"""Encryption to age recipients (``age1…``) and decryption with age identities: https://age-encryption.org/v1.

Only X25519 keys are supported. The files are compatible with those of the program age, both ways.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from pushsalt.errors import UsageError

_VERSION: Final = b"age-encryption.org/v1"
_CHUNK: Final = 64 * 1024
_TAG: Final = 16
_ALPHABET: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


class Unreadable(ValueError):
    """The data is no age file, was changed or truncated, or is for none of the identities. The message says which."""


def encrypt(data: bytes, recipients: Sequence[str]) -> bytes:
    """An age file that each of the recipients can decrypt. Raises UsageError for an invalid recipient."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    file_key = secrets.token_bytes(16)
    header = _VERSION + b"\n"
    for recipient in recipients:
        public = recipient_key(recipient)
        ephemeral = X25519PrivateKey.generate()
        share = ephemeral.public_key().public_bytes_raw()
        shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
        wrap = _hkdf(shared, share + public, b"age-encryption.org/v1/X25519")
        body = ChaCha20Poly1305(wrap).encrypt(bytes(12), file_key, None)
        header += b"-> X25519 " + _b64(share) + b"\n" + _b64(body) + b"\n"
    header += b"---"
    mac = hmac.new(_hkdf(file_key, b"", b"header"), header, hashlib.sha256).digest()
    nonce = secrets.token_bytes(16)
    cipher = ChaCha20Poly1305(_hkdf(file_key, nonce, b"payload"))
    parts = [header, b" " + _b64(mac) + b"\n", nonce]
    last = max(0, (len(data) - 1) // _CHUNK)
    for number in range(last + 1):
        chunk = data[number * _CHUNK : (number + 1) * _CHUNK]
        parts.append(cipher.encrypt(_nonce(number, number == last), chunk, None))
    return b"".join(parts)


def decrypt(data: bytes, identities: Iterable[str]) -> bytes:
    """The content of an age file. Raises Unreadable."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    end = data.find(b"\n--- ")
    line = data.find(b"\n", end + 1) if end >= 0 else -1
    if not data.startswith(_VERSION + b"\n") or line < 0:
        raise Unreadable("it is no age file, or it is cut short")
    header, mac, payload = data[: end + 4], data[end + 5 : line], data[line + 1 :]
    file_key = _unwrapped(header, [identity_bytes(text) for text in identities])
    wanted = hmac.new(_hkdf(file_key, b"", b"header"), header, hashlib.sha256).digest()
    if not hmac.compare_digest(_b64(wanted), mac):
        raise Unreadable("its head was altered")
    cipher = ChaCha20Poly1305(_hkdf(file_key, payload[:16], b"payload"))
    sealed, whole = payload[16:], _CHUNK + _TAG
    last = max(0, (len(sealed) - 1) // whole)
    try:
        return b"".join(
            cipher.decrypt(_nonce(number, number == last), sealed[number * whole : (number + 1) * whole], None)
            for number in range(last + 1)
        )
    except InvalidTag:
        raise Unreadable("it was altered, or is cut short") from None


def recipient_key(recipient: str) -> bytes:
    """The public key of ``age1…``. Raises UsageError."""
    key = _bech32(recipient.strip(), "age")
    if key is None:
        raise UsageError(
            f"{recipient!r} is no recipient of age", hint="it begins with age1, as `age-keygen` prints it (public key)"
        )
    return key


def recipient_text(public: bytes) -> str:
    """``age1…`` of a public key of 32 bytes."""
    return _encoded("age", public)


def identity_text(private: bytes) -> str:
    """``AGE-SECRET-KEY-1…`` of a private key of 32 bytes."""
    return _encoded("age-secret-key-", private).upper()


def identity_bytes(identity: str) -> bytes | None:
    """The private key of ``AGE-SECRET-KEY-1…``; None for anything else."""
    return _bech32(identity.strip().lower(), "age-secret-key-")


def _unwrapped(header: bytes, identities: Sequence[bytes | None]) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    lines = header.split(b"\n")
    for at, line in enumerate(lines[:-1]):
        words = line.split(b" ")
        if words[:2] != [b"->", b"X25519"] or len(words) != 3:
            continue
        share, body = _unb64(words[2]), _unb64(lines[at + 1])
        if len(share) != 32 or len(body) != 32:
            raise Unreadable("its head was altered")
        for secret in filter(None, identities):
            key = X25519PrivateKey.from_private_bytes(secret)
            try:
                shared = key.exchange(X25519PublicKey.from_public_bytes(share))
                wrap = _hkdf(shared, share + key.public_key().public_bytes_raw(), b"age-encryption.org/v1/X25519")
                return ChaCha20Poly1305(wrap).decrypt(bytes(12), body, None)
            except (InvalidTag, ValueError):
                continue
    raise Unreadable("it is sealed to another key, or its head was altered")


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt or None, info).derive(secret)


def _b64(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _unb64(text: bytes) -> bytes:
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except ValueError:
        return b""
    return data if _b64(data) == text else b""


def _bech32(text: str, prefix: str) -> bytes | None:
    """The 32 bytes of a bech32 text with this prefix; None for anything else."""
    if text != text.lower() or not text.startswith(f"{prefix}1"):
        return None
    values = [_ALPHABET.find(letter) for letter in text[len(prefix) + 1 :]]
    if len(values) < 6 or -1 in values:
        return None
    spread = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    if _polymod(spread + values) != 1:
        return None
    bits = size = 0
    decoded = bytearray()
    for value in values[:-6]:
        bits, size = bits << 5 | value, size + 5
        if size >= 8:
            size -= 8
            decoded.append(bits >> size & 255)
    return bytes(decoded) if len(decoded) == 32 else None


def _encoded(prefix: str, data: bytes) -> str:
    """``data`` as a bech32 text with this prefix."""
    bits = size = 0
    values = []
    for byte in data:
        bits, size = bits << 8 | byte, size + 8
        while size >= 5:
            size -= 5
            values.append(bits >> size & 31)
    if size:
        values.append(bits << (5 - size) & 31)
    spread = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    check = _polymod([*spread, *values, *[0] * 6]) ^ 1
    values += [check >> 5 * (5 - place) & 31 for place in range(6)]
    return f"{prefix}1{''.join(_ALPHABET[value] for value in values)}"


def _polymod(values: Iterable[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    return check
