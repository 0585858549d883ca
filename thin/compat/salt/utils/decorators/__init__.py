"""Salt: ``salt/utils/decorators/__init__.py``."""

import functools

from thin.exceptions import CommandExecutionError, SaltInvocationError


class depends(object):
    """Removes a function from its module if a dependency is missing: a name in the module, or a false condition.

    ``fallback_function`` replaces the function. Salt also has this as ``Depends``.
    """

    def __init__(self, *dependencies, **kwargs):
        self.dependencies = dependencies
        self.params = kwargs
        self.fallback = kwargs.get("fallback_function")

    def __call__(self, function):
        waiting = function.__globals__.setdefault("__depends__", [])
        waiting.append((function.__name__, self))
        return function

    def met(self, space):
        """Whether all dependencies are there. ``space`` is the module's namespace."""
        for one in self.dependencies:
            named = not isinstance(one, str) or one in space or _program(one, self.params)
            if one is False or one is None or not named:
                return False
        return True

    @classmethod
    def enforce(cls, space):
        """Remove functions with missing dependencies from a module; called after its file has been executed."""
        for name, one in space.pop("__depends__", ()):
            if not one.met(space):
                if one.fallback is None:
                    space.pop(name, None)
                else:
                    space[name] = one.fallback


Depends = depends


def _program(name, params):
    """Whether a dependency is a command line that succeeds: as in Salt, it is one if ``retcode`` is given."""
    if params.get("retcode", params.get("nonzero_retcode")) is None:
        return False
    import subprocess

    done = subprocess.call(name, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done != 0 if params.get("nonzero_retcode") else done == params["retcode"]


def memoize(func):
    """Cache the results of a function by its arguments."""
    cache = {}

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        key = repr((args, sorted(kwargs.items())))
        if key not in cache:
            cache[key] = func(*args, **kwargs)
        return cache[key]

    return wrapper


def timing(function):
    """Log the duration of a function."""
    import logging
    import time

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        began = time.time()
        ret = function(*args, **kwargs)
        logging.getLogger(function.__module__).debug(
            "Function %s took %.5f seconds to execute", function.__name__, time.time() - began
        )
        return ret

    return wrapped


def ensure_unicode_args(function):
    """Decode bytes among the arguments."""
    from thin.utils.data import decode

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*[decode(arg) for arg in args], **{key: decode(kwargs[key]) for key in kwargs})

    return wrapped


def allow_one_of(*options):
    """Raise SaltInvocationError if more than one of these arguments is given."""

    def decorator(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            given = [name for name in options if kwargs.get(name)]
            if len(given) > 1:
                raise SaltInvocationError("Only one of the following is allowed: %s" % ", ".join(options))
            return func(*args, **kwargs)

        return wrapped

    return decorator


def require_one_of(*options):
    """Raise SaltInvocationError if none of these arguments is given."""

    def decorator(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            if not any(kwargs.get(name) for name in options):
                raise SaltInvocationError("Argument missing. Either %s must be specified" % " or ".join(options))
            return func(*args, **kwargs)

        return wrapped

    return decorator


def is_deprecated(globals=None, version=None, with_successor=None):
    """Call the function, or its successor, and log that it is deprecated."""

    def decorator(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            import logging

            logging.getLogger(func.__module__).warning('The function "%s" is deprecated.', func.__name__)
            chosen = (globals or func.__globals__).get(with_successor) if with_successor else func
            if chosen is None:
                raise CommandExecutionError('Successor function "%s" was not found.' % with_successor)
            return chosen(*args, **kwargs)

        return wrapped

    return decorator


def with_deprecated(globals=None, version=None, with_name=None, policy=None):
    """Call the function; the deprecated predecessor is not used."""
    return lambda func: func


def which(exe):
    from salt.utils.decorators.path import which as found

    return found(exe)


def which_bin(exes):
    from salt.utils.decorators.path import which_bin as found

    return found(exes)
