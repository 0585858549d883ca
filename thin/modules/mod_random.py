"""Random values. Salt: ``salt/modules/mod_random.py``."""

__virtualname__ = "random"


def __virtual__():
    return __virtualname__


def get_str(length=20, chars=None, lowercase=True, uppercase=True, digits=True, punctuation=True, whitespace=False,
            printable=False):
    """
    Return a random text of this length, of ``chars`` or of the kinds that are on

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.get_str 128 punctuation=False
    """
    import string

    from thin.exceptions import SaltInvocationError

    if chars is None:
        kinds = ((lowercase, string.ascii_lowercase), (uppercase, string.ascii_uppercase), (digits, string.digits),
                 (punctuation, string.punctuation), (whitespace, string.whitespace), (printable, string.printable))
        chars = "".join(text for wanted, text in kinds if wanted)
    if not chars:
        raise SaltInvocationError("No characters to choose from.")
    return "".join(_random().choice(str(chars)) for _ in range(int(length)))


def rand_int(start=1, end=10, seed=None):
    """
    Return a random number of a range, both ends included; the same one for the same seed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.rand_int 1 10
    """
    return _random(seed).randint(start, end)


def seed(range=10, hash=None):
    """
    Return a number below ``range`` which is always the same for a text (the target's id)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.seed 10
    """
    return _random(hash or __grains__["id"]).randrange(range)


def sample(value, size, seed=None):
    """
    Return so many different items of a list, at random

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.sample '[1, 2, 3]' 2
    """
    return _random(seed).sample(list(value), size)


def shuffle(value, seed=None):
    """
    Return a list in random order

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' random.shuffle '[1, 2, 3]'
    """
    return sample(value, len(value), seed)


def _random(seed=None):
    import random

    return random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311
