"""Installed programs and shells, and texts for terminals: a part of ``cmd``. Salt: ``salt/modules/cmdmod.py``."""

import os

from thin import process
from thin.utils.files import safepath
from thin.utils.programs.commands import valid_shells

__virtualname__ = "cmd"
__usual__ = True
__reads__ = ("which", "which_bin", "has_exec", "shells", "shell_info")
__changes__ = ("tty",)

#: shell -> (pattern of its version, the command that prints it)
_SHELLS = {
    "bash": (r"version (\d\S*)", ["bash", "--version"]),
    "bash-test-error": (r"versioZ ([-\w.]+)", ["bash", "--version"]),
    "bash-test-env": (r"(HOME=.*)", ["bash", "-c", "declare"]),
    "zsh": (r"^zsh (\d\S*)", ["zsh", "--version"]),
    "tcsh": (r"^tcsh (\d\S*)", ["tcsh", "--version"]),
    "cmd": (r"Version ([\d.]+)", ["cmd.exe", "/C", "ver"]),
    "powershell": (r"PSVersion\s+(\d\S*)", ["powershell", "-NonInteractive", "$PSVersionTable"]),
    "perl": (r"^(\d\S*)", ["perl", "-e", 'printf "%vd\n", $^V;']),
    "python": (r"^Python (\d\S*)", ["python", "-V"]),
    "ruby": (r"^ruby (\d\S*)", ["ruby", "-v"]),
    "php": (r"^PHP (\d\S*)", ["php", "-v"]),
}


def which(cmd):
    """
    Return the full path of a program, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.which systemctl
    """
    return process.which(cmd) if cmd else None


def which_bin(cmds):
    """
    Return the full path of the first of these programs that is installed, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.which_bin '[pip3, pip]'
    """
    for cmd in cmds if isinstance(cmds, (list, tuple, set)) else ():
        program = which(cmd)
        if program:
            return program
    return None


def has_exec(cmd):
    """
    Whether a program is installed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.has_exec systemctl
    """
    return which(cmd) is not None


def shells():
    """
    Return the shells of /etc/shells

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.shells
    """
    return valid_shells() or []


def shell_info(shell, list_modules=False):
    """
    Return data about a shell: ``{installed, path, version, version_raw}``; ``error`` if the version is unknown

    shell
        bash, zsh, tcsh, perl, python, ruby, php, cmd or powershell
    list_modules
        For Windows

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.shell_info zsh
    """
    import re

    if shell not in _SHELLS:
        return {"error": "Salt does not know how to get the version number for %s" % shell, "installed": None}
    pattern, argv = _SHELLS[shell]
    env = dict(os.environ)
    env.setdefault("HOME", os.path.expanduser("~"))
    try:
        done = process.run(argv, env=env, merge=True, timeout=10)
    except OSError as exc:
        return {"error": "Unable to run command '%s' Reason: %s" % (" ".join(argv), exc), "installed": False}
    if done.timed_out:
        return {"error": "Unable to run command '%s' Reason: Timed out." % " ".join(argv), "installed": False}
    text = done.stdout.decode("utf-8", "replace")
    ret = {"installed": None, "path": process.which(argv[0])}
    match = re.search(pattern, text, re.IGNORECASE)
    if match:
        ret.update(version_raw=match.group(1), installed=False)
    number = re.match(r"\d[\d.]*", ret.get("version_raw", ""))
    if number:
        parts = number.group().split(".")[:3]
        ret.update(installed=True, version=".".join(parts + (["0"] if len(parts) == 1 else [])))
    else:
        ret["error"] = "The version regex pattern for shell %s, could not find the version string" % shell
        ret["stdout"] = text
    return ret


def tty(device, echo=""):
    """
    Write a text to a terminal (``tty1``, ``pts3``)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.tty pts/0 'web01 restarts at noon'
    """
    if device.startswith("tty"):
        path = "/dev/" + device
    elif device.startswith("pts"):
        path = "/dev/" + device.replace("pts", "pts/")
    else:
        return {"Error": "The specified device is not a valid TTY"}
    try:
        with open(path, "wb", opener=safepath.opener) as handle:
            handle.write(str(echo).encode("utf-8"))
    except OSError:
        return {"Error": "Echoing to %s returned error" % path}
    return {"Success": "Message was successfully echoed to %s" % path}
