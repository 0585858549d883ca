"""Services under OpenRC (Alpine, Gentoo, Artix …), by rc-service and rc-update. Salt: modules/gentoo_service.py

A service is enabled when it is in some runlevel. The message of a failed command is kept for the state's comment.
"""

from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd

__func_alias__ = {"reload_": "reload"}
__reads__ = ("get_all", "get_enabled", "get_disabled", "available", "missing", "status", "enabled", "disabled")
__changes__ = ("start", "stop", "restart", "reload", "zap", "enable", "disable")


def __virtual__():
    if initsystem.manager(__grains__) == "openrc":
        return __virtualname__
    return False, "The gentoo_service execution module cannot be loaded: only available on Gentoo/Open-RC systems."


# Queries


def get_all():
    """
    Return ``{service: [runlevels]}`` of all services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    lines = __salt__["cmd.run"](["rc-update", "-v", "show"], python_shell=False, env={"LC_ALL": "C"}).splitlines()
    rows = [line.partition("|") for line in lines if "|" in line]
    return {row[0].strip(): sorted(row[2].split()) for row in rows}


def get_enabled():
    """
    Return ``{service: [runlevels]}`` of the services that start at boot

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    return {name: levels for name, levels in get_all().items() if levels}


def get_disabled():
    """
    Return the names of the services that do not start at boot

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_disabled
    """
    return sorted(name for name, levels in get_all().items() if not levels)


def available(name):
    """
    Return whether there is such a service

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    return name in get_all()


def missing(name):
    """
    Return whether there is no such service

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing telnetd
    """
    return not available(name)


def status(name, sig=None):
    """
    Return whether the service runs; ``{service: bool}`` for a glob

    name
        the service's name, or a glob
    sig
        look for a process with this text in its command line instead

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status sshd
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    if initsystem.is_glob(name):
        return {one: _is_up(one) for one in initsystem.matching(name, get_all())}
    return _is_up(name)


def enabled(name, **kwargs):
    """
    Return whether the service starts at boot

    name
        the service's name
    runlevels
        in all of these runlevels (a name, or a list)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled sshd runlevels=default
    """
    return bool(get_all().get(name)) and not _wanted(kwargs) - set(get_all()[name])


def disabled(name):
    """
    Return whether there is such a service, and it does not start at boot

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled sshd
    """
    return name in get_disabled()


# Changes


def start(name):
    """
    Start the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start sshd
    """
    return _service(name, "start")


def stop(name):
    """
    Stop the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop sshd
    """
    return _service(name, "stop")


def restart(name):
    """
    Restart the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart sshd
    """
    return _service(name, "restart")


def reload_(name):
    """
    Make the service read its configuration again; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.reload sshd
    """
    return _service(name, "reload")


def zap(name):
    """
    Reset the state of the service to stopped in OpenRC, without stopping it; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.zap sshd
    """
    return _service(name, "zap")


def enable(name, **kwargs):
    """
    Start the service at boot; returns whether it worked

    name
        the service's name
    runlevels
        in exactly these runlevels (a name, or a list); else in the one that is current

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable sshd runlevels=default
    """
    if "runlevels" not in kwargs:
        return _update("add", name, ())
    wanted, now = _wanted(kwargs), set(get_all().get(name, ()))
    changes = ("delete", now - wanted), ("add", wanted - now)
    return all(_update(action, name, levels) for action, levels in changes if levels)


def disable(name, **kwargs):
    """
    Do not start the service at boot; returns whether it worked

    name
        the service's name
    runlevels
        take it out of these runlevels only (a name, or a list)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable sshd
    """
    if "runlevels" not in kwargs:
        return _update("delete", name, ())
    levels = _wanted(kwargs) & set(get_all().get(name, ()))
    return _update("delete", name, levels) if levels else True


# Private functions


def _wanted(kwargs):
    levels = kwargs.get("runlevels", [])
    return set(levels if isinstance(levels, (list, tuple)) else [levels])


def _is_up(name):
    command = ["rc-service", str(name), "status"]
    return __salt__["cmd.retcode"](command, python_shell=False, ignore_retcode=True) == 0


def _service(name, action):
    return initsystem.did(__salt__, __context__, ["rc-service", name, action])


def _update(action, name, levels):
    return initsystem.did(__salt__, __context__, ["rc-update", action, name] + sorted(levels))
