"""The layout of the keyboard, on the console and under X. Salt: modules/keyboard.py"""

import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__reads__ = ("get_sys", "get_x")
__changes__ = ("set_sys", "set_x")

#: the configuration file of systems without localectl: os_family -> (file, variable)
_FILES = {
    "RedHat": ("/etc/sysconfig/keyboard", "LAYOUT"),
    "Debian": ("/etc/default/keyboard", "XKBLAYOUT"),
    "Gentoo": ("/etc/conf.d/keymaps", "keymap"),
}


def __virtual__():
    if process.which("localectl") or __grains__.get("os_family") in _FILES:
        return True
    return False, (
        "The keyboard exeuction module cannot be loaded: only works on Redhat, Debian or Gentoo systems or "
        "if localectl binary in path."
    )


def get_sys():
    """
    Return the layout of the console

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' keyboard.get_sys
    """
    if process.which("localectl"):
        done = _run(["localectl", "status"])
        match = re.search(r"(?m)^\s*VC Keymap:\s*(.*?)\s*$", done["stdout"])
        if not match:
            raise CommandExecutionError("localectl does not tell the layout: %s" % (done["stderr"] or done["stdout"]))
        return match.group(1)
    path, variable = _FILES[__grains__["os_family"]]
    match = re.search(r"(?m)^\s*%s=(.*)$" % variable, textfile.read(path, ""))
    if not match:
        raise CommandExecutionError("There is no %s in %s" % (variable, path))
    return match.group(1).strip().replace('"', "")


def set_sys(layout):
    """
    Set the layout of the console; returns it

    layout
        Such as dvorak

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' keyboard.set_sys de-nodeadkeys
    """
    if process.which("localectl"):
        _run(["localectl", "set-keymap", str(layout)])
        return layout
    path, variable = _FILES[__grains__["os_family"]]
    text = textfile.read(path)
    if text is None:
        raise CommandExecutionError("There is no %s" % path)
    textfile.write(path, re.sub(r"(?m)^%s=.*$" % variable, lambda _: "%s=%s" % (variable, layout), text))
    return layout


def get_x():
    """
    Return the layout under X

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' keyboard.get_x
    """
    done = _run(["setxkbmap", "-query"])
    match = re.search(r"(?m)^layout:\s*(.*?)\s*$", done["stdout"])
    if not match:
        raise CommandExecutionError("setxkbmap does not tell the layout: %s" % (done["stderr"] or done["stdout"]))
    return match.group(1)


def set_x(layout):
    """
    Set the layout under X; returns it

    layout
        Such as dvorak

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' keyboard.set_x de
    """
    _run(["setxkbmap", str(layout)])
    return layout


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False)
