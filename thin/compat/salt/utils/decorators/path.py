"""Salt: ``salt/utils/decorators/path.py``."""

import functools

from salt.utils import path

from thin.exceptions import CommandNotFoundError


def which(exe):
    """Raise CommandNotFoundError on a call if there is no such program."""
    return _needs(lambda: path.which(exe), "The '%s' binary was not found in $PATH." % exe)


def which_bin(exes):
    """Raise CommandNotFoundError on a call if there is none of these programs."""
    return _needs(lambda: path.which_bin(exes), "None of provided binaries(%s) was found in $PATH." % list(exes))


def _needs(exists, text):
    def decorator(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            if exists() is None:
                raise CommandNotFoundError(text)
            return function(*args, **kwargs)

        return wrapped

    return decorator
