"""Loads the bytes of keys, certificates, requests or lists that users give: a path, PEM text, hexadecimal, base64,
bytes.

The exception classes are Salt's: unreadable data raise a SaltInvocationError, and its subclasses say what is wrong.
"""

import os

from thin.exceptions import SaltInvocationError
from thin.log import getLogger
from thin.utils.pki import pem

log = getLogger(__name__)


class DeserializationError(SaltInvocationError):
    """The data does not have the expected type."""


class CertDeserializationError(DeserializationError):
    pass


class PrivDeserializationError(DeserializationError):
    pass


class PubDeserializationError(DeserializationError):
    pass


class CRLDeserializationError(DeserializationError):
    pass


class CSRDeserializationError(DeserializationError):
    pass


class PasswordError(SaltInvocationError):
    """The data are a key or a PKCS#12 container, but the passphrase is wrong, missing or not needed."""

    words = ""

    def __init__(self):
        super(PasswordError, self).__init__(self.words)


class InvalidPassword(PasswordError):
    words = "Bad decrypt - is the password correct?"


class MissingPassword(PasswordError):
    words = "Private key is encrypted. Please provide a password."


class SuperfluousPassword(PasswordError):
    words = "Private key is unencrypted. Please remove the password."


def is_file(value):
    try:
        return os.path.isfile(value)
    except (TypeError, ValueError):
        return False


def load(value):
    """The bytes of the value. Raises SaltInvocationError."""
    import base64

    if is_file(value):
        with open(value, "rb") as handle:
            return handle.read()
    if isinstance(value, str):
        if value.startswith("/") and "\n" not in value:  # no base64: that of DER begins with M
            raise SaltInvocationError("There is no file %s" % value)
        if value.startswith("b64:"):
            return base64.b64decode(value[4:])
        if "-----BEGIN" in value:
            return value.encode("utf-8")
        for decode in (bytes.fromhex, base64.b64decode):
            try:
                return decode(value)
            except ValueError:
                continue
    if not isinstance(value, bytes):
        raise SaltInvocationError(
            "Could not load provided source. You need to pass an existing file, (PEM|hex|base64)-encoded string or "
            "raw bytes."
        )
    return value


def one(value, kinds, problem):
    """(DER, encoding) of a value that is PEM of one of these kinds, or DER. Raises ``problem``."""
    data = load(value)
    if not pem.is_pem(data):
        return data, "der"
    try:
        for kind, _, body in pem.blocks(data):
            if kind in kinds:
                return body, "pem"
    except ValueError:
        pass
    raise problem


def each(pattern, read):
    """{path: result of ``read``} of the files that match the glob ``pattern`` and can be read."""
    import glob

    result = {}
    for path in glob.glob(pattern):
        if os.path.isfile(path):
            try:
                result[path] = read(path)
            except (SaltInvocationError, ValueError) as exc:
                log.debug("%s: %s", path, exc)
    return result
