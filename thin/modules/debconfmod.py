"""Answers to the questions of Debian packages, with debconf-utils. Salt: modules/debconfmod.py"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath

__virtualname__ = "debconf"
__func_alias__ = {"set_": "set"}
__reads__ = ("get_selections", "show")
__changes__ = ("set", "set_file", "set_template")


def __virtual__():
    if __grains__.get("os_family") != "Debian":
        return False, "The debconfmod module could not be loaded: unsupported OS family"
    if process.which("debconf-get-selections") is None:
        return False, "The debconfmod module could not be loaded: debconf-utils is not installed."
    return __virtualname__


def get_selections(fetchempty=True):
    """``{package: [[question, type, value]]}``; questions with an empty value are left out if ``fetchempty`` is
    False."""
    selections = {}
    output = __salt__["cmd.run_stdout"](["debconf-get-selections"], python_shell=False, output_loglevel="quiet")
    for line in output.splitlines():
        words = line.split("\t", 3)
        if len(words) > 2 and not line.startswith("#"):
            package, question, kind = (word.strip() for word in words[:3])
            value = words[3] if len(words) > 3 else ""
            if fetchempty or value:
                selections.setdefault(package, []).append([question, kind, value])
    return selections


def show(name):
    """``[[question, type, value]]`` of a package, None if it has no questions."""
    return get_selections().get(name)


def set_(package, question, type, value, *extra):
    """Answer a question; returns True. Raises CommandExecutionError with debconf's message."""
    value = " ".join([str(value)] + [str(one) for one in extra])
    _load(("%s %s %s %s\n" % (package, question, type, value)).encode("utf-8"))
    return True


def set_file(path, saltenv="base", **kwargs):
    """Answer questions from a file of lines; returns whether the file exists."""
    cached = __salt__["cp.cache_file"](path, saltenv)
    if not cached:
        return False
    with open(cached, "rb") as stream:
        _load(stream.read())
    return True


def set_template(path, template, context, defaults, saltenv="base", **kwargs):
    """Answer questions from a file that is rendered from a template; returns whether it exists."""
    cached = __salt__["cp.get_template"](path, None, template, saltenv, context=context, defaults=defaults)
    try:
        return bool(cached) and set_file(cached, saltenv)
    finally:
        if cached:
            safepath.unlink(cached)  # a private copy, with the answers in it


def _load(lines):
    """Set answers through a private file, not through arguments: some are secret."""
    from thin.utils.files import osutil

    descriptor, path = osutil.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(lines)
        done = __salt__["cmd.run_all"](["debconf-set-selections", path], python_shell=False, output_loglevel="quiet")
    finally:
        safepath.unlink(path)
    if done["retcode"] != 0:
        raise CommandExecutionError("debconf-set-selections failed: %s" % (done["stderr"] or done["stdout"]))
