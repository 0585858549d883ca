"""Services under systemd, by driving systemctl. Salt: modules/systemd_service.py

A name without a unit type means ``NAME.service``. Each query of a unit also checks whether systemd has loaded the
newest unit files, and otherwise runs ``daemon-reload`` (never in a dry run).

Each query runs systemctl once. While ``__context__["service.seen"]`` is a dict (states set it for several queries at
the same time), it caches what systemctl printed about a unit, until a function of this module changes something. Lists
of units and their properties are in systemd_units.py.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.system import initsystem, units

__virtualname__ = "service"
__parts__ = ("systemd_units",)

__func_alias__ = {"reload_": "reload", "unmask_": "unmask"}
__usual__ = True
__reads__ = ("offline", "available", "missing", "status", "enabled", "disabled", "masked")
__changes__ = (
    "start",
    "stop",
    "restart",
    "reload",
    "force_reload",
    "enable",
    "disable",
    "mask",
    "unmask",
    "systemctl_reload",
)

_LOOK = "--property=Id,LoadState,ActiveState,NeedDaemonReload,UnitFileState"
_ACTIVE = ("active", "reloading", "refreshing")

#: states for which ``systemctl is-enabled`` succeeds; for a state in neither list (init scripts, for example) it is run
_ENABLED = ("enabled", "enabled-runtime", "static", "indirect")
_NOT_ENABLED = ("disabled", "masked", "masked-runtime", "linked", "linked-runtime", "bad")


def __virtual__():
    # on a Debian system that was not started by systemd, these functions complement those of debian_service
    if initsystem.manager(__grains__) in ("systemd", "debian") and (units.booted() or offline()):
        return __virtualname__
    return False, (
        "The systemd execution module failed to load: "
        "only available on Linux systems which have been booted with systemd."
    )


# Queries


def offline():
    """
    Whether systemctl is installed but systemd does not run: in a chroot or during the build of an image.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.offline
    """
    return not units.booted() and bool(units.program("systemctl"))


def available(name):
    """
    Whether there is such a unit (or init script). Raises CommandExecutionError if systemd does not answer.

    name
        the unit's name; without a type it is a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    return _look(name)["LoadState"] != "not-found"


def missing(name):
    """
    The opposite of ``available``.

    name
        the unit's name; without a type it is a service

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing telnetd
    """
    return not available(name)


def status(name, sig=None):
    """
    Whether the service is active; ``{name: bool}`` for a glob.

    name
        the unit's name; without a type it is a service
    sig
        accepted for the states; without effect, since systemd has the status

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status sshd
    """
    if any(char in name for char in "*?["):
        import fnmatch

        return {unit: status(unit) for unit in fnmatch.filter(units.every(None), name)}
    return _look(name)["ActiveState"] in _ACTIVE


def enabled(name, root=None, **kwargs):
    """
    Whether the service starts at boot, directly or through another unit (static, indirect, generated).

    name
        the unit's name; without a type it is a service
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled sshd
    """
    if root is None and not offline():
        state = _look(name).get("UnitFileState")
        if state in _ENABLED + _NOT_ENABLED:
            return state in _ENABLED
    done = _systemctl("is-enabled", name, root=root)
    if done["retcode"] == 0 and done["stdout"].strip() == "alias":
        real = units.properties(_systemctl("show", name, root=root)["stdout"]).get("Id")
        return bool(real) and _systemctl("is-enabled", real, root=root)["retcode"] == 0
    return done["retcode"] == 0


def disabled(name, root=None):
    """
    The opposite of ``enabled``.

    name
        the unit's name; without a type it is a service
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled sshd
    """
    return not enabled(name, root=root)


def masked(name, runtime=False, root=None):
    """
    Whether the unit is masked in /etc (with ``runtime``: in /run).

    name
        the unit's name; without a type it is a service
    runtime
        until the next boot
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.masked sshd
    """
    path = os.path.join(units.under(root, "/run" if runtime else "/etc"), "systemd", "system", units.full(name))
    try:
        return os.readlink(path) == os.devnull
    except OSError:
        return False


# Changes


def start(name, no_block=False, unmask=False, unmask_runtime=False):
    """
    Start the service. Raises CommandExecutionError with systemctl's message.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done
    unmask
        remove a mask first
    unmask_runtime
        remove a mask in /run first

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start sshd
    """
    return _change("start", name, no_block, unmask, unmask_runtime)


def stop(name, no_block=False):
    """
    Stop the service; returns whether it worked.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop sshd
    """
    _look(name)
    return _systemctl("stop", name, no_block=no_block)["retcode"] == 0


def restart(name, no_block=False, unmask=False, unmask_runtime=False):
    """
    Restart the service, or start it. Raises CommandExecutionError with systemctl's message.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done
    unmask
        remove a mask first
    unmask_runtime
        remove a mask in /run first

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart sshd
    """
    return _change("restart", name, no_block, unmask, unmask_runtime)


def reload_(name, no_block=False, unmask=False, unmask_runtime=False):
    """
    Make the service read its configuration again. Raises CommandExecutionError with systemctl's message.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done
    unmask
        remove a mask first
    unmask_runtime
        remove a mask in /run first

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.reload sshd
    """
    return _change("reload", name, no_block, unmask, unmask_runtime)


def force_reload(name, no_block=True, unmask=False, unmask_runtime=False):
    """
    Reload the service if it supports that, otherwise restart it. Raises CommandExecutionError with systemctl's error.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done
    unmask
        remove a mask first
    unmask_runtime
        remove a mask in /run first

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.force_reload sshd
    """
    return _change("force-reload", name, no_block, unmask, unmask_runtime)


def enable(name, no_block=False, unmask=False, unmask_runtime=False, root=None, **kwargs):
    """
    Start the service at boot. Raises CommandExecutionError with systemctl's message.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done
    unmask
        remove a mask first
    unmask_runtime
        remove a mask in /run first
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable sshd
    """
    return _change("enable", name, no_block, unmask, unmask_runtime, root)


def disable(name, no_block=False, root=None, **kwargs):
    """
    Do not start the service at boot; returns whether it worked.

    name
        the unit's name; without a type it is a service
    no_block
        do not wait until it is done
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable sshd
    """
    return _systemctl("disable", name, no_block=no_block, root=root)["retcode"] == 0


def mask(name, runtime=False, root=None):
    """
    Mask the unit, so that it cannot be started. Raises CommandExecutionError.

    name
        the unit's name; without a type it is a service
    runtime
        until the next boot
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.mask sshd runtime=True
    """
    done = _systemctl(*(["mask"] + (["--runtime"] if runtime else [])), name=name, root=root)
    if done["retcode"] != 0:
        raise CommandExecutionError("Failed to mask service '%s'" % name, info=done["stderr"] or done["stdout"])
    return True


def unmask_(name, runtime=False, root=None):
    """
    Remove the mask of the unit, if there is one. Raises CommandExecutionError.

    name
        the unit's name; without a type it is a service
    runtime
        until the next boot
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.unmask sshd
    """
    if not masked(name, runtime, root):
        return True
    done = _systemctl(*(["unmask"] + (["--runtime"] if runtime else [])), name=name, root=root)
    if done["retcode"] != 0:
        raise CommandExecutionError("Failed to unmask service '%s'" % name, info=done["stderr"] or done["stdout"])
    return True


def systemctl_reload():
    """
    Make systemd load all unit files again. Raises CommandExecutionError.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.systemctl_reload
    """
    done = _systemctl("daemon-reload")
    if done["retcode"] != 0:
        words = done["stderr"] or done["stdout"]
        raise CommandExecutionError("Problem performing systemctl daemon-reload: %s" % words)
    return True


# Private functions


def _change(action, name, no_block, unmask, unmask_runtime, root=None):
    if root is None:
        _look(name)
    for wanted, runtime in ((unmask, False), (unmask_runtime, True)):
        if wanted:
            unmask_(name, runtime, root)
    done = _systemctl(action, name, no_block=no_block, root=root)
    if done["retcode"] != 0:
        raise CommandExecutionError((done["stderr"] or done["stdout"]).strip())
    return True


def _look(name):
    """``{"Id", "LoadState", "ActiveState", "NeedDaemonReload"}`` of the unit, after a reload of changed unit files."""
    if offline():
        raise CommandExecutionError("Cannot run in offline mode. Failed to get information on unit '%s'" % name)
    unit = units.full(name)
    if unit.partition("@")[2].startswith("."):  # systemd has instances of a template, but not the template itself
        exists = any(os.path.exists(os.path.join(folder, unit)) for folder in units.FOLDERS)
        return {"Id": unit, "LoadState": "loaded" if exists else "not-found", "ActiveState": "inactive"}
    seen = __context__.get("service.seen")
    if seen is None:
        return _look_again(unit)
    if unit not in seen:
        seen[unit] = _look_again(unit)
    return seen[unit]


def _look_again(unit):
    data = _properties(unit)
    new_file = data["LoadState"] == "not-found" and os.access(os.path.join(units.FOLDERS[-1], unit), os.R_OK)
    if new_file or data.get("NeedDaemonReload") == "yes":
        if __opts__.get("test"):
            return dict(data, LoadState="loaded")
        systemctl_reload()
        data = _properties(unit)
    return data


def _properties(unit):
    done = _systemctl("show", _LOOK, name=unit)
    data = dict(line.split("=", 1) for line in done["stdout"].splitlines() if "=" in line)
    if done["retcode"] != 0 or "LoadState" not in data:
        words = (done["stderr"] or done["stdout"]).strip()
        raise CommandExecutionError("Failed to get information on unit '%s'%s" % (unit, words and ": " + words))
    return data


def _systemctl(*words, **options):
    return units.systemctl(__salt__, __context__, *words, **options)
