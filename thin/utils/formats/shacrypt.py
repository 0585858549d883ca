"""Password hashes of crypt(3): SHA-256 (``$5$``), SHA-512 (``$6$``) and, for old systems, MD5 (``$1$``).

Python's ``crypt`` was removed in 3.13, and some distributions' minimal Python lacked it before. The algorithm is
Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512"; the tests have its test vectors.
"""

import hashlib

ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ROUNDS = 5000
ROUNDS_ALLOWED = (1000, 999999999)
SALT_LENGTH = 16

#: name -> (prefix, hash)
SCHEMES = {"sha256": ("$5$", hashlib.sha256), "sha512": ("$6$", hashlib.sha512)}


#: Salt's names of algorithms; those that are not implemented here are done by the C library.
ALGORITHMS = ("sha512", "sha256", "blowfish", "md5", "crypt")
MD5_SALT_LENGTH = 8
#: The bytes of an MD5 digest that are encoded together to four characters.
MD5_GROUPS = ((0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5))


def hash_password(password, salt, algorithm="sha512"):
    """``$6$salt$hash`` of a password. ``salt`` may begin with ``rounds=N$``.

    Raises ValueError for an invalid salt or algorithm.
    """
    if algorithm == "md5":
        return _md5(password.encode("utf-8"), _checked(salt[:MD5_SALT_LENGTH]))
    if algorithm not in SCHEMES:
        raise ValueError("unknown algorithm %r: use one of %s" % (algorithm, ", ".join(sorted(SCHEMES))))
    prefix, new = SCHEMES[algorithm]
    rounds, written = ROUNDS, ""
    if salt.startswith("rounds="):
        number, _, salt = salt[len("rounds=") :].partition("$")
        if not number.isdigit():
            raise ValueError("the rounds of a salt are a number, not %r" % number)
        rounds = min(max(int(number), ROUNDS_ALLOWED[0]), ROUNDS_ALLOWED[1])
        written = "rounds=%d$" % rounds
    salt = _checked(salt[:SALT_LENGTH])
    digest = _digest(new, password.encode("utf-8"), salt.encode("ascii"), rounds)
    return prefix + written + salt + "$" + _text(digest)


def _checked(salt):
    if any(char not in ALPHABET for char in salt):
        raise ValueError("a salt has only letters, digits, '.' and '/'")
    return salt


def _md5(key, salt):
    """``$1$salt$hash``, by Poul-Henning Kamp's algorithm of 1994."""
    new, salted = hashlib.md5, salt.encode("ascii")
    first = new(key + b"$1$" + salted + _stretch(new(key + salted + key).digest(), len(key)))
    bits = len(key)
    while bits:
        first.update(b"\0" if bits & 1 else key[:1])
        bits >>= 1
    digest = first.digest()
    for turn in range(1000):
        parts = [key if turn & 1 else digest]
        if turn % 3:
            parts.append(salted)
        if turn % 7:
            parts.append(key)
        parts.append(digest if turn & 1 else key)
        digest = new(b"".join(parts)).digest()
    groups = [_letters(digest[a] << 16 | digest[b] << 8 | digest[c], 4) for a, b, c in MD5_GROUPS]
    return "$1$%s$%s" % (salt, "".join(groups) + _letters(digest[11], 2))


def random_salt(length=SALT_LENGTH):
    """A random salt of this length."""
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
    """The digest in crypt's base 64: three bytes, a third of the digest apart, are four characters."""
    size = len(digest)
    third = size // 3
    turn = -1 if size == 32 else 1  # the direction in which the three positions rotate from group to group
    out = []
    for group in range(third):
        places = [group, group + third, group + 2 * third]
        shift = (turn * group) % 3
        places = places[shift:] + places[:shift]
        out.append(_letters(digest[places[0]] << 16 | digest[places[1]] << 8 | digest[places[2]], 4))
    rest = digest[3 * third :]
    if len(rest) == 2:
        out.append(_letters(rest[1] << 8 | rest[0], 3))
    else:
        out.append(_letters(rest[0], 2))
    return "".join(out)


def _letters(value, count):
    return "".join(ALPHABET[value >> 6 * place & 63] for place in range(count))
