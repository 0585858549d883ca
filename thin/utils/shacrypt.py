"""Password hashes as crypt(3) makes them with SHA-256 (``$5$``) and SHA-512 (``$6$``).

Python's own ``crypt`` is gone since 3.13 and not in every distribution's minimal Python before. The scheme is Ulrich
Drepper's "Unix crypt using SHA-256 and SHA-512", whose vectors the tests have.
"""

import hashlib

ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ROUNDS = 5000
ROUNDS_ALLOWED = (1000, 999999999)
SALT_LENGTH = 16

#: name -> (prefix, hash)
SCHEMES = {"sha256": ("$5$", hashlib.sha256), "sha512": ("$6$", hashlib.sha512)}


def hash_password(password, salt, algorithm="sha512"):
    """``$6$salt$hash`` of a text. ``salt`` may begin with ``rounds=N$``.

    Raises ValueError for a bad salt or algorithm.
    """
    if algorithm not in SCHEMES:
        raise ValueError("unknown algorithm %r: use one of %s" % (algorithm, ", ".join(sorted(SCHEMES))))
    prefix, new = SCHEMES[algorithm]
    rounds, written = ROUNDS, ""
    if salt.startswith("rounds="):
        number, _, salt = salt[len("rounds="):].partition("$")
        if not number.isdigit():
            raise ValueError("the rounds of a salt are a number, not %r" % number)
        rounds = min(max(int(number), ROUNDS_ALLOWED[0]), ROUNDS_ALLOWED[1])
        written = "rounds=%d$" % rounds
    salt = salt[:SALT_LENGTH]
    if any(char not in ALPHABET for char in salt):
        raise ValueError("a salt has only letters, digits, '.' and '/'")
    digest = _digest(new, password.encode("utf-8"), salt.encode("ascii"), rounds)
    return prefix + written + salt + "$" + _text(digest)


def random_salt(length=SALT_LENGTH):
    """Characters that nobody can guess."""
    import os

    return "".join(ALPHABET[byte & 63] for byte in os.urandom(length))


def _digest(new, key, salt, rounds):
    inner = new(key + salt + key).digest()
    first = new(key + salt + _stretch(inner, len(key)))
    bits = len(key)
    while bits:
        first.update(inner if bits & 1 else key)
        bits >>= 1
    digest = first.digest()
    keys = _stretch(new(key * len(key)).digest(), len(key))
    salts = _stretch(new(salt * (16 + digest[0])).digest(), len(salt))
    for turn in range(rounds):
        parts = [keys if turn & 1 else digest]
        if turn % 3:
            parts.append(salts)
        if turn % 7:
            parts.append(keys)
        parts.append(digest if turn & 1 else keys)
        digest = new(b"".join(parts)).digest()
    return digest


def _stretch(data, length):
    return (data * (length // len(data) + 1))[:length]


def _text(digest):
    """The digest in crypt's own base 64: three bytes a third of the digest apart make four characters."""
    size = len(digest)
    third = size // 3
    turn = -1 if size == 32 else 1  # which way the three positions change places from group to group
    out = []
    for group in range(third):
        places = [group, group + third, group + 2 * third]
        shift = (turn * group) % 3
        places = places[shift:] + places[:shift]
        out.append(_letters(digest[places[0]] << 16 | digest[places[1]] << 8 | digest[places[2]], 4))
    rest = digest[3 * third:]
    if len(rest) == 2:
        out.append(_letters(rest[1] << 8 | rest[0], 3))
    else:
        out.append(_letters(rest[0], 2))
    return "".join(out)


def _letters(value, count):
    return "".join(ALPHABET[value >> 6 * place & 63] for place in range(count))
