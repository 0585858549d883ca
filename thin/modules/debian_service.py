"""Services of a Debian system on which systemd does not run, by their init scripts. Salt: modules/debian_service.py"""

import os
import re

from thin.utils.system import initsystem

INIT_SCRIPTS = "/etc/init.d"
LINKS = "/etc/rc%s.d"

__virtualname__ = "service"

__func_alias__ = {"reload_": "reload"}
__usual__ = True
__fits__ = {"os_family": ("Debian",), "os": ("NILinuxRT",)}  # initsystem.DEBIANS
__reads__ = ("get_all", "get_enabled", "get_disabled", "available", "missing", "enabled", "disabled", "status")
__changes__ = ("start", "stop", "restart", "reload", "force_reload", "enable", "disable")


def __virtual__():
    if initsystem.manager(__grains__) == "debian":
        return __virtualname__
    return False, "The debian_service module could not be loaded: unsupported OS family and/or systemd running."


def get_all():
    """
    The sorted names of all init scripts.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    names = os.listdir(INIT_SCRIPTS) if os.path.isdir(INIT_SCRIPTS) else []
    return sorted({name for name in names if name not in ("README", "skeleton")}.union(get_enabled()))


def get_enabled():
    """
    The sorted names of the services that start at boot.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    names = set()
    for level in ("S", _runlevel()):
        folder = LINKS % level
        for link in os.listdir(folder) if os.path.isdir(folder) else ():
            match = re.match(r"S\d\d(.+)", link)
            if match:
                names.add(match.group(1))
    return sorted(names)


def get_disabled():
    """
    The sorted names of the services that do not start at boot.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_disabled
    """
    return sorted(set(get_all()).difference(get_enabled()))


def available(name):
    """
    Whether there is such a service.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    return name in get_all()


def missing(name):
    """
    The opposite of ``available``.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing telnetd
    """
    return not available(name)


def enabled(name, **kwargs):
    """
    Whether the service starts at boot.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled sshd
    """
    return name in get_enabled()


def disabled(name):
    """
    Whether there is such a service, and it does not start at boot.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled sshd
    """
    return name in get_disabled()


def status(name, sig=None):
    """
    Whether the service runs; ``{name: bool}`` for a glob. ``sig``: look for a process with these words instead.

    name
        the service's name
    sig
        look for a process with these words instead

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status sshd
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    if not any(char in name for char in "*?["):
        return _service(name, "status")
    import fnmatch

    return {one: _service(one, "status") for one in fnmatch.filter(get_all(), name)}


def start(name):
    """
    Start the service; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start sshd
    """
    return _service(name, "start")


def stop(name):
    """
    Stop the service; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop sshd
    """
    return _service(name, "stop")


def restart(name):
    """
    Restart the service; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart sshd
    """
    return _service(name, "restart")


def reload_(name):
    """
    Make the service read its configuration again; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.reload sshd
    """
    return _service(name, "reload")


def force_reload(name):
    """
    Reload the service, or restart it if it cannot reload; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.force_reload sshd
    """
    return _service(name, "force-reload")


def enable(name, **kwargs):
    """
    Start the service at boot; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable sshd
    """
    return _update_rc(name, "defaults") and _update_rc(name, "enable")


def disable(name, **kwargs):
    """
    Do not start the service at boot; returns whether it worked.

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable sshd
    """
    return _update_rc(name, "disable")


# Private functions


def _runlevel():
    if not __salt__["cmd.which"]("runlevel"):
        return "2"
    words = __salt__["cmd.run"](["runlevel"], python_shell=False, ignore_retcode=True).split()
    return words[-1] if words and re.match(r"[1-5]\Z", words[-1]) else "2"  # in a container, the runlevel is unknown


def _service(name, action):
    command = ["service", str(name), action]
    if action == "status":
        return __salt__["cmd.retcode"](command, python_shell=False, ignore_retcode=True) == 0
    return initsystem.did(__salt__, __context__, command)


def _update_rc(name, action):
    return initsystem.did(__salt__, __context__, ["update-rc.d", str(name), action])
