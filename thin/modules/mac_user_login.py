"""Automatic login of a user when macOS starts: a part of ``user``. Salt: modules/mac_user.py"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath

__virtualname__ = "user"
__fits__ = {"kernel": ("Darwin",)}
__reads__ = ("get_auto_login",)
__changes__ = ("enable_auto_login", "disable_auto_login")

LOGIN_WINDOW = "/Library/Preferences/com.apple.loginwindow.plist"
KCPASSWORD = "/etc/kcpassword"
#: the mask of the login window's file
MASK = (0x7D, 0x89, 0x52, 0x23, 0xD2, 0xBC, 0xDD, 0xEA, 0xA3, 0xB9, 0x1F)


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "Only available on Mac OS 10.7+ systems"


def get_auto_login():
    """
    Return the user who is logged in automatically at start; False for none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.get_auto_login
    """
    command = ["defaults", "read", LOGIN_WINDOW, "autoLoginUser"]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True)
    return False if done["retcode"] else done["stdout"]


def enable_auto_login(name, password):
    """
    Log the user in automatically when the machine starts; returns whether that is set

    name
        the user's name
    password
        the password; it is stored on the machine in /etc/kcpassword, without encryption

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.enable_auto_login ada secret
    """
    from thin.utils.files import atomic

    command = ["defaults", "write", LOGIN_WINDOW, "autoLoginUser", str(name)]
    __salt__["cmd.run"](command, python_shell=False)
    try:
        atomic.write(KCPASSWORD, _masked(str(password)), mode=0o600)
    except OSError as exc:
        raise CommandExecutionError("Could not write to file: %s (%s)" % (KCPASSWORD, exc.strerror))
    now = get_auto_login()
    return now if isinstance(now, bool) else now.lower() == str(name).lower()


def disable_auto_login():
    """
    Disable the automatic login; returns whether it is disabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.disable_auto_login
    """
    if os.path.lexists(KCPASSWORD):
        safepath.unlink(KCPASSWORD)
    __salt__["cmd.run_all"](
        ["defaults", "delete", LOGIN_WINDOW, "autoLoginUser"], python_shell=False, ignore_retcode=True
    )
    return not get_auto_login()


def _masked(password):
    """The bytes of kcpassword: the password, padded with zeros to a multiple of twelve, and masked."""
    data = bytearray(password.encode("utf-8") + b"\0")
    data += bytes(-len(data) % (len(MASK) + 1))
    masked = bytearray()
    for at in range(0, len(data), len(MASK)):
        masked += bytearray(byte ^ MASK[number] for number, byte in enumerate(data[at : at + len(MASK)]))
    return bytes(masked)
