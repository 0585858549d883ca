"""Salt: ``salt/utils/pycrypto.py``."""

import os
import string

from thin.utils.formats import shacrypt

HAS_CRYPT = True
HAS_RANDOM = True


def secure_password(
    length=20,
    use_random=True,
    chars=None,
    lowercase=True,
    uppercase=True,
    digits=True,
    punctuation=True,
    whitespace=False,
    printable=False,
):
    """A random text of these kinds of characters."""
    chosen = chars or "".join(
        (
            string.ascii_lowercase if lowercase else "",
            string.ascii_uppercase if uppercase else "",
            string.digits if digits else "",
            string.punctuation if punctuation else "",
            string.whitespace if whitespace else "",
            string.printable if printable else "",
        )
    )
    limit, out = 256 - 256 % len(chosen), ""
    while len(out) < length:
        out += "".join(chosen[byte % len(chosen)] for byte in bytearray(os.urandom(length)) if byte < limit)
    return out[:length]


def gen_hash(crypt_salt=None, password=None, algorithm=None, force=False):
    """The crypt(3) hash of a password, by default of a random one."""
    password = secure_password() if password is None else password
    return shacrypt.hash_password(password, crypt_salt or shacrypt.random_salt(), algorithm or "sha512")
