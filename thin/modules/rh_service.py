"""Services of a Red Hat or SUSE without systemd, by init scripts and chkconfig. Salt: modules/rh_service.py

``limit`` is ``sysvinit`` or ``upstart``, as in Salt's module; services of upstart are not supported.
"""

import os

from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd

__func_alias__ = {"reload_": "reload"}
__reads__ = ("get_all", "get_enabled", "get_disabled", "available", "missing", "status", "enabled", "disabled")
__changes__ = ("start", "stop", "restart", "reload", "enable", "disable", "delete")

INIT_SCRIPTS = "/etc/init.d"
LINKS = "/etc/rc.d/rc%s.d"


def __virtual__():
    if initsystem.manager(__grains__) == "chkconfig":
        return __virtualname__
    return False, "The rh_service execution module failed to load: something else runs services here."


# Queries


def get_all(limit=""):
    """
    Return the sorted names of all services

    limit
        ``sysvinit``; there are none of ``upstart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    return [] if limit.lower() == "upstart" else sorted(_switches())


def get_enabled(limit=""):
    """
    Return the sorted names of the services that start at boot

    limit
        ``sysvinit``; there are none of ``upstart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    return [name for name in get_all(limit) if _starts(name)]


def get_disabled(limit=""):
    """
    Return the sorted names of the services that do not start at boot

    limit
        ``sysvinit``; there are none of ``upstart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_disabled
    """
    return [name for name in get_all(limit) if not _starts(name)]


def available(name, limit=""):
    """
    Return whether there is such a service

    name
        the service's name
    limit
        ``sysvinit``; there are none of ``upstart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    return limit != "upstart" and (_script(name) or (not limit and _is_configured(name)))


def missing(name, limit=""):
    """
    Return whether there is no such service

    name
        the service's name
    limit
        ``sysvinit``; there are none of ``upstart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing telnetd
    """
    return not available(name, limit)


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

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled sshd
    """
    return _starts(name)


def disabled(name):
    """
    Return whether the service does not start at boot

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled sshd
    """
    return not _starts(name)


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


def enable(name, **kwargs):
    """
    Start the service at boot; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable sshd
    """
    return _chkconfig(name, "on")


def disable(name, **kwargs):
    """
    Do not start the service at boot; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable sshd
    """
    return _chkconfig(name, "off")


def delete(name, **kwargs):
    """
    Remove the service from chkconfig; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.delete sshd
    """
    return _is_configured(name) and _did("chkconfig", "--del", name)


# Private functions


def _switches():
    """``{service: {"3": True}}`` by runlevel, of the services that have a script."""
    lines = __salt__["cmd.run"](["chkconfig", "--list"], python_shell=False, env={"LC_ALL": "C"}).splitlines()
    switches = {}
    for words in (line.split() for line in lines):
        levels = dict(word.split(":", 1) for word in words[1:] if ":" in word)
        if "0" in levels and _script(words[0]):
            switches[words[0]] = {level: state == "on" for level, state in levels.items()}
    return switches


def _runlevel():
    words = __salt__["cmd.run"](["runlevel"], python_shell=False, ignore_retcode=True).split()
    return words[1] if len(words) > 1 and "unknown" not in words else "3"


def _starts(name):
    import glob

    level = _runlevel()
    return _switches().get(name, {}).get(level, False) or bool(glob.glob(LINKS % level + "/S??" + glob.escape(name)))


def _script(name):
    path = os.path.join(INIT_SCRIPTS, str(name))
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_configured(name):
    command = ["chkconfig", "--list", str(name)]
    return __salt__["cmd.retcode"](command, python_shell=False, ignore_retcode=True) == 0


def _is_up(name):
    command = ["service", str(name), "status"]
    return __salt__["cmd.retcode"](command, python_shell=False, ignore_retcode=True) == 0


def _service(name, action):
    return _did("service", name, action)


def _chkconfig(name, state):
    return (_is_configured(name) or _did("chkconfig", "--add", name)) and _did("chkconfig", name, state)


def _did(*command):
    return initsystem.did(__salt__, __context__, command)
