"""Shutdown, names, remote access and startup of macOS, by shutdown(8), systemsetup(8) and scutil(8).

Salt: modules/mac_system.py
"""

from thin.exceptions import SaltInvocationError
from thin.utils.programs import macos

__virtualname__ = "system"
__fits__ = {"kernel": ("Darwin",)}
__reads__ = (
    "get_computer_name",
    "get_subnet_name",
    "get_remote_login",
    "get_remote_events",
    "get_startup_disk",
    "list_startup_disks",
    "get_restart_delay",
    "get_disable_keyboard_on_lock",
    "get_boot_arch",
)
__changes__ = (
    "halt",
    "shutdown",
    "sleep",
    "restart",
    "set_computer_name",
    "set_subnet_name",
    "set_remote_login",
    "set_remote_events",
    "set_startup_disk",
    "set_restart_delay",
    "set_disable_keyboard_on_lock",
    "set_boot_arch",
)

ARCHITECTURES = ("i386", "x86_64", "default")


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "The mac_system module could not be loaded: module only works on MacOS systems."


# Shutdown


def halt(at_time=None):
    """
    Halt the machine; returns whether the command worked

    at_time
        when, in the format of at(1); by default now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.halt '10:45 PM'
    """
    return _shutdown("-h", at_time)


def shutdown(at_time=None):
    """
    Shut the machine down; returns whether the command worked

    at_time
        when, in the format of at(1); by default now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.shutdown
    """
    return _shutdown("-h", at_time)


def sleep(at_time=None):
    """
    Put the machine to sleep; returns whether the command worked

    at_time
        when, in the format of at(1); by default now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.sleep
    """
    return _shutdown("-s", at_time)


def restart(at_time=None):
    """
    Restart the machine; returns whether the command worked

    at_time
        when, in the format of at(1); by default now

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.restart
    """
    return _shutdown("-r", at_time)


# Names


def get_computer_name():
    """
    Return the name of the computer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_computer_name
    """
    return macos.value(macos.ask(__salt__, ["scutil", "--get", "ComputerName"]))


def set_computer_name(name):
    """
    Set the name of the computer; returns whether that is its name now

    name
        the name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_computer_name 'Build host 3'
    """
    macos.ask(__salt__, ["scutil", "--set", "ComputerName", name])
    return _confirmed(name, get_computer_name)


def get_subnet_name():
    """
    Return the name in the local network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_subnet_name
    """
    return _ask("-getlocalsubnetname")


def set_subnet_name(name):
    """
    Set the name in the local network; returns whether that is its name now

    name
        the name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_subnet_name adas-mac
    """
    _do("-setlocalsubnetname", name)
    return _confirmed(name, get_subnet_name)


# Remote access


def get_remote_login():
    """
    Return whether logins by SSH are enabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_remote_login
    """
    return macos.on_off(_ask("-getremotelogin")) == "on"


def set_remote_login(enable):
    """
    Enable or disable logins by SSH; returns whether the setting is as wanted

    enable
        ``on`` or ``off``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_remote_login on
    """
    state = macos.on_off(enable)
    _do("-f", "-setremotelogin", state)
    return _confirmed(state == "on", get_remote_login)


def get_remote_events():
    """
    Return whether remote Apple events are enabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_remote_events
    """
    return macos.on_off(_ask("-getremoteappleevents")) == "on"


def set_remote_events(enable):
    """
    Enable or disable remote Apple events; returns whether the setting is as wanted

    enable
        ``on`` or ``off``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_remote_events on
    """
    state = macos.on_off(enable)
    _do("-setremoteappleevents", state)
    return _confirmed(state == "on", get_remote_events)


# Startup


def get_startup_disk():
    """
    Return the disk that the machine starts from

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_startup_disk
    """
    return _ask("-getstartupdisk")


def list_startup_disks():
    """
    Return the disks that the machine could start from

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.list_startup_disks
    """
    return macos.ask(__salt__, ["systemsetup", "-liststartupdisks"]).splitlines()


def set_startup_disk(path):
    """
    Set the disk that the machine starts from; returns whether it is set. Raises SaltInvocationError for an unknown disk

    path
        the disk, as ``list_startup_disks`` has it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_startup_disk /Volumes/Rescue/System/Library/CoreServices
    """
    if path not in list_startup_disks():
        raise SaltInvocationError(
            "Invalid value passed for path.\nMust be a valid startup disk as found in system.list_startup_disks.\n"
            "Passed: %s" % path
        )
    _do("-setstartupdisk", path)
    return _confirmed(path, get_startup_disk)


def get_restart_delay():
    """
    Return the number of seconds between a power failure and the restart

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_restart_delay
    """
    return _ask("-getwaitforstartupafterpowerfailure")


def set_restart_delay(seconds):
    """
    Set the time between a power failure and the restart; returns whether it is set

    seconds
        a multiple of 30

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_restart_delay 300
    """
    if int(seconds) % 30 != 0:
        raise SaltInvocationError("Invalid value passed for seconds.\nMust be a multiple of 30.\nPassed: %s" % seconds)
    _do("-setwaitforstartupafterpowerfailure", seconds)
    return str(seconds) in get_restart_delay()


def get_disable_keyboard_on_lock():
    """
    Return whether the keyboard is disabled while the enclosure is locked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_disable_keyboard_on_lock
    """
    return macos.on_off(_ask("-getdisablekeyboardwhenenclosurelockisengaged")) == "on"


def set_disable_keyboard_on_lock(enable):
    """
    Disable or enable the keyboard while the enclosure is locked; returns whether the setting is as wanted

    enable
        ``on`` or ``off``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_disable_keyboard_on_lock on
    """
    state = macos.on_off(enable)
    _do("-setdisablekeyboardwhenenclosurelockisengaged", state)
    return _confirmed(state == "on", get_disable_keyboard_on_lock)


def get_boot_arch():
    """
    Return the architecture that the kernel starts with: ``default``, ``i386``, ``x86_64`` or ``unknown``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.get_boot_arch
    """
    output = _ask("-getkernelbootarchitecturesetting")
    return next((name for name in ("default", "i386", "x86_64") if name in output), "unknown")


def set_boot_arch(arch="default"):
    """
    Set the architecture that the kernel starts with; returns whether it is set

    arch
        ``default``, ``i386`` or ``x86_64``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' system.set_boot_arch x86_64
    """
    if arch not in ARCHITECTURES:
        raise SaltInvocationError(
            "Invalid value passed for arch.\nMust be i386, x86_64, or default.\nPassed: %s" % arch
        )
    _do("-setkernelbootarchitecture", arch)
    return _confirmed(arch, get_boot_arch)


# Private functions


def _shutdown(how, at_time):
    if at_time:
        command, options = ["at", str(at_time)], {"stdin": "shutdown %s now\n" % how}
    else:
        command, options = ["shutdown", how, "now"], {}
    return __salt__["cmd.retcode"](command, python_shell=False, **options) == 0


def _ask(option):
    return macos.value(macos.ask(__salt__, ["systemsetup", option]))


def _do(*words):
    macos.ask(__salt__, ["systemsetup"] + list(words))


def _confirmed(wanted, ask):
    """Whether the setting has the wanted value, checked several times."""
    import time

    for turn in range(5):
        if turn:
            time.sleep(1)
        if ask() == wanted:
            return True
    return False
