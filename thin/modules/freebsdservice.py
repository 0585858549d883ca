"""Services of FreeBSD: rc.d scripts by service(8), enabled at boot by rc.conf. Salt: modules/freebsdservice.py

``jail`` is the name or number of the jail to use. A service is started and stopped whether or not it is enabled
(``onestart`` …).
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile
from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"kernel": ("FreeBSD", "DragonFly")}
__usual__ = True

__func_alias__ = {"reload_": "reload"}
__reads__ = ("get_all", "get_enabled", "get_disabled", "available", "missing", "status", "enabled", "disabled")
__changes__ = ("start", "stop", "restart", "reload", "enable", "disable")


def __virtual__():
    if initsystem.manager(__grains__) == "rc.d":
        return __virtualname__
    return False, "The freebsdservice execution module cannot be loaded: only available on FreeBSD systems."


# Queries


def get_all(jail=None):
    """
    Return the sorted names of all services

    jail
        those of this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    return sorted(name for name in _output(jail, "-l").splitlines() if name and not name.isupper())


def get_enabled(jail=None):
    """
    Return the sorted names of the services that start at boot

    jail
        those of this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    result = {os.path.basename(path) for path in _output(jail, "-e").splitlines() if path}
    folder = _jail_path(jail) + "/etc/rc.conf.d"  # "service -e" does not read that folder
    own = os.listdir(folder) if os.path.isdir(folder) else []
    result.update(name for name in own if name not in result and enabled(name, jail=jail))
    return sorted(result)


def get_disabled(jail=None):
    """
    Return the sorted names of the services that do not start at boot

    jail
        those of this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_disabled
    """
    return sorted(set(get_all(jail)) - set(get_enabled(jail)))


def available(name, jail=None):
    """
    Return whether there is such a service

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.available nginx
    """
    return name in get_all(jail)


def missing(name, jail=None):
    """
    Return whether there is no such service

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.missing inetd
    """
    return name not in get_all(jail)


def status(name, sig=None, jail=None):
    """
    Return whether the service runs; ``{service: bool}`` for a glob

    name
        the service's name, or a glob
    sig
        look for a process with this text in its command line instead
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.status sshd
    """
    if sig:
        return bool(__salt__["status.pid"](sig))
    if initsystem.is_glob(name):
        return {one: _is_up(one, jail) for one in initsystem.matching(name, get_all(jail))}
    return _is_up(name, jail)


def enabled(name, **kwargs):
    """
    Return whether the service starts at boot

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enabled sshd
    """
    return _rcvar(name, kwargs.get("jail"))[1]


def disabled(name, **kwargs):
    """
    Return whether the service does not start at boot

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disabled sshd
    """
    return not enabled(name, **kwargs)


# Changes


def start(name, jail=None):
    """
    Start the service; returns whether it worked

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.start sshd
    """
    return _do(jail, name, "onestart")


def stop(name, jail=None):
    """
    Stop the service; returns whether it worked

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.stop sshd
    """
    return _do(jail, name, "onestop")


def restart(name, jail=None):
    """
    Restart the service; returns whether it worked

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.restart sshd
    """
    return _do(jail, name, "onerestart")


def reload_(name, jail=None):
    """
    Make the service read its configuration again; returns whether it worked

    name
        the service's name
    jail
        in this jail

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.reload sshd
    """
    return _do(jail, name, "onereload")


def enable(name, **kwargs):
    """
    Start the service at boot; returns whether it worked

    name
        the service's name
    config
        the file to write to (default: /etc/rc.conf, or the option ``service.config``); "": the service's own
        file in /etc/rc.conf.d
    jail
        in this jail
    chroot
        in the system below this folder
    root
        in the configuration below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.enable sshd
    """
    return _switch(name, "YES", kwargs)


def disable(name, **kwargs):
    """
    Do not start the service at boot; returns whether it worked

    name
        the service's name
    config
        the file to write to, as for ``enable``
    jail
        in this jail
    chroot
        in the system below this folder
    root
        in the configuration below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.disable sshd
    """
    return _switch(name, "NO", kwargs)


# Private functions


def _command(jail, *words):
    return (["jexec", str(jail)] if jail else []) + ["service"] + [str(word) for word in words]


def _output(jail, *words):
    return __salt__["cmd.run_stdout"](
        _command(jail, *words), python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"}
    )


def _do(jail, *words):
    return initsystem.did(__salt__, __context__, _command(jail, *words))


def _is_up(name, jail):
    command = _command(jail, name, "onestatus")
    return __salt__["cmd.retcode"](command, python_shell=False, ignore_retcode=True) == 0


def _rcvar(name, jail):
    """``(variable of rc.conf, whether it enables the service)``; ``(None, False)`` for a service without a variable."""
    for line in _output(jail, name, "rcvar").splitlines():
        variable, sign, value = line.partition("=")
        if sign and variable.endswith("_enable") and not variable.startswith("#"):
            return variable, value.split("#")[0].strip().strip('"').lower() in ("yes", "true", "on", "1")
    return None, False


def _jail_path(jail):
    if not jail:
        return ""
    output = __salt__["cmd.run_stdout"](["jls", "-n", "jid", "name", "path"], python_shell=False)
    for line in output.splitlines():
        fields = dict(word.partition("=")[::2] for word in line.split())
        if str(jail) in (fields.get("jid"), fields.get("name")):
            return fields.get("path", "").rstrip("/")
    raise CommandExecutionError("There is no jail %s" % jail)


def _switch(name, value, options):
    jail = options.get("jail")
    variable = _rcvar(name, jail)[0]
    if not variable:
        __context__["service.complaint"] = "the service %s has no variable in rc.conf" % name
        return False
    below = _jail_path(jail) + (options.get("chroot") or "").rstrip("/") + (options.get("root") or "").rstrip("/")
    config = options.get("config", __salt__["config.option"]("service.config", "/etc/rc.conf"))
    if not config:
        if not os.path.isdir(below + "/etc/rc.conf.d"):
            __context__["service.complaint"] = "there is no folder %s/etc/rc.conf.d" % below
            return False
        config = "/etc/rc.conf.d/" + variable[: -len("_enable")]
    path, lines, done = below + config, [], False
    for line in textfile.lines(path):
        if line.startswith(variable + "="):
            comment = line.find("#")  # stays
            line = '%s="%s"%s\n' % (variable, value, "  " + line[comment:].rstrip("\n") if comment > 0 else "")
            done = True
        lines.append(line if line.endswith("\n") else line + "\n")
    textfile.write(path, "".join(lines + ([] if done else ['%s="%s"\n' % (variable, value)])))
    return True
