"""Packages of macOS by Homebrew. Salt: modules/mac_brew_pkg.py

brew refuses to run as root, so it runs as the user who owns it. No command asks questions.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import data
from thin.utils.outputs import brewout
from thin.utils.packages import pkgholds, pkgspec
from thin.utils.programs import pkgrun

__virtualname__ = "pkg"
__fits__ = {"os": ("MacOS",)}
__usual__ = True
__reads__ = (
    "homebrew_prefix",
    "version_cmp",
    "list_pkgs",
    "version",
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_upgrades",
    "info_installed",
    "list_holds",
)
__changes__ = ("refresh_db", "install", "upgrade", "remove", "uninstall", "purge", "hold", "unhold", "pin", "unpin")

PLACES = ("/opt/homebrew/bin/brew", "/usr/local/bin/brew", "/home/linuxbrew/.linuxbrew/bin/brew")

_BUSY = pkgrun.says("process is already running", "process is already locked", "Another active Homebrew")
_ENVIRONMENT = {"HOMEBREW_NO_AUTO_UPDATE": "1", "HOMEBREW_NO_ENV_HINTS": "1", "NONINTERACTIVE": "1"}


def __virtual__():
    if __grains__.get("os") != "MacOS":
        return False, "brew module is macos specific"
    return __virtualname__ if _brew() else (False, "The 'brew' binary was not found")


def homebrew_prefix():
    """
    Return Homebrew's folder, or None

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.homebrew_prefix
    """
    if os.environ.get("HOMEBREW_PREFIX"):
        return os.environ["HOMEBREW_PREFIX"]
    brew = _brew()
    done = brew and _run(["--prefix"])
    return done["stdout"].strip() if done and done["retcode"] == 0 else None


# Installed and available packages


def version_cmp(pkg1, pkg2, ignore_epoch=False, **kwargs):
    """
    Return -1, 0 or 1 as version ``pkg1`` is older than, equal to or newer than ``pkg2``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version_cmp 1.2.3 1.2.3_1
    """
    return brewout.compare(pkg1, pkg2)


def list_pkgs(versions_as_list=False, **kwargs):
    """
    Return ``{name: "version"}`` of formulae and casks, also by their aliases and full names

    versions_as_list
        ``{name: [versions]}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_pkgs
    """
    if any(data.is_true(kwargs.get(word)) for word in ("removed", "purge_desired")):
        return {}
    packages = brewout.installed(_json(["info", "--json=v2", "--installed"]))
    return (
        packages if data.is_true(versions_as_list) else {name: ",".join(several) for name, several in packages.items()}
    )


def version(*names, **kwargs):
    """
    Return the installed version of a package ("" when absent), or ``{name: version}`` of several; names may be globs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version git
    """
    return __salt__["pkg_resource.version"](*names, **kwargs)


def latest_version(*names, **kwargs):
    """
    Return the version that an install or upgrade would give, "" if none is newer; ``{name: version}`` of several

    refresh : True
        Update the lists first.
    options
        Further options of ``brew info``.
    show_installed
        Return the newest version even if it is installed already.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version git curl
    """
    if data.is_true(kwargs.pop("refresh", True)):
        refresh_db()
    about = info_installed(*names, options=kwargs.get("options"))
    installed = {} if data.is_true(kwargs.get("show_installed", False)) else list_pkgs(versions_as_list=True)
    latest = {name: brewout.newest(about[name]) if name in about else "" for name in names}
    latest = {name: "" if number in installed.get(name, ()) else number for name, number in latest.items()}
    return latest[names[0]] if len(latest) == 1 else latest


available_version = latest_version


def upgrade_available(pkg, **kwargs):
    """
    Whether a newer version of the package is available

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available git
    """
    return pkg in list_upgrades(**kwargs)


def list_upgrades(refresh=True, include_casks=False, options=None, **kwargs):
    """
    Return ``{name: new version}`` of the packages that an upgrade would change

    include_casks
        Casks, too.
    options
        Further options of ``brew outdated``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades include_casks=True
    """
    if data.is_true(refresh):
        refresh_db()
    outdated = _json(["outdated", "--json=v2"] + pkgrun.listed(options))
    kinds = ["formulae"] + (["casks"] if include_casks else [])
    return {one["name"]: one["current_version"] for kind in kinds for one in outdated.get(kind, [])}


def info_installed(*names, **kwargs):
    """
    Return ``{name: data of brew}``

    options
        Further options of ``brew info``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.info_installed git
    """
    if not names:
        return {}
    return brewout.about(_json(["info", "--json=v2"] + pkgrun.listed(kwargs.get("options")) + list(names)), names)


# Changes


def refresh_db(**kwargs):
    """
    Update Homebrew and its lists; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db
    """
    pkgrun.refreshed(__context__, __opts__)
    _checked(["update"])
    return True


def install(name=None, pkgs=None, taps=None, options=None, **kwargs):
    """
    Install formulae or casks: ``{name: {old, new}}``

    name
        A formula or cask, also as ``owner/tap/name``.
    pkgs
        Names; brew has no other versions than the newest.
    taps
        Taps to be added first: a name or a list.
    options
        Further options: a list.
    reinstall
        Install packages again that are already installed.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install app taps=example/tools options='["--HEAD"]'
    """
    params = __salt__["pkg_resource.parse_targets"](name, pkgs, kwargs.get("sources") or {})[0] or {}
    if not params:
        return {}
    for tap in taps if isinstance(taps, list) else [taps] if taps else []:
        if tap not in _checked(["tap"])["stdout"].split():
            _checked(["tap", tap])
    action = "reinstall" if data.is_true(kwargs.get("reinstall", False)) else "install"

    def act():
        done = _run([action] + list(params) + pkgrun.listed(options))
        return [pkgrun.words(done)] if done["retcode"] != 0 else []

    return pkgrun.changed(list_pkgs, act, "Problem encountered installing package(s)")


def upgrade(refresh=True, **kwargs):
    """
    Upgrade all packages: ``{name: {old, new}}``

    pkgs
        Only these.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade
    """
    before = list_pkgs()
    if data.is_true(refresh):
        refresh_db()
    only = [pkg for pkg in pkgspec.names_and_versions(kwargs.get("pkgs") or []) if pkg in before]
    done = _run(["upgrade"] + only)
    return pkgrun.upgraded(before, done, list_pkgs())


def remove(name=None, pkgs=None, options=None, **kwargs):
    """
    Remove formulae or casks: ``{name: {old, new: ""}}``

    options
        Further options of ``brew uninstall``: a list.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove pkgs='["redis", "wget"]'
    """
    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    installed = list_pkgs()
    targets = [pkg for pkg in params if pkg in installed]
    if not targets:
        return {}

    def act():
        done = _run(["uninstall"] + pkgrun.listed(options) + targets)
        return [pkgrun.words(done)] if done["retcode"] != 0 else []

    return pkgrun.changed(list_pkgs, act, "Problem encountered removing package(s)")


uninstall = remove


def purge(name=None, pkgs=None, options=None, **kwargs):
    """
    Remove formulae or casks, as ``remove`` does

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.purge nginx
    """
    return remove(name, pkgs, options, **kwargs)


# Held packages


def hold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Keep formulae at their version: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.hold git
    """
    return _pinned(name, pkgs, sources, True)


def unhold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Let formulae be upgraded again: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unhold git
    """
    return _pinned(name, pkgs, sources, False)


pin = hold
unpin = unhold


def list_holds(pattern=None, full=True, **kwargs):
    """
    Return the names of the formulae that are held

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_holds
    """
    return _checked(["list", "--pinned"])["stdout"].split()


def _pinned(name, pkgs, sources, hold):
    pinned, installed, result = list_holds(), list_pkgs(), {}
    for target in pkgholds.targets(name, pkgs, sources):
        if target not in installed:
            words = "Package %s does not have a state." % target
            result[target] = {"name": target, "changes": {}, "result": False, "comment": words}
        elif hold:
            pin = lambda pkg: _run(["pin", pkg])["retcode"] == 0  # noqa: E731
            result[target] = pkgholds.hold(target, target in pinned, pin, __opts__["test"], "install")
        else:
            unpin = lambda pkg: _run(["unpin", pkg])["retcode"] == 0  # noqa: E731
            result[target] = pkgholds.unhold(target, target in pinned, unpin, __opts__["test"], "install")
    return result


# Private functions


def _brew():
    return process.which("brew") or next((path for path in PLACES if os.access(path, os.X_OK)), None)


def _json(args):
    from thin.utils.files import serial

    try:
        return serial.loads(_checked(args)["stdout"])
    except ValueError as exc:
        raise CommandExecutionError('unable to interpret output from "brew %s": %s' % (args[0], exc))


def _checked(args):
    done = _run(args)
    if done["retcode"] != 0:
        raise CommandExecutionError("Brew command failed: brew %s" % " ".join(args), info={"result": done})
    return done


def _run(args):
    brew = _brew()
    owner = __salt__["file.get_user"](os.path.realpath(brew))
    runas = owner if os.geteuid() == 0 and owner != "root" else None
    folder = os.path.dirname(os.path.realpath(brew))  # a folder that this user can enter
    return pkgrun.run(
        __salt__["cmd.run_all"], __opts__, [brew] + args, _BUSY, environment=_ENVIRONMENT, runas=runas, cwd=folder
    )
