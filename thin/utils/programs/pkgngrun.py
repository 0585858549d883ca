"""Runs FreeBSD's pkg without prompts, waiting for its lock up to a limit."""

from thin.utils.programs import pkgrun

_BUSY = pkgrun.says("locked by another process", "Cannot get an advisory lock", "Cannot get an exclusive lock")
_ENVIRONMENT = {"ASSUME_ALWAYS_YES": "YES"}


def refused(grains):
    """The reason if the system is not FreeBSD or the like, so that pkg is not its package manager; else ""."""
    if grains.get("kernel") == "DragonFly" or grains.get("os") == "FreeBSD":
        return ""
    return "The pkgng execution module cannot be loaded: only available on FreeBSD and DragonFly."


def place(jail=None, chroot=None, root=None):
    """pkg's options for the place to work in, from the first argument that is given."""
    for option, value in (("-j", jail), ("-c", chroot), ("-r", root)):
        if value:
            return [option, str(value)]
    return []


def run(salt, opts, where, args, env=None):
    """The return of cmd.run_all for ``pkg ARGS``."""
    return pkgrun.run(salt["cmd.run_all"], opts, ["pkg"] + where + args, _BUSY, env, _ENVIRONMENT)
