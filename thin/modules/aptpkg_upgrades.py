"""Upgrades of all packages, and removal of packages that are no longer needed: a part of ``pkg``. Salt:
modules/aptpkg.py
"""

from thin.exceptions import CommandExecutionError
from thin.utils.outputs import aptout
from thin.utils.packages import pkgspec
from thin.utils.programs import aptrun, pkgrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Debian",)}
__usual__ = True
__reads__ = ("list_upgrades",)
__changes__ = ("autoremove", "upgrade")


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


def list_upgrades(refresh=True, dist_upgrade=True, **kwargs):
    """
    ``{name: new version}`` of the packages that an upgrade would change. Raises CommandExecutionError with apt's
    message.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades
    """
    if _true(refresh):
        __salt__["pkg.refresh_db"](kwargs.get("cache_valid_time", 0))
    release = kwargs.get("fromrepo")
    args = ["-o", "APT::Default-Release=%s" % release] if release else []
    done = _run(["apt-get", "--just-print"] + args + ["dist-upgrade" if dist_upgrade else "upgrade"])
    if done["retcode"] != 0:
        raise CommandExecutionError("Failed to get upgrades: %s" % (done["stderr"] or done["stdout"]))
    return aptout.upgrades(done["stdout"])


def autoremove(list_only=False, purge=False):
    """
    Remove dependencies that are no longer needed: the changes; with ``list_only`` only their sorted names.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.autoremove list_only=True
    """
    options = ["--purge"] if purge else []
    if list_only:
        return aptout.to_be_removed(_run(["apt-get", "-q", "--assume-no"] + options + ["autoremove"])["stdout"])
    before = __salt__["pkg.list_pkgs"]()
    _run(aptrun.apt_get(__opts__) + options + ["autoremove"])
    return pkgspec.differences(before, __salt__["pkg.list_pkgs"]())


def upgrade(refresh=True, dist_upgrade=False, pkgs=None, **kwargs):
    """
    Upgrade all packages, or only ``pkgs``: changes.

    Raises CommandExecutionError whose ``info`` has ``changes`` and ``result``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade dist_upgrade=True
    """
    if _true(refresh):
        __salt__["pkg.refresh_db"](kwargs.get("cache_valid_time", 0))
    before = __salt__["pkg.list_pkgs"]()
    downloadonly = kwargs.get("download_only") or kwargs.get("downloadonly")
    command = aptrun.install_command(__opts__, kwargs, None, kwargs.get("skip_verify"), downloadonly)
    if kwargs.get("allow_downgrades"):
        command.append("--allow-downgrades")
    if pkgs:
        command += ["--only-upgrade", "install", "--"]
        command += [pkg for pkg in pkgspec.names_and_versions(pkgs) if pkg in before]
    else:
        command.append("dist-upgrade" if dist_upgrade else "upgrade")
    done = _run(command, kwargs.get("env"))
    return pkgrun.upgraded(before, done, __salt__["pkg.list_pkgs"]())


def _run(command, env=None):
    return aptrun.run(__salt__["cmd.run_all"], __opts__, command, env)


def _true(value):
    return value.lower() == "true" if isinstance(value, str) else bool(value)
