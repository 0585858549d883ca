"""Functions for tests: fixed results, arguments, errors, versions. Salt: ``salt/modules/test.py``.

testoptions.py has functions for the options and modules of a target.
"""

import time

__controller__ = (
    "echo",
    "version",
    "versions",
    "versions_report",
    "versions_information",
    "kwarg",
    "arg",
    "arg_type",
    "arg_repr",
    "arg_clean",
    "fib",
    "collatz",
    "outputter",
    "rand_str",
    "random_hash",
    "true",
    "false",
)

__func_alias__ = {"true_": "true", "false_": "false", "try_": "try"}
__usual__ = True
__reads__ = (
    "ping",
    "echo",
    "sleep",
    "rand_sleep",
    "version",
    "versions_information",
    "versions_report",
    "versions",
    "kwarg",
    "arg",
    "arg_type",
    "arg_repr",
    "arg_clean",
    "fib",
    "collatz",
    "outputter",
    "retcode",
    "rand_str",
    "random_hash",
    "exception",
    "raise_exception",
    "stack",
    "assertion",
    "true",
    "false",
    "deprecation_warning",
    "tty",
)
#: Functions that call another function, which the caller names.
__changes__ = ("cross_test", "try")


def ping():
    """
    Return True: the target is reached, and modules run there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.ping
    """
    return True


def echo(text):
    """
    Return the text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.echo 'good morning'
    """
    return text


def sleep(length):
    """
    Wait for a number of seconds

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.sleep 1.5
    """
    time.sleep(int(length))
    return True


def rand_sleep(max=60):
    """
    Wait for some seconds, at most ``max``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.rand_sleep 5
    """
    import random

    time.sleep(random.randint(0, int(max)))  # noqa: S311
    return True


def version():
    """
    Return the version of Salt that pushsalt imitates

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.version
    """
    return __grains__.get("saltversion", "3008.3")


def versions_information():
    """
    Return the versions of Salt (that pushsalt imitates), Python and the system

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.versions_information
    """
    import platform

    return {
        "Salt Version": {"Salt": version()},
        "Dependency Versions": {"Python": platform.python_version()},
        "System Versions": {
            "dist": " ".join(str(__grains__.get(name, "")) for name in ("os", "osrelease", "oscodename")).strip(),
            "machine": platform.machine(),
            "release": platform.release(),
            "system": platform.system(),
        },
    }


def versions_report():
    """
    Return the result of ``test.versions_information`` as text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.versions_report
    """
    lines = []
    for title, items in versions_information().items():
        lines.append("%s:" % title)
        lines.extend("%20s: %s" % (name, items[name]) for name in sorted(items))
        lines.append("")
    return "\n".join(lines)


versions = versions_report


def cross_test(func, args=None):
    """
    Call another function

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.cross_test grains.get os
    """
    return __salt__[func](*([args] if args is not None and not isinstance(args, list) else args or []))


def kwarg(**kwargs):
    """
    Return the keyword arguments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.kwarg port=8080 host="web01" env='{mode: production}'
    """
    return kwargs


def arg(*args, **kwargs):
    """
    Return the arguments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.arg 8080 "web01" 2.5 stage="test" env='{mode: production}'
    """
    return {"args": args, "kwargs": kwargs}


def arg_type(*args, **kwargs):
    """
    Return the types of the arguments

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.arg_type 8080 'web01'
    """
    return {"args": [str(type(value)) for value in args], "kwargs": {key: str(type(kwargs[key])) for key in kwargs}}


def arg_repr(*args, **kwargs):
    """
    Return the arguments in Python's notation

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.arg_repr 8080 "web01" 2.5 stage="test"
    """
    return {"args": repr(args), "kwargs": repr(kwargs)}


def arg_clean(*args, **kwargs):
    """
    Return the arguments without those that begin with two underscores

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.arg_clean 8080 "web01" 2.5 stage="test"
    """
    return {"args": args, "kwargs": {key: kwargs[key] for key in kwargs if not key.startswith("__")}}


def fib(num):
    """
    Return a Fibonacci number, and the seconds that it took

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.fib 12
    """
    num = int(num)
    if num < 0:
        raise ValueError("Negative number is not allowed!")
    start, before, last = time.time(), 0, 1
    for _ in range(num - 1):
        before, last = last, before + last
    return (last if num else 0), time.time() - start


def collatz(start):
    """
    Return the steps of Collatz' conjecture from a number on, and the seconds it took

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.collatz 27
    """
    number, begin, steps = int(start), time.time(), []
    if number < 1:
        raise ValueError("The number must be positive")
    while number != 1:
        steps.append(number)
        number = number // 2 if number % 2 == 0 else number * 3 + 1
    return steps, time.time() - begin


def outputter(data):
    """
    Return the data, to test an outputter

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.outputter 'web01 is up'
    """
    return data


def retcode(code=42):
    """
    Set the return code of the call

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.retcode 7
    """
    __context__["retcode"] = code
    return True


def rand_str(size=9999999999, hash_type=None):
    """
    Return a random text, the hash of a random number below ``size``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.rand_str
    """
    import hashlib
    import random

    number = random.SystemRandom().randint(0, int(size))
    return hashlib.new(hash_type or __opts__.get("hash_type", "sha256"), str(number).encode()).hexdigest()


random_hash = rand_str


def exception(message="Test Exception"):
    """
    Raise an exception

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.exception 'The disk is full'
    """
    raise Exception(message)


def raise_exception(name, *args, **kwargs):
    """
    Raise an exception of this class: one of Python's, or ``salt.exceptions.Name``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.raise_exception ValueError 'A port is a number'
        pushsalt run '*' test.raise_exception salt.exceptions.SaltInvocationError 'A port is missing'
    """
    import builtins

    from thin import exceptions

    if name.startswith("salt.exceptions."):
        exception = getattr(exceptions, name.rsplit(".", 1)[1], None)
    else:
        exception = getattr(builtins, name, None)
    if not isinstance(exception, type) or not issubclass(exception, Exception):
        return False
    raise exception(*args, **arg_clean(**kwargs)["kwargs"])


def stack():
    """
    Return the stack of calls

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.stack
    """
    import traceback

    return "".join(traceback.format_stack())


def try_(module, return_try_exception=False, **kwargs):
    """
    Call another function; returns None, or the exception as text if it raises one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.try 'cmd.run' cmd=nosuch
    """
    try:
        return __salt__[module](**arg_clean(**kwargs)["kwargs"])
    except Exception as exc:
        return exc if return_try_exception else None


def assertion(assertion):
    """
    Raise AssertionError unless the value is true

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.assertion False
    """
    if not assertion:
        raise AssertionError("the assertion does not hold")


def true_():
    """
    Return True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.true
    """
    return True


def false_():
    """
    Return False

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.false
    """
    return False


def deprecation_warning():
    """
    Return True, after two warnings that something is deprecated

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.deprecation_warning
    """
    import os

    from thin.log import getLogger

    if os.environ.get("PYTHONWARNINGS") != "ignore":
        for how in ("version", "date very far into the future (3000-01-01)"):
            getLogger(__name__).warning("DeprecationWarning: This is a test deprecation warning by %s.", how)
    return True


def tty(*args, **kwargs):
    """
    Return a reference to cmd.tty

    args, kwargs
        Ignored

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' test.tty pts/0 'web01 restarts at noon'
    """
    return "ERROR: This function has been moved to cmd.tty"
