"""Services under runit, by sv(8) and links. Salt: modules/runit.py

For ``provider: runit`` in a state; on a machine whose init is runit, runit_service provides it as ``service``. A
service is *enabled* when the folder that runit watches (/etc/service, /var/service or /service) has it, *available*
when that one or a folder of services (/etc/sv, and those of ``add_svc_avail_path``) does. A file ``down`` in its folder
prevents runit from starting it automatically. runit_links.py has aliases of services.
"""

import os

from thin.log import getLogger
from thin.utils.files import safepath
from thin.utils.system import initsystem, runitdirs

__virtualname__ = "runit"
__parts__ = ("runit_links",)
__func_alias__ = {"reload_": "reload"}
__reads__ = (
    "get_all",
    "get_enabled",
    "get_disabled",
    "available",
    "missing",
    "enabled",
    "disabled",
    "status",
    "offline",
    "status_autostart",
    "show",
    "get_svc_avail_path",
    "add_svc_avail_path",
)
__changes__ = ("start", "stop", "restart", "full_restart", "reload", "enable", "disable", "remove")

log = getLogger(__name__)

SERVICE_DIRS = runitdirs.SERVICE_DIRS
#: folders of services that can be linked into it
AVAILABLE_DIRS = ["/etc/sv"]
#: runit checks the folder every five seconds
PATIENCE = 10


def __virtual__():
    if any(os.path.exists(os.path.join(folder, "sv")) for folder in initsystem.FOLDERS):
        return __virtualname__
    return False, "Runit not available.  Please install sv"


# Queries


def get_all():
    """
    Return the sorted names of all services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.get_all
    """
    return sorted({os.path.basename(path) for path in _paths()})


def get_enabled():
    """
    Return the sorted names of the services that runit watches

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.get_enabled
    """
    return sorted({os.path.basename(path) for path in _enabled_paths()})


def get_disabled():
    """
    Return the sorted names of the services that runit does not watch

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.get_disabled
    """
    return sorted({os.path.basename(path) for path in set(_paths()) - set(_enabled_paths())})


def available(name):
    """
    Return whether there is such a service

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.available sshd
    """
    return name in get_all()


def missing(name):
    """
    Return whether there is no such service

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.missing sshd
    """
    return not available(name)


def enabled(name):
    """
    Return whether runit watches the service

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.enabled sshd
    """
    return name in get_enabled()


def disabled(name):
    """
    Return whether runit does not watch the service

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.disabled sshd
    """
    return not enabled(name)


def status(name, sig=None):
    """
    Return whether the service runs

    name
        the service's name
    sig
        look for a process with this text in its command line instead

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.status sshd
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    path = _watched(name)
    if not os.path.exists(path):
        return False
    output = __salt__["cmd.run_stdout"](["sv", "status", path], python_shell=False, ignore_retcode=True)
    return output.startswith("run: ")


def offline():
    """
    Return False: runit works wherever runsvdir runs, however the machine was booted

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.offline
    """
    return False


def status_autostart(name):
    """
    Return whether runit starts the service automatically: it has no file ``down``

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.status_autostart sshd
    """
    return not os.path.exists(os.path.join(_watched(name), "down"))


def show(name):
    """
    Return ``{"available", "enabled", "disabled", "running", "autostart", "service_path", "command_path"}``

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.show sshd
    """
    result = {
        "available": available(name),
        "enabled": False,
        "disabled": True,
        "running": False,
        "autostart": False,
        "service_path": None,
        "command_path": None,
    }
    if result["available"]:
        result["service_path"] = _path(name)
        result["command_path"] = os.path.join(result["service_path"], "run")
        result["enabled"] = enabled(name)
        result["disabled"] = not result["enabled"]
        result["running"] = status(name)
        result["autostart"] = status_autostart(name)
    return result


def get_svc_avail_path():
    """
    Return the folders with available services

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.get_svc_avail_path
    """
    return list(AVAILABLE_DIRS)


def add_svc_avail_path(path):
    """
    Add a folder with available services; returns whether the folder exists

    path
        the folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.add_svc_avail_path /srv/sv
    """
    if not os.path.exists(path):
        return False
    if path not in AVAILABLE_DIRS:
        AVAILABLE_DIRS.append(path)
    return True


# Changes


def start(name):
    """
    Start the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.start sshd
    """
    return _sv("start", name)


def stop(name):
    """
    Stop the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.stop sshd
    """
    return _sv("stop", name)


def restart(name):
    """
    Restart the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.restart sshd
    """
    return _sv("restart", name)


def full_restart(name):
    """
    Restart the service; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.full_restart sshd
    """
    return _sv("restart", name)


def reload_(name):
    """
    Make the service read its configuration again; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.reload sshd
    """
    return _sv("reload", name)


def enable(name, start=False, **kwargs):
    """
    Let runit watch the service, and start it at boot; returns whether it worked

    name
        the service's name
    start
        start it now, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.enable sshd start=True
    """
    if not available(name):
        return _complain("there is no service %s" % name)
    if name in runitdirs.aliases(AVAILABLE_DIRS):
        return _complain("the service %s has another name; enable that one" % name)
    path = _path(name)
    down = os.path.join(path, "down")
    try:
        if enabled(name):
            if os.path.exists(down):
                safepath.unlink(down)
            return True
        held = not start and not os.path.exists(down)
        if held:  # runit must not start it as soon as it appears
            open(down, "w", opener=safepath.opener, encoding="utf-8").close()
        try:
            safepath.symlink(path, _watched(name))
            seen = _patiently(lambda: _is_seen(name))
            if not seen:
                safepath.unlink(_watched(name))
        finally:
            if not start and os.path.exists(down):
                safepath.unlink(down)
    except OSError as exc:
        return _complain(str(exc))
    if not seen:
        return _complain("runit did not take up the service %s within %d seconds" % (name, PATIENCE))
    return not start or _patiently(lambda: _sv("start", name))  # runit may still have the state of the stopped service


def disable(name, stop=False, **kwargs):
    """
    Do not start the service at boot, by a file ``down``; returns whether it worked

    name
        the service's name
    stop
        stop it now, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.disable sshd stop=True
    """
    if not enabled(name):
        return _complain("the service %s is not enabled" % name)
    if stop:
        _sv("stop", name)
    try:
        open(os.path.join(_path(name), "down"), "a", opener=safepath.opener, encoding="utf-8").close()
    except OSError as exc:
        return _complain(str(exc))
    return True


def remove(name):
    """
    Stop the service and remove it from the watched folder; returns whether it worked

    name
        the service's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' runit.remove sshd
    """
    if not enabled(name):
        return False
    if not os.path.islink(_watched(name)):
        return _complain("%s is no link: it stays" % _watched(name))
    if not _sv("stop", name):
        return False
    try:
        safepath.unlink(_watched(name))
    except OSError as exc:
        return _complain(str(exc))
    return True


# Private functions


def _folder():
    return runitdirs.watched(SERVICE_DIRS)


def _watched(name):
    return os.path.join(_folder(), str(name))


def _enabled_paths():
    """The services that runit watches, by the real paths of their links."""
    return runitdirs.enabled(_folder())


def _paths():
    return runitdirs.services(_folder(), AVAILABLE_DIRS)


def _path(name):
    return next(path for path in _paths() if os.path.basename(path) == name)


def _is_seen(name):
    """Whether runit has started to watch the service."""
    command = ["sv", "status", _watched(name)]
    return __salt__["cmd.retcode"](command, python_shell=False, ignore_retcode=True) == 0


def _patiently(works):
    """Call a function until it succeeds or runit must have checked the folder; returns whether it succeeded."""
    return initsystem.patiently(works, PATIENCE)


def _sv(action, name):
    return initsystem.did(__salt__, __context__, ["sv", action, _watched(name)])


def _complain(words):
    __context__["service.complaint"] = words
    log.error("%s", words)
    return False
