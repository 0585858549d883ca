"""Random values and digests. Salt: ``salt/modules/mod_random.py``."""

__virtualname__ = "random"
__controller__ = True
__func_alias__ = {"hash_": "hash"}
__reads__ = ("get_str", "rand_int", "seed", "sample", "shuffle", "hash", "str_encode", "shadow_hash")


def __virtual__():
    return __virtualname__


def get_str(
    length=20,
    chars=None,
    lowercase=True,
    uppercase=True,
    digits=True,
    punctuation=True,
    whitespace=False,
    printable=False,
):
    """
    Return a random text of this length, from ``chars`` or from the enabled kinds of characters

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.get_str 40 punctuation=False
    """
    import string

    from thin.exceptions import SaltInvocationError

    if chars is None:
        kinds = (
            (lowercase, string.ascii_lowercase),
            (uppercase, string.ascii_uppercase),
            (digits, string.digits),
            (punctuation, string.punctuation),
            (whitespace, string.whitespace),
            (printable, string.printable),
        )
        chars = "".join(text for wanted, text in kinds if wanted)
    if not chars:
        raise SaltInvocationError("No characters to choose from.")
    return "".join(_random().choice(str(chars)) for _ in range(int(length)))


def rand_int(start=1, end=10, seed=None):
    """
    Return a random number of a range, both ends included; the same one for the same seed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.rand_int 1 6
    """
    return _random(seed).randint(start, end)


def seed(range=10, hash=None):
    """
    Return a number below ``range`` that is always the same for the same text (by default the target's id)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.seed 10
    """
    return _random(hash or __grains__["id"]).randrange(range)


def sample(value, size, seed=None):
    """
    Return this number of different items of a list, at random

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.sample '[1, 2, 3]' 2
    """
    return _random(None if seed is None else hash_(seed)).sample(list(value), size)


def shuffle(value, seed=None):
    """
    Return a list in random order

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.shuffle '[1, 2, 3]'
    """
    return sample(value, len(value), seed)


def hash_(value, algorithm="sha512"):
    """
    Return the digest of a text in hexadecimal

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.hash 'release 2.1' sha256
    """
    import hashlib

    from thin.exceptions import SaltException

    if algorithm not in hashlib.algorithms_available:
        raise SaltException("You must specify a valid algorithm.")
    return hashlib.new(algorithm, _bytes(value)).hexdigest()


def str_encode(value, encoder="base64"):
    """
    Return a text in ``base64``, or its bytes in a character set

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.str_encode 'ada:release 2.1' base64
    """
    import base64

    from thin.exceptions import SaltInvocationError

    if not isinstance(value, (str, bytes)):
        raise SaltInvocationError("Value must be an encode-able string")
    if encoder == "base64":
        return base64.b64encode(_bytes(value)).decode("ascii")
    try:
        return value.encode(encoder)
    except LookupError:
        raise SaltInvocationError("You must specify a valid encoder")
    except AttributeError:
        raise SaltInvocationError("Value must be an encode-able string")


def shadow_hash(crypt_salt=None, password=None, algorithm="sha512"):
    """
    Return the hash of a password for /etc/shadow; a random salt, or password, if none is given

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.shadow_hash Qm7xV2hs 'correct horse' sha256
    """
    from thin.exceptions import SaltInvocationError
    from thin.utils.formats import shacrypt

    password = get_str() if password is None else password
    try:
        return shacrypt.hash_password(str(password), str(crypt_salt or shacrypt.random_salt()), algorithm)
    except ValueError as exc:
        raise SaltInvocationError("No hash of this password: %s" % exc)


def _bytes(value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8")


def _random(seed=None):
    import random

    return random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311
