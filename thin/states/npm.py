"""Packages of Node.js, with npm. Salt (until 3007): ``salt/states/npm.py``."""

import re

from thin.exceptions import CommandExecutionError, CommandNotFoundError

_FAILURES = (CommandExecutionError, CommandNotFoundError)


def __virtual__():
    return "npm" if "npm.list" in __salt__ else (False, "npm module could not be loaded")


def installed(name, pkgs=None, dir=None, user=None, force_reinstall=False, registry=None, env=None, silent=True):
    """
    Packages are installed, in this version if one is given.

    name
        A package: ``coffee-script``, ``coffee-script@1.0.1``, ``@scope/name@^2.0``, an address or a file.
    pkgs
        A list of packages, in place of ``name``.
    dir
        The folder that they belong to; global by default.
    user
        The user that npm runs as.
    force_reinstall
        Install them even if they are there.
    registry
        The registry to install from.
    env
        Variables for npm, a dict or a list of dicts.
    silent
        Without npm's progress.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    wanted = [name] if pkgs is None else [str(pkg) for pkg in pkgs]
    try:
        present = __salt__["npm.list"](dir=dir, runas=user, env=env, depth=0)
    except _FAILURES as exc:
        return dict(ret, result=False, comment="Error looking up '%s': %s" % (name, exc))
    missing, satisfied = [], []
    for pkg in wanted:
        version = None if force_reinstall is True else _satisfying(pkg, present, user)
        satisfied += [version] if version else []
        missing += [] if version else [pkg]
    met = "Package(s) '%s' satisfied by %s" % (", ".join(wanted), ", ".join(satisfied))
    if not missing:
        return dict(ret, result=True, comment=met)
    changes = {"old": [], "new": missing}
    if __opts__["test"]:
        words = ["NPM package(s) '%s' are set to be installed" % ", ".join(missing)] + ([met] if satisfied else [])
        return dict(ret, comment=". ".join(words), changes=changes)
    try:
        answer = __salt__["npm.install"](pkgs=missing, dir=dir, runas=user, registry=registry, env=env, silent=silent)
    except _FAILURES as exc:
        return dict(ret, result=False, comment="Error installing '%s': %s" % (", ".join(wanted), exc))
    if not answer or not isinstance(answer, (list, dict)):
        words = "Could not install package(s) '%s'" % ", ".join(wanted)
        return dict(ret, result=False, comment="%s: %s" % (words, answer) if answer else words)
    words = "Package(s) '%s' successfully installed" % ", ".join(missing)
    return dict(ret, result=True, comment=words, changes=changes)


def removed(name, dir=None, user=None):
    """
    A package is not installed.

    name
        The package.
    dir
        The folder that it belongs to; global by default.
    user
        The user that npm runs as.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    try:
        present = __salt__["npm.list"](dir=dir, runas=user, depth=0)
    except _FAILURES as exc:
        return dict(ret, result=False, comment="Error uninstalling '%s': %s" % (name, exc))
    if name not in present:
        return dict(ret, result=True, comment="Package '%s' is not installed" % name)
    if __opts__["test"]:
        return dict(ret, comment="Package '%s' is set to be removed" % name)
    if not __salt__["npm.uninstall"](pkg=name, dir=dir, runas=user):
        return dict(ret, result=False, comment="Error removing package '%s'" % name)
    return dict(ret, result=True, comment="Package '%s' was successfully removed" % name, changes={name: "Removed"})


def bootstrap(name, user=None, silent=True):
    """
    The dependencies of the ``package.json`` in a folder are installed there.

    name
        The folder.
    user
        The user that npm runs as.
    silent
        Without npm's progress.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    try:
        if __opts__["test"]:
            answer = __salt__["npm.install"](dir=name, runas=user, pkg=None, silent=silent, dry_run=True)
            if not _did(answer):
                return dict(ret, result=True, comment="Directory is already bootstrapped")
            return dict(ret, comment="Directory %s would be bootstrapped" % name, changes={name: "Bootstrapped"})
        answer = __salt__["npm.install"](dir=name, runas=user, pkg=None, silent=silent)
    except _FAILURES as exc:
        return dict(ret, result=False, comment="Error Bootstrapping '%s': %s" % (name, exc))
    if not answer or (isinstance(answer, dict) and not _did(answer)):
        return dict(ret, result=True, comment="Directory is already bootstrapped")
    if isinstance(answer, str):
        return dict(ret, result=False, comment="Could not bootstrap directory: %s" % answer)
    return dict(ret, result=True, comment="Directory was successfully bootstrapped", changes={name: "Bootstrapped"})


def cache_cleaned(name=None, user=None, force=False):
    """
    npm's cache is empty, or does not contain one package.

    name
        The package; by default, or with ``name: ""``, all.
    user
        The user whose cache it is.
    force
        Required since npm 5.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    what = name or "packages"
    try:
        lines = __salt__["npm.cache_list"](path=name, runas=user).splitlines()
        if name and not any(name in line for line in lines):
            return dict(ret, result=True, comment="Package %s is not in the cache" % name)
    except _FAILURES as exc:
        return dict(ret, result=False, comment="Error looking up cached %s: %s" % (what, exc))
    if not lines:
        return dict(ret, result=True, comment="There are no cached packages")
    if __opts__["test"]:
        return dict(ret, comment="Cached %s set to be removed" % what)
    if not __salt__["npm.cache_clean"](path=name, runas=user, force=force):
        return dict(ret, result=False, comment="Error cleaning cached %s" % what)
    return dict(ret, result=True, comment="Cached %s successfully removed" % what, changes={name or "cache": "Removed"})


def _satisfying(pkg, present, user):
    """``name@version`` of an installed package that satisfies the requirement, or None."""
    pkg = pkg.strip()
    if "://" in pkg and not pkg.startswith("file:"):
        place = pkg.split("://")[1]
        for name, about in present.items():
            source = str(about.get("from") or about.get("resolved") or "")
            if source.rpartition("://")[2].partition("#")[0] == place.partition("#")[0]:
                return "%s@%s" % (name, about.get("version"))
        return None
    if pkg.startswith((".", "/", "file:")):
        about = __salt__["npm.describe"](re.sub("^file:(//)?", "", pkg), runas=user)
        name, version = about.get("name"), about.get("version")
    else:
        name, version = re.match(r"(@?[^@\s]+)(?:@(\S+))?", pkg).groups()
    number = present.get(name, {}).get("version")
    return "%s@%s" % (name, number) if number and (not version or version == number) else None


def _did(output):
    """Whether npm reports changes: new versions report counts, old ones lists."""
    if isinstance(output, dict) and any(key in output for key in ("added", "removed", "changed")):
        return any(output.get(key) for key in ("added", "removed", "changed"))
    return bool(output)
