"""Pythons by pyenv. Salt: modules/pyenv.py

It is installed in ``/usr/local/pyenv``, or for a user in ``~/.pyenv``; the option ``pyenv.root`` changes this; the
option ``pyenv.build_env`` has variables for builds (``CFLAGS=-O3 MAKE_OPTS=-j4``).
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils import words

__func_alias__ = {"list_": "list"}
__reads__ = ("is_installed", "versions", "list")
__changes__ = ("install", "update", "install_python", "uninstall_python", "default", "rehash", "do", "do_with_python")

_URL = "https://github.com/pyenv/pyenv.git"


def install(runas=None, path=None):
    """
    Install pyenv, with git; whether it is there

    runas
        The user whose pyenv it is
    path
        Its folder, if it is not the default one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.install
    """
    path = os.path.expanduser(path or _path(runas))
    return os.path.isdir(path) or _works(["git", "clone", _URL, path], runas)


def update(runas=None, path=None):
    """
    Update pyenv, with git; whether it worked

    runas
        The user whose pyenv it is
    path
        Its folder, if it is not the default one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.update
    """
    path = os.path.expanduser(path or _path(runas))
    return os.path.isdir(path) and _works(["git", "-C", path, "pull"], runas)


def is_installed(runas=None):
    """
    Whether pyenv is there

    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.is_installed
    """
    return __salt__["cmd.has_exec"](_program(runas))


def install_python(python, runas=None):
    """
    Build a Python; returns the output of pyenv, or False if it failed

    python
        Its version, also with ``python-`` before it
    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.install_python 3.12.4
    """
    python, env = _version(python), {}
    if __grains__.get("os") in ("FreeBSD", "NetBSD", "OpenBSD"):
        env["MAKE"] = "gmake"
    for word in words.split(__salt__["config.option"]("pyenv.build_env") or ""):
        name, _, value = word.partition("=")
        env[name] = value
    done = _pyenv(["install", python], runas, env)
    if done["retcode"]:
        uninstall_python(python, runas=runas)
        return False
    rehash(runas=runas)
    return done["stderr"]


def uninstall_python(python, runas=None):
    """
    Remove a Python; True

    python
        Its version, also with ``python-`` before it
    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.uninstall_python 3.12.4
    """
    _pyenv(["uninstall", "--force", _version(python)], runas)
    return True


def versions(runas=None):
    """
    Return the versions that are installed

    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.versions
    """
    done = _pyenv(["versions", "--bare"], runas)
    return [] if done["retcode"] else done["stdout"].splitlines()


def default(python=None, runas=None):
    """
    Return the default version, or change it

    python
        The version
    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.default
        pushsalt run '*' pyenv.default 3.12.4
    """
    done = _pyenv(["global"] + ([str(python)] if python else []), runas)
    return True if python else "" if done["retcode"] else done["stdout"].strip()


def list_(runas=None):
    """
    Return the versions that can be installed

    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.list
    """
    lines = [line.strip() for line in _pyenv(["install", "--list"], runas)["stdout"].splitlines()]
    return [line for line in lines if line != "Available versions:"]


def rehash(runas=None):
    """
    Update the links to the programs of all versions; returns True

    runas
        The user whose pyenv is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.rehash
    """
    _pyenv(["rehash"], runas)
    return True


def do(cmdline=None, runas=None):
    """
    Run a command with the Python that is selected in the user's home; returns its output, or False if it fails

    cmdline
        The command
    runas
        The user who runs it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.do 'version-name'
    """
    return _do(cmdline, runas, {})


def do_with_python(python, cmdline, runas=None):
    """
    Run a command with this version of Python; returns its output, or False if it fails

    python
        The version
    cmdline
        The command
    runas
        The user who runs it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pyenv.do_with_python 3.12.4 'pip list'
    """
    return _do(cmdline, runas, {"PYENV_VERSION": str(python)} if python else {})


def _path(runas):
    path = __salt__["config.option"]("pyenv.root")
    return os.path.expanduser(path or ("/usr/local/pyenv" if runas in (None, "root") else "~%s/.pyenv" % runas))


def _program(runas):
    return os.path.join(_path(runas), "bin", "pyenv")


def _version(python):
    python = str(python)
    return python[7:] if python.startswith("python-") else python


def _works(command, runas):
    return __salt__["cmd.retcode"](command, runas=runas, python_shell=False) == 0


def _pyenv(args, runas, env=None):
    """What cmd.run_all returns; a failure if pyenv is not installed."""
    if not is_installed(runas):
        return {"retcode": 127, "stdout": "", "stderr": "pyenv is not installed"}
    env = dict(env or {}, PYENV_ROOT=_path(runas))
    return __salt__["cmd.run_all"]([_program(runas)] + args, runas=runas, env=env, python_shell=False)


def _do(cmdline, runas, env):
    if not cmdline:
        raise CommandExecutionError("There is no command to run")
    shims = os.path.join(_path(runas), "shims")
    done = __salt__["cmd.run_all"](cmdline, runas=runas, env=env, prepend_path=shims, python_shell=False)
    if done["retcode"]:
        return False
    rehash(runas=runas)
    return done["stdout"]
