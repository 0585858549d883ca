"""Lists of systemd's units, their properties, and a system's first start: a part of ``service``.

Salt: modules/systemd_service.py
"""

from thin.exceptions import CommandExecutionError
from thin.utils.system import initsystem, units

__virtualname__ = "service"
__reads__ = ("get_all", "get_running", "get_enabled", "get_disabled", "get_static", "show", "execs")
__changes__ = ("firstboot",)
__usual__ = True


def __virtual__():
    # the same systems as those of systemd_service.py
    if initsystem.manager(__grains__) in ("systemd", "debian") and (units.booted() or units.program("systemctl")):
        return __virtualname__
    return False, (
        "The systemd execution module failed to load: "
        "only available on Linux systems which have been booted with systemd."
    )


def _systemctl(*words, **options):
    return units.systemctl(__salt__, __context__, *words, **options)


def get_all(root=None):
    """
    The sorted names of all units with a file, and of init scripts.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_all
    """
    return units.every(root)


def get_running():
    """
    The sorted names of the units that run now.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_running
    """
    text = _systemctl("--full", "--no-legend", "--no-pager", "--plain", "list-units")["stdout"]
    rows = [line.split() for line in text.splitlines()]
    return sorted(units.shown(row[0]) for row in rows if len(row) > 3 and row[3] == "running" and units.listed(row[0]))


def get_enabled(root=None):
    """
    The sorted names of units and init scripts that start at boot.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_enabled
    """
    scripts = units.init_scripts(units.on_disk(root), root) & units.started_scripts(root)
    return sorted(_unit_files("enabled", root) | scripts)


def get_disabled(root=None):
    """
    The sorted names of units and init scripts that do not start at boot.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_disabled
    """
    scripts = units.init_scripts(units.on_disk(root), root) - units.started_scripts(root)
    return sorted(_unit_files("disabled", root) | scripts)


def get_static(root=None):
    """
    The sorted names of units that can neither be enabled nor disabled.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.get_static
    """
    return sorted(_unit_files("static", root))


def show(name, root=None):
    """
    The unit's properties: ``{key: text}``; Before, After and Wants as lists, ExecStart and the like as dicts.

    name
        the unit's name; without a type it is a service
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.show sshd
    """
    return units.properties(_systemctl("show", name, root=root)["stdout"])


def execs(root=None):
    """
    ``{name: path}`` of the programs of services.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.execs
    """
    shown = {name: show(name, root=root).get("ExecStart") for name in get_all(root=root)}
    return {name: command["path"] for name, command in shown.items() if isinstance(command, dict)}


def firstboot(locale=None, locale_message=None, keymap=None, timezone=None, hostname=None, machine_id=None, root=None):
    """
    Set the values of systemd-firstboot; raises CommandExecutionError with its error

    locale
        the locale (LANG)
    locale_message
        the locale of messages (LC_MESSAGES)
    keymap
        the keyboard's map
    timezone
        the time zone
    hostname
        the host name
    machine_id
        the machine's id
    root
        the folder of another system

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' service.firstboot hostname=web01 timezone=Europe/Berlin
    """
    given = (
        ("locale", locale),
        ("locale-messages", locale_message),
        ("keymap", keymap),
        ("timezone", timezone),
        ("hostname", hostname),
        ("machine-id", machine_id),
        ("root", root),
    )
    command = ["systemd-firstboot"] + ["--%s=%s" % (option, value) for option, value in given if value]
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=units.ENVIRONMENT)
    if done["retcode"] != 0:
        raise CommandExecutionError("systemd-firstboot error: %s" % done["stderr"])
    return True


def _unit_files(state, root):
    text = _systemctl("--full", "--no-legend", "--no-pager", "list-unit-files", root=root)["stdout"]
    rows = [line.split() for line in text.splitlines()]
    return {units.shown(row[0]) for row in rows if len(row) > 1 and row[1] == state and units.listed(row[0])}
