"""Services of macOS: launchd's jobs, by launchctl. Salt: modules/mac_service.py

A service is a property list in /Library or /System/Library (LaunchDaemons, LaunchAgents) or in a user's
Library/LaunchAgents. Its name is its label, its file's name without ``.plist``, or its path; case is ignored. Agents
belong to the user at the console: launchctl is run in that user's domain.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"kernel": ("Darwin",)}
__usual__ = True

__func_alias__ = {"list_": "list"}
__reads__ = (
    "show",
    "list",
    "get_all",
    "get_enabled",
    "available",
    "missing",
    "loaded",
    "status",
    "enabled",
    "disabled",
)
__changes__ = ("launchctl", "enable", "disable", "start", "stop", "restart")

log = getLogger(__name__)

FOLDERS = (
    "/Library/LaunchAgents",
    "/Library/LaunchDaemons",
    "/System/Library/LaunchAgents",
    "/System/Library/LaunchDaemons",
)
USERS = "/Users"


def __virtual__():
    if initsystem.manager(__grains__) != "launchd":
        return False, "Failed to load the mac_service module:\nOnly available on macOS systems."
    return __virtualname__


# Queries


def show(name):
    """
    Return ``{"file_name", "file_path", "plist"}`` of a service

    name
        its label, or the path or name of its file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.show org.example.app
    """
    return _service(name)


def launchctl(sub_cmd, *args, **kwargs):
    """
    Call launchctl; returns True. Raises CommandExecutionError with its message

    sub_cmd
        its command
    args
        the command's arguments
    return_stdout
        return its output instead
    runas
        the user as whom to call it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.launchctl kickstart system/org.example.app
    """
    wants_text = kwargs.pop("return_stdout", False)
    options = {key: value for key, value in kwargs.items() if not key.startswith("__") and value is not None}
    command = ["launchctl", sub_cmd] + [str(arg) for arg in args]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, **options)
    in_progress = sub_cmd == "bootout" and done["retcode"] == 36
    if (done["retcode"] and not in_progress) or "service is disabled" in done["stderr"].lower():
        raise CommandExecutionError(
            "Failed to %s service:\nstdout: %s\nstderr: %s\nretcode: %s"
            % (sub_cmd, done["stdout"], done["stderr"], done["retcode"])
        )
    return done["stdout"] if wants_text else True


def list_(name=None, runas=None):
    """
    Return the output of ``launchctl list`` for all services, or for one

    name
        its label, or the path or name of its file
    runas
        the user whose services are listed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.list org.example.app
    """
    if not name:
        return launchctl("list", return_stdout=True, runas=runas)
    return launchctl("list", _service(name)["plist"]["Label"], return_stdout=True, runas=_as(name, runas))


def get_all(runas=None):
    """
    Return the sorted labels of all services

    runas
        the user whose running services are among them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    return sorted(set(get_enabled(runas)) | set(_services()))


def get_enabled(runas=None):
    """
    Return the sorted labels of the services that launchd has loaded

    runas
        the user whose services are asked for

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    rows = [line.split("\t") for line in list_(runas=runas).splitlines() if not line.startswith("PID")]
    return sorted({row[2] for row in rows if len(row) > 2})


def available(name):
    """
    Return whether there is such a service

    name
        its label, or the path or name of its file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available org.example.app
    """
    return _service_named(name) is not None


def missing(name):
    """
    Return whether there is no such service

    name
        its label, or the path or name of its file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing org.example.app
    """
    return not available(name)


def loaded(name, runas=None):
    """
    Return whether launchd has loaded the service

    name
        its label, or the path or name of its file
    runas
        the user whose services are asked for

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.loaded org.example.app
    """
    try:
        list_(name, runas)
    except CommandExecutionError:
        return False
    return True


def status(name, sig=None, runas=None):
    """
    Return whether the service is loaded; if launchd keeps it alive, whether it runs

    name
        its label, or the path or name of its file
    sig
        look for a process with this text in its command line instead
    runas
        the user whose services are asked for

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status org.example.app
    """
    if sig:
        return __salt__["status.pid"](sig)
    if not available(name):
        log.error("Service not found: %s", name)
        return False
    try:
        listed = list_(name, runas)
    except CommandExecutionError:
        return False
    return '"PID" =' in listed if _is_kept_alive(_service(name)["plist"]) else True


def enabled(name, runas=None):
    """
    Return whether the service may be started

    name
        its label, or the path or name of its file
    runas
        the user as whom to ask

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled org.example.app
    """
    return not disabled(name, runas)


def disabled(name, runas=None, domain="system"):
    """
    Return whether the service is disabled

    name
        its label, or the path or name of its file
    runas
        the user as whom to ask
    domain
        accepted for compatibility with Salt: the service's own domain is used

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled org.example.app
    """
    label = _service(name)["plist"]["Label"]
    output = launchctl("print-disabled", _domain(name)[0], return_stdout=True, runas=runas)
    for line in output.splitlines():
        shown, arrow, state = line.partition("=>")
        if arrow and shown.strip().strip('"') == label:
            return state.strip().lower() in ("true", "disabled")
    return False


# Changes


def enable(name, runas=None):
    """
    Enable the service. Raises CommandExecutionError

    name
        its label, or the path or name of its file
    runas
        the user as whom to do so

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable org.example.app
    """
    return launchctl("enable", _target(name), runas=runas)


def disable(name, runas=None):
    """
    Disable the service. Raises CommandExecutionError

    name
        its label, or the path or name of its file
    runas
        the user as whom to do so

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable org.example.app
    """
    return launchctl("disable", _target(name), runas=runas)


def start(name, runas=None):
    """
    Load the service, which starts it; raises CommandExecutionError

    name
        its label, or the path or name of its file
    runas
        the user as whom to do so

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start org.example.app
    """
    return launchctl("bootstrap", *_domain(name), runas=runas)


def stop(name, runas=None):
    """
    Unload the service, which stops it; raises CommandExecutionError

    name
        its label, or the path or name of its file
    runas
        the user as whom to do so

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop org.example.app
    """
    return launchctl("bootout", *_domain(name), runas=runas)


def restart(name, runas=None):
    """
    Unload the service if it is loaded, and load it; raises CommandExecutionError

    name
        its label, or the path or name of its file
    runas
        the user as whom to do so

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart org.example.app
    """
    if loaded(name, runas):
        stop(name, runas)
    return start(name, runas)


# Private functions


def _services(refresh=False):
    """``{label in lower case: {"file_name", "file_path", "plist"}}``, read once."""
    if refresh or "mac_service.services" not in __context__:
        folders = list(FOLDERS)
        users = sorted(os.listdir(USERS)) if os.path.isdir(USERS) else []
        folders += [os.path.join(USERS, user, "Library/LaunchAgents") for user in users]
        services = {}
        for folder in folders:
            for below, _, names in os.walk(folder):
                for name in sorted(names):
                    plist = _plist(os.path.join(below, name)) if name.lower().endswith(".plist") else {}
                    if isinstance(plist, dict) and "Label" in plist:
                        path = os.path.join(below, name)
                        services[str(plist["Label"]).lower()] = {"file_name": name, "file_path": path, "plist": plist}
        __context__["mac_service.services"] = services
    return __context__["mac_service.services"]


def _plist(path):
    try:
        import plistlib
    except ImportError:
        raise CommandExecutionError("Services can be read only by a whole Python: this one lacks plistlib")
    try:
        with open(path, "rb") as handle:
            return plistlib.load(handle)
    except Exception as exc:  # any error of the parser for a file that is no property list
        log.debug("%s is no service: %s", path, exc)
        return {}


def _service_named(name):
    """The service of that name, or None; for an unknown name, the folders are read again."""
    for refresh in (False, True):
        services, wanted = _services(refresh), str(name).lower()
        if wanted in services:
            return services[wanted]
        for service in services.values():
            if wanted in (service["file_path"].lower(), os.path.splitext(service["file_name"])[0].lower()):
                return service
    return None


def _service(name):
    service = _service_named(name)
    if service is None:
        raise CommandExecutionError("Service not found: %s" % name)
    return service


def _is_agent(name):
    return "LaunchAgents" in _service(name)["file_path"]


def _console():
    try:
        return os.stat("/dev/console").st_uid
    except OSError:
        raise CommandExecutionError("Failed to get a UID for the console user.")


def _as(name, runas):
    """The user for queries about an agent."""
    if runas or not _is_agent(name):
        return runas
    import pwd

    return pwd.getpwuid(_console()).pw_name


def _domain(name):
    """``(domain, path)``"""
    return ("gui/%d" % _console() if _is_agent(name) else "system"), _service(name)["file_path"]


def _target(name):
    return "%s/%s" % (_domain(name)[0], _service(name)["plist"]["Label"])


def _is_kept_alive(plist):
    keep = plist.get("KeepAlive", False)
    if isinstance(keep, dict):
        return any(os.path.exists(path) is exists for path, exists in keep.get("PathState", {}).items())
    return keep is True
