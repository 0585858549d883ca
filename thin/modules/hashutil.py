"""Digests and base64 of texts and files. Salt: salt.modules.hashutil."""

import base64
import hashlib
from _operator import _compare_digest as same  # hmac.compare_digest, which a minimal Python lacks

from thin.exceptions import CommandExecutionError

__controller__ = (
    "digest",
    "base64_b64encode",
    "base64_b64decode",
    "base64_encodestring",
    "base64_decodestring",
    "md5_digest",
    "sha256_digest",
    "sha512_digest",
    "hmac_signature",
    "hmac_compute",
    "github_signature",
)
__recorded__ = (
    "base64_b64decode",
    "base64_b64encode",
    "base64_decodestring",
    "base64_encodestring",
    "digest",
    "hmac_compute",
    "hmac_signature",
    "md5_digest",
    "sha256_digest",
    "sha512_digest",
)
__reads__ = (
    "digest",
    "digest_file",
    "base64_b64encode",
    "base64_b64decode",
    "base64_encodestring",
    "base64_encodefile",
    "base64_decodestring",
    "md5_digest",
    "sha256_digest",
    "sha512_digest",
    "hmac_signature",
    "hmac_compute",
    "github_signature",
)
__changes__ = ("base64_decodefile",)


def _bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8")


def _text(data):
    """Return text if the bytes are UTF-8, otherwise the bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _hash(checksum):
    if checksum not in ("md5", "sha256", "sha512"):
        raise CommandExecutionError("Hash function '%s' is not supported" % checksum)
    return getattr(hashlib, checksum)


def digest(instr, checksum="md5"):
    """The hexadecimal digest (md5, sha256 or sha512) of a text."""
    return _hash(checksum)(_bytes(instr)).hexdigest()


def digest_file(infile, checksum="md5"):
    """The hexadecimal digest of a file. Raises CommandExecutionError if there is none."""
    digest = _hash(checksum)()
    try:
        with open(infile, "rb") as source:
            for piece in iter(lambda: source.read(1 << 18), b""):
                digest.update(piece)
    except OSError as exc:
        raise CommandExecutionError("Cannot read %s: %s" % (infile, exc.strerror))
    return digest.hexdigest()


def base64_b64encode(instr):
    """A text in base64, in one line."""
    return base64.b64encode(_bytes(instr)).decode("ascii")


def base64_b64decode(instr):
    """The decoded base64 text."""
    return _text(base64.b64decode(_bytes(instr)))


def base64_encodestring(instr):
    """A text in base64, in lines of 76 characters."""
    return base64.encodebytes(_bytes(instr)).decode("ascii")


def base64_encodefile(fname):
    """A file in base64, in lines of 76 characters."""
    with open(fname, "rb") as source:
        return base64.encodebytes(source.read()).decode("ascii")


def base64_decodestring(instr):
    """The decoded base64 text."""
    return _text(base64.decodebytes(_bytes(instr)))


def base64_decodefile(instr, outfile):
    """Write decoded base64 text to a file; returns True."""
    from thin.utils.files import atomic, owner

    atomic.write(outfile, base64.decodebytes(_bytes(instr)), mode=owner.mode_bits(owner.default_mode()))
    return True


def md5_digest(instr):
    """The MD5 of a text."""
    return digest(instr, "md5")


def sha256_digest(instr):
    """The SHA-256 of a text."""
    return digest(instr, "sha256")


def sha512_digest(instr):
    """The SHA-512 of a text."""
    return digest(instr, "sha512")


def _hmac(string, secret, kind):
    """The HMAC (RFC 2104) of a text, as a hash object."""
    key, size = _bytes(secret), kind().block_size
    key = (kind(key).digest() if len(key) > size else key).ljust(size, b"\0")
    inner = kind(bytes(byte ^ 0x36 for byte in key) + _bytes(string)).digest()
    return kind(bytes(byte ^ 0x5C for byte in key) + inner)


def hmac_signature(string, shared_secret, challenge_hmac):
    """True when the challenge is the base64 of the text's HMAC-SHA256."""
    valid = base64.b64encode(_hmac(string, shared_secret, hashlib.sha256).digest())
    return same(valid, _bytes(challenge_hmac))


def hmac_compute(string, shared_secret):
    """The hexadecimal HMAC-SHA256 of a text."""
    return _hmac(string, shared_secret, hashlib.sha256).hexdigest()


def github_signature(string, shared_secret, challenge_hmac):
    """True when the challenge (``sha1=...``) is the text's HMAC in hexadecimal, as GitHub signs."""
    name, _, challenge = str(challenge_hmac).partition("=")
    kind = getattr(hashlib, name, None) if name in hashlib.algorithms_guaranteed else None
    if kind is None or not kind().digest_size:
        return False
    return same(_bytes(_hmac(string, shared_secret, kind).hexdigest()), _bytes(challenge))
