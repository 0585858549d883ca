"""Salt: ``salt/utils/hashutils.py``."""

import base64
import hashlib

from thin.utils.files.hashes import file_hash


def _bytes(value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8")


def base64_b64encode(instr):
    return base64.b64encode(_bytes(instr)).decode("ascii")


def base64_b64decode(instr):
    decoded = base64.b64decode(_bytes(instr))
    try:
        return decoded.decode("utf-8")
    except UnicodeDecodeError:
        return decoded


def base64_encodestring(instr):
    return base64.encodebytes(_bytes(instr)).decode("ascii")


base64_decodestring = base64_b64decode


def md5_digest(instr):
    return hashlib.md5(_bytes(instr)).hexdigest()  # noqa: S324


def sha1_digest(instr):
    return hashlib.sha1(_bytes(instr)).hexdigest()  # noqa: S324


def sha256_digest(instr):
    return hashlib.sha256(_bytes(instr)).hexdigest()


def sha512_digest(instr):
    return hashlib.sha512(_bytes(instr)).hexdigest()


def hmac_signature(string, shared_secret, challenge_hmac):
    """Whether a base64 HMAC-SHA256 belongs to the text."""
    import hmac

    return hmac.compare_digest(_bytes(challenge_hmac), base64.b64encode(_mac(string, shared_secret).digest()))


def hmac_compute(string, shared_secret):
    return _mac(string, shared_secret).hexdigest()


def _mac(string, secret):
    import hmac

    return hmac.new(_bytes(secret), _bytes(string), hashlib.sha256)


def random_hash(size=9999999999, hash_type="md5"):
    import os

    return hashlib.new(hash_type or "md5", os.urandom(32)).hexdigest()


def get_hash(path, form="sha256", chunk_size=65536):
    """The hexadecimal digest of a file."""
    return file_hash(path, form, chunk_size)
