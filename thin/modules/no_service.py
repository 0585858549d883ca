"""The module ``service`` of a system without an init system, such as a container.

No service is available or runs, and starting one is an error that gives the reason.
"""

from thin.exceptions import CommandExecutionError
from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd

__func_alias__ = {"reload_": "reload"}
__reads__ = ("get_all", "get_enabled", "get_disabled", "available", "missing", "status", "enabled", "disabled")
__changes__ = ("start", "stop", "restart", "reload", "enable", "disable")

WHY = "this system has no service manager (no systemd, OpenRC, runit or init scripts)"


def __virtual__():
    if initsystem.manager(__grains__) is None:
        return __virtualname__
    return False, "The no_service module is for systems without a service manager"


def get_all():
    """
    Return []: there are no services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    return []


def get_enabled():
    """
    Return []: no service starts at boot

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    return []


def get_disabled():
    """
    Return []: there are no services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_disabled
    """
    return []


def available(name):
    """
    Return False: there are no services

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    __context__["service.complaint"] = WHY
    return False


def missing(name):
    """
    Return True: there are no services

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing telnetd
    """
    return True


def status(name, sig=None):
    """
    Return False: no service runs

    name
        a service's name
    sig
        look for a process with this text in its command line instead

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status sshd
    """
    return bool(__salt__["status.pid"](sig)) if sig else False


def enabled(name, **kwargs):
    """
    Return False: no service starts at boot

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled sshd
    """
    return False


def disabled(name):
    """
    Return True: no service starts at boot

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled sshd
    """
    return True


def start(name):
    """
    Raise an error: there is no init system

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start sshd
    """
    raise _cannot("start", name)


def stop(name):
    """
    Raise an error: there is no init system

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop sshd
    """
    raise _cannot("stop", name)


def restart(name):
    """
    Raise an error: there is no init system

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart sshd
    """
    raise _cannot("restart", name)


def reload_(name):
    """
    Raise an error: there is no init system

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.reload sshd
    """
    raise _cannot("reload", name)


def enable(name, **kwargs):
    """
    Raise an error: there is no init system

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable sshd
    """
    raise _cannot("enable", name)


def disable(name, **kwargs):
    """
    Raise an error: there is no init system

    name
        a service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable sshd
    """
    raise _cannot("disable", name)


def _cannot(verb, name):
    return CommandExecutionError("Cannot %s the service %s: %s" % (verb, name, WHY))
