"""Services that are only init scripts: no tool reports which of them start at boot. Salt: modules/linux_service.py"""

import os

from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd

__func_alias__ = {"reload_": "reload"}
__reads__ = ("get_all", "available", "missing", "status")
__changes__ = ("run", "start", "stop", "restart", "reload")


def __virtual__():
    if initsystem.manager(__grains__) == "scripts":
        return __virtualname__
    return False, "Your OS is on the disabled list"


def run(name, action):
    """
    Call the service's script with an action; returns whether it worked

    name
        the service's name
    action
        the script's argument

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.run nginx configtest
    """
    return initsystem.did(__salt__, __context__, [os.path.join(_folder(), str(name)), action])


def get_all():
    """
    Return the sorted names of all init scripts

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    return sorted(os.listdir(_folder())) if os.path.isdir(_folder()) else []


def available(name):
    """
    Return whether there is such a script

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    return name in get_all()


def missing(name):
    """
    Return whether there is no such script

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing telnetd
    """
    return name not in get_all()


def status(name, sig=None):
    """
    Return the numbers of the service's processes, "" for none; ``{service: numbers}`` for a glob

    name
        the service's name, or a glob
    sig
        look for a process with this text in its command line instead of the name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status sshd
    """
    if sig or not initsystem.is_glob(name):
        return __salt__["status.pid"](sig or name)
    return {one: __salt__["status.pid"](one) for one in initsystem.matching(name, get_all())}


def start(name):
    """
    Start the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start sshd
    """
    return run(name, "start")


def stop(name):
    """
    Stop the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop sshd
    """
    return run(name, "stop")


def restart(name):
    """
    Restart the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart sshd
    """
    return run(name, "restart")


def reload_(name):
    """
    Make the service read its configuration again; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.reload sshd
    """
    return run(name, "reload")


def _folder():
    return "/etc/init.d" if os.path.isdir("/etc/init.d") else "/etc/rc.d"
