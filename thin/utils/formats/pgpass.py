"""PostgreSQL's stored forms of passwords: md5 and scram-sha-256 (RFC 5802, 7677; SASLprep is RFC 4013)."""

import os

DEFAULT = "md5"
METHODS = (False, True, "md5", "scram-sha-256")

#: The iterations of a new verifier: the server's default.
ITERATIONS = 4096


def stored(role, password, encrypted=DEFAULT):
    """The password of a role in the form to send to the server. None, and a text in that form, are returned unchanged.

    ``encrypted``: md5 (or True), scram-sha-256, or False for the plain password. Raises ValueError for another value.
    """
    if password is None:
        return None
    if encrypted not in METHODS:
        raise ValueError("Unknown password algorithm: %s" % encrypted)
    password = str(password)
    if encrypted is False or password.startswith(_mark(encrypted)):
        return password
    return scram(password) if encrypted == "scram-sha-256" else md5(role, password)


def verified(role, password, verifier, encrypted=DEFAULT):
    """Whether ``verifier``, the form that the server stores, was made from this password or is equal to it."""
    if encrypted not in METHODS:
        return False
    password = str(password)
    if encrypted is False or password.startswith(_mark(encrypted)):
        return verifier == password
    if encrypted != "scram-sha-256":
        return verifier == md5(role, password)
    salt, iterations = _parts(verifier or "")
    return salt is not None and verifier == scram(password, salt, iterations)


def _mark(encrypted):
    return "SCRAM-SHA-256" if encrypted == "scram-sha-256" else "md5"


def md5(role, password):
    """``md5`` and the MD5 digest of the password followed by the role's name."""
    import hashlib

    return "md5" + hashlib.md5(("%s%s" % (password, role)).encode("utf-8")).hexdigest()  # noqa: S324


def scram(password, salt=None, iterations=ITERATIONS):
    """``SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY``; ``salt``: bytes, by default 16 random ones."""
    import base64
    import hashlib

    salt = os.urandom(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password).encode("utf-8"), salt, iterations)
    client = hashlib.sha256(_hmac(salted, b"Client Key")).digest()
    parts = [base64.b64encode(part).decode("ascii") for part in (salt, client, _hmac(salted, b"Server Key"))]
    return "SCRAM-SHA-256$%d:%s$%s:%s" % (iterations, parts[0], parts[1], parts[2])


def _parts(verifier):
    """(salt, iterations) of a verifier; (None, 0) if it has another form."""
    import base64

    words = verifier.split("$")
    if len(words) != 3 or words[0] != "SCRAM-SHA-256":
        return None, 0
    iterations, _, salt = words[1].partition(":")
    try:
        return base64.b64decode(salt), int(iterations)
    except ValueError:
        return None, 0


def _hmac(key, message):
    """HMAC-SHA256 with a key of 32 bytes; a minimal Python lacks ``hmac``."""
    import hashlib

    key = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()


def prepared(password):
    """The password after SASLprep. One that SASLprep forbids is unchanged, as in the server."""
    if all(" " <= char <= "~" for char in password):
        return password
    import stringprep
    import unicodedata

    kept = "".join(
        " " if stringprep.in_table_c12(char) else char for char in password if not stringprep.in_table_b1(char)
    )
    mapped = unicodedata.normalize("NFKC", kept)
    refused = (
        stringprep.in_table_a1,
        stringprep.in_table_c12,
        stringprep.in_table_c21_c22,
        stringprep.in_table_c3,
        stringprep.in_table_c4,
        stringprep.in_table_c5,
        stringprep.in_table_c6,
        stringprep.in_table_c7,
        stringprep.in_table_c8,
        stringprep.in_table_c9,
    )
    if not mapped or any(test(char) for char in mapped for test in refused):
        return password
    if any(map(stringprep.in_table_d1, mapped)):  # right-to-left text: from the first letter to the last
        ends = stringprep.in_table_d1(mapped[0]) and stringprep.in_table_d1(mapped[-1])
        if not ends or any(map(stringprep.in_table_d2, mapped)):
            return password
    return mapped
