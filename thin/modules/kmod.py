"""Modules of the Linux kernel, by lsmod, modprobe and rmmod. Salt: ``salt/modules/kmod.py``."""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import textfile

__reads__ = ("available", "check_available", "lsmod", "mod_list", "is_loaded")
__changes__ = ("load", "remove")


def __virtual__():
    if __grains__.get("kernel") == "Linux":
        return True
    return False, "The kmod execution module only runs on Linux systems"


def available():
    """
    Return the sorted names of all modules that the running kernel has, built in or not

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.available
    """
    release = os.uname()[2]
    folder = os.path.join("/lib/modules", release)
    paths = [line.strip() for line in textfile.lines(os.path.join(folder, "modules.builtin"))]
    result = [os.path.basename(path).partition(".ko")[0] for path in paths if path]
    folders = [folder]
    if "Arch" in __grains__.get("os_family", ""):
        folders.append("/lib/modules/extramodules-%s-ARCH" % ".".join(release.split(".")[:2]))
    for top in folders:
        for _, _, files in os.walk(top):
            result += [name.partition(".ko")[0].replace("-", "_") for name in files if ".ko" in name]
    return sorted(result)


def check_available(mod):
    """
    Whether the running kernel has a module

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.check_available dm_mod
    """
    return mod in available()


def lsmod():
    """
    Return ``[{module, size, depcount, deps}]`` of the modules that are loaded; ``deps`` are the modules that use it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.lsmod
    """
    result = []
    for words in map(str.split, __salt__["cmd.run"]([_program("lsmod")], python_shell=False).splitlines()):
        if len(words) > 2 and words[0] != "Module":
            users = words[3].split(",") if len(words) > 3 else []
            result.append({"size": words[1], "module": words[0], "depcount": words[2], "deps": users})
    return result


def mod_list(only_persist=False):
    """
    Return the sorted names of the loaded modules; ``only_persist``: of the modules that are loaded at boot

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.mod_list
    """
    if not only_persist:
        return sorted(_loaded())
    lines = [line.split() for line in textfile.lines(_kept())]
    return sorted({words[0] for words in lines if words and not words[0].startswith("#")})


def is_loaded(mod):
    """
    Whether a module is loaded

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.is_loaded dm_mod
    """
    return mod in mod_list()


def load(mod, persist=False):
    """
    Load a module, with ``persist`` also at boot; returns the names of newly loaded modules, or the text of an error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.load dm_mod
    """
    before = _loaded()
    done = __salt__["cmd.run_all"]([_program("modprobe")] + mod.split(), python_shell=False)
    if done["retcode"]:
        return "Error loading module %s: %s" % (mod, done["stderr"])
    return sorted((_loaded() - before) | (_keep(mod) if persist else set()))


def remove(mod, persist=False, comment=True):
    """
    Unload a module; ``persist``: also remove or comment its line for the boot. Returns the unloaded names

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' kmod.remove floppy
    """
    before = _loaded()
    done = __salt__["cmd.run_all"]([_program("rmmod")] + mod.split(), python_shell=False)
    if done["retcode"]:
        return "Error removing module %s: %s" % (mod, done["stderr"])
    return sorted((before - _loaded()) | (_drop(mod, comment) if persist else set()))


def _program(name):
    path = process.which(name)
    if not path:
        raise CommandExecutionError("Command '%s' cannot be found" % name)
    return path


def _loaded():
    return {each["module"] for each in lsmod()}


def _kept():
    """The file that lists the modules to load at boot."""
    return "/etc/modules-load.d/salt_managed.conf" if "systemd" in __grains__ else "/etc/modules"


def _keep(mod):
    """Add a line for the module, or uncomment its line."""
    words = mod.split()
    if not words or words[0] in mod_list(True) or words[0] not in available():
        return set()
    lines, commented = textfile.lines(_kept()), re.compile(r"#[\t ]*%s[\t ]*$" % re.escape(mod))
    if any(map(commented.match, lines)):
        lines = [mod + "\n" if commented.match(line) else line for line in lines]
    else:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(mod + "\n")
    textfile.write(_kept(), "".join(lines))
    return {words[0]}


def _drop(mod, comment):
    words = mod.split()
    if not words or words[0] not in mod_list(True):
        return set()
    lines = textfile.lines(_kept())
    if comment:
        lines = ["#" + line if line.split()[:1] == words[:1] else line for line in lines]
    else:
        lines = [line for line in lines if line.split()[:1] != words[:1]]
    textfile.write(_kept(), "".join(lines))
    return {words[0]}
