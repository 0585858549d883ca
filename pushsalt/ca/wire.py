"""Parses public keys and certificates of OpenSSH strictly, without verifying signatures.

Layout of a certificate (PROTOCOL.certkeys): string type, string nonce, the key's own fields, uint64 serial, uint32
1 (user) or 2 (host), string key id, strings principals, uint64 valid after and before, critical options, extensions,
string reserved, string the authority's key, string signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CERTIFICATE: Final = "-cert-v01@openssh.com"
FOREVER: Final = 2**64 - 1
_MAX: Final = 64 * 1024
#: kind of key -> the number of strings after its kind
_FIELDS: Final = {
    "ssh-ed25519": 1,
    "ecdsa-sha2-nistp256": 2,
    "ecdsa-sha2-nistp384": 2,
    "ecdsa-sha2-nistp521": 2,
    "ssh-rsa": 2,
    "sk-ssh-ed25519@openssh.com": 2,
    "sk-ecdsa-sha2-nistp256@openssh.com": 3,
}
#: kind of key -> type name of its certificates
_CERTIFICATES: Final = {kind.removesuffix("@openssh.com") + CERTIFICATE: kind for kind in _FIELDS}


class WireError(ValueError):
    """The text is not a public key, or not a certificate."""


@dataclass(frozen=True)
class PublicKey:
    """A public key. ``kind``: ssh-ed25519 ...; ``blob``: the key; ``comment``: the text after it; ``bits``: for RSA."""

    kind: str
    blob: bytes
    comment: str = ""
    bits: int = 0

    @property
    def line(self) -> str:
        """The key as a line, without the comment."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.blob)


@dataclass(frozen=True)
class Certificate:
    """A certificate. ``valid_after`` and ``valid_before`` are seconds since the epoch; ``key`` is the certified key,
    ``authority`` the one that signed.
    """

    line: str
    host: bool
    serial: int
    key_id: str
    principals: tuple[str, ...]
    valid_after: int
    valid_before: int
    critical: dict[str, str]
    extensions: tuple[str, ...]
    key: PublicKey
    authority: PublicKey


def fingerprint(blob: bytes) -> str:
    """The fingerprint of a key, as ``ssh-keygen -l`` shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def parse_public(text: str) -> PublicKey:
    """The one public key of a ``.pub`` file. Raises WireError, also for a certificate or a line with options."""
    kind, blob, comment = _line(text)
    if kind in _CERTIFICATES:
        raise WireError("it is a certificate, not a public key")
    if kind not in _FIELDS:
        raise WireError(
            f"keys of the kind {kind[:40]!r} are not supported" if _is_word(kind) else "it is not a public key"
        )
    reader = _Reader(blob)
    if reader.text() != kind:
        raise WireError("it has two different kinds of key")
    fields = [reader.string() for _ in range(_FIELDS[kind])]
    reader.end()
    return PublicKey(kind, blob, comment, _bits(kind, fields))


def parse_certificate(text: str) -> Certificate:
    """The one certificate of a ``-cert.pub`` file. Raises WireError."""
    name, blob, _ = _line(text)
    if name not in _CERTIFICATES:
        raise WireError("it is not a certificate")
    kind = _CERTIFICATES[name]
    reader = _Reader(blob)
    if reader.text() != name:
        raise WireError("it has two different kinds of certificate")
    reader.string()  # nonce
    fields = [reader.string() for _ in range(_FIELDS[kind])]
    serial, purpose, key_id = reader.number(8), reader.number(4), reader.text()
    principals = tuple(_Reader(reader.string()).texts())
    after, before = reader.number(8), reader.number(8)
    critical = _options(reader.string())
    extensions = tuple(_options(reader.string()))
    reader.string()  # reserved
    signer = reader.string()
    reader.string()  # signature
    reader.end()
    if purpose not in (1, 2):
        raise WireError(f"it is for neither users nor hosts ({purpose})")
    key = b"".join(len(part).to_bytes(4, "big") + part for part in (kind.encode(), *fields))
    return Certificate(
        line=f"{name} {base64.b64encode(blob).decode()}",
        host=purpose == 2,
        serial=serial,
        key_id=key_id,
        principals=principals,
        valid_after=after,
        valid_before=before,
        critical=critical,
        extensions=extensions,
        key=PublicKey(kind, key, bits=_bits(kind, fields)),
        authority=_authority(signer),
    )


def _authority(blob: bytes) -> PublicKey:
    kind = _Reader(blob).text()
    return parse_public(f"{kind} {base64.b64encode(blob).decode()}")


def _line(text: str) -> tuple[str, bytes, str]:
    """Kind, blob and comment of a text with one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if len(text) > _MAX or len(lines) != 1:
        raise WireError("it is not a public key" if not lines or len(text) > _MAX else "it has several lines")
    words = lines[0].split(None, 2)
    if len(words) < 2:
        raise WireError("it is not a public key")
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (ValueError, binascii.Error):
        raise WireError("it is not a public key") from None
    return words[0], blob, words[2].strip() if len(words) > 2 else ""


def _options(blob: bytes) -> dict[str, str]:
    """Critical options or extensions: names with data, each a string that contains a string or is empty."""
    reader, options = _Reader(blob), {}
    while reader.rest:
        name, data = reader.text(), reader.string()
        options[name] = _Reader(data).text() if data else ""
    return options


def _bits(kind: str, fields: list[bytes]) -> int:
    return int.from_bytes(fields[1], "big").bit_length() if kind == "ssh-rsa" else 0


def _is_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and "-" in text


class _Reader:
    """Reads fields of SSH's encoding, one after another. Raises WireError if the data ends too soon."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, count: int) -> bytes:
        if count > len(self.rest):
            raise WireError("it is cut off")
        piece, self.rest = self.rest[:count], self.rest[count:]
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def string(self) -> bytes:
        return self.take(self.number(4))

    def text(self) -> str:
        try:
            return self.string().decode()
        except UnicodeDecodeError:
            raise WireError("it has a text that is not UTF-8") from None

    def texts(self) -> Iterator[str]:
        while self.rest:
            yield self.text()

    def end(self) -> None:
        if self.rest:
            raise WireError("it has data after its end")
