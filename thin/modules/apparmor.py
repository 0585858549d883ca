"""AppArmor: its profiles and their modes, by aa-enforce, aa-complain, aa-disable and apparmor_parser.

Salt has no such module. A profile is named as the kernel names it (``/usr/sbin/tcpdump``, ``nginx``), or by its file in
``/etc/apparmor.d``, which may hold several.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__reads__ = ("enabled", "profiles", "status", "names", "file_of", "modes")
__changes__ = ("enforce", "complain", "disable", "reload")

FOLDER = "/etc/apparmor.d"
KERNEL = "/sys/kernel/security/apparmor/profiles"


def __virtual__():
    if __grains__.get("kernel") != "Linux":
        return False, "AppArmor is a part of Linux"
    if not process.which("apparmor_parser"):
        return False, "apparmor_parser is not in the path"
    return True


def enabled():
    """
    Whether the kernel has AppArmor and it is enabled

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.enabled
    """
    text = textfile.read("/sys/module/apparmor/parameters/enabled", "")
    return text.strip() == "Y"


def profiles():
    """
    Return the profiles that are loaded and their modes: ``{name: enforce, complain, kill, unconfined, ...}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.profiles
    """
    text = textfile.read(KERNEL)
    if text is None:
        raise CommandExecutionError("The kernel has no AppArmor: there is no %s" % KERNEL)
    rows = [re.match(r"(.*) \((\w+)\)$", line) for line in text.splitlines()]
    return {row.group(1): row.group(2) for row in rows if row}


def status():
    """
    Return ``{enabled, profiles: {name: mode}, modes: {mode: number of profiles}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.status
    """
    by_name = profiles() if enabled() else {}
    modes = {}
    for mode in by_name.values():
        modes[mode] = modes.get(mode, 0) + 1
    return {"enabled": enabled(), "profiles": by_name, "modes": modes}


def names(name):
    """
    Return the profiles that a file of ``/etc/apparmor.d`` contains; for the name of a profile, that name

    name
        A profile, or the path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.names usr.sbin.tcpdump
    """
    path = file_of(name)
    if path is None:
        return [name]
    done = _run(["apparmor_parser", "-N", path])
    if done["retcode"]:
        raise CommandExecutionError("apparmor_parser -N %s failed: %s" % (path, done["stderr"] or done["stdout"]))
    return [line for line in done["stdout"].splitlines() if line]


def file_of(name):
    """
    Return the file of ``/etc/apparmor.d`` that a name or path means, or None

    name
        A profile, or the path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.file_of usr.sbin.tcpdump
    """
    inside = os.path.join(FOLDER, name) if not name.startswith("/") else name
    if os.path.dirname(os.path.normpath(inside)) == FOLDER and os.path.isfile(inside):
        return inside
    return None


def modes(name):
    """
    Return ``{profile: mode}`` of a profile, or of those of a file; the mode is None for one that is not loaded

    name
        A profile, or the path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.modes usr.sbin.tcpdump
    """
    loaded = profiles()
    return {profile: loaded.get(profile) for profile in names(name)}


def enforce(name):
    """
    Set profiles to enforce mode; returns True. Raises an error when that fails

    name
        A profile, or the path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.enforce usr.sbin.tcpdump
    """
    return _set("aa-enforce", name)


def complain(name):
    """
    Set profiles to complain mode, in which breaches are logged, not refused; returns True. Raises an error when
    that fails

    name
        A profile, or the path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.complain usr.sbin.tcpdump
    """
    return _set("aa-complain", name)


def disable(name):
    """
    Unload profiles, now and after the next boot; returns True. Raises an error when that fails

    name
        A profile, or the path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.disable usr.sbin.tcpdump
    """
    return _set("aa-disable", name)


def reload(name):
    """
    Load the profiles of a file again; returns True. Raises an error on failure

    name
        The path or name of a file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' apparmor.reload usr.sbin.tcpdump
    """
    path = file_of(name)
    if path is None:
        raise CommandExecutionError("There is no profile %s in %s" % (name, FOLDER))
    return _done(["apparmor_parser", "-r", "-W", path])


def _set(program, name):
    if not process.which(program):
        raise CommandExecutionError("%s is not in the path: it is part of the package apparmor-utils" % program)
    return _done([program, file_of(name) or name])


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False)


def _done(command):
    done = _run(command)
    if done["retcode"]:
        raise CommandExecutionError("%s failed: %s" % (" ".join(command), done["stderr"] or done["stdout"]))
    return True
