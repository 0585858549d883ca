"""Runs FreeBSD's pkg without prompts, waiting for its lock up to a limit."""

from thin.utils.programs import pkgrun

_BUSY = pkgrun.says("locked by another process", "Cannot get an advisory lock", "Cannot get an exclusive lock")
_ENVIRONMENT = {"ASSUME_ALWAYS_YES": "YES"}


def refused(grains):
    """Why this system is not one of them, "" when it is."""
    if grains.get("kernel") == "DragonFly" or grains.get("os") == "FreeBSD":
        return ""
    return "The pkgng execution module cannot be loaded: only available on FreeBSD and DragonFly."


def place(jail=None, chroot=None, root=None):
    """pkg's own words for where to work: the first that is given."""
    for option, value in (("-j", jail), ("-c", chroot), ("-r", root)):
        if value:
            return [option, str(value)]
    return []


def run(salt, opts, where, args, env=None):
    """What cmd.run_all returns of ``pkg ARGS``."""
    return pkgrun.run(salt["cmd.run_all"], opts, ["pkg"] + where + args, _BUSY, env, _ENVIRONMENT)
