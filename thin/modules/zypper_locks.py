"""Packages that zypper holds: a part of ``pkg``. Salt: modules/zypperpkg.py"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.packages import pkgholds, pkgspec
from thin.utils.programs import zypprun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Suse",)}
__reads__ = ("list_locks", "list_holds")
__changes__ = ("hold", "unhold", "clean_locks")

LOCKS = "/etc/zypp/locks"


def __virtual__():
    if __grains__.get("os_family") != "Suse":
        return False, "Module zypper: non SUSE OS not supported by zypper package manager"
    return __virtualname__ if process.which("zypper") else (False, "Module zypper: zypper package manager not found")


def hold(name=None, pkgs=None, root=None, **kwargs):
    """
    Keep packages at their version, or at that of ``{name: version}``: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.hold pkgs='["curl", {"nginx": "1.27.2-1"}]'
    """
    locks, wanted = list_locks(root), _held_targets(name, pkgs)
    added = [_lock_word(pkg, version) for pkg, version in wanted.items() if pkg not in locks]
    result = {pkg: pkgholds.hold(pkg, pkg in locks, lambda _: True, __opts__["test"]) for pkg in wanted}
    if added and not __opts__["test"]:
        _run(["addlock"] + added, root, read=False)
    return result


def unhold(name=None, pkgs=None, root=None, **kwargs):
    """
    Let packages be changed again: ``{name: {name, changes, result, comment}}``

    With ``{name: version}``, a package that is held at another version stays held.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unhold nginx
    """
    locks, removed, result = list_locks(root), [], {}
    for pkg, version in _held_targets(name, pkgs).items():
        at = locks.get(pkg, {}).get("version", "").lstrip("= ")
        result[pkg] = pkgholds.unhold(pkg, pkg in locks, lambda _: True, __opts__["test"])
        if pkg not in locks:
            result[pkg]["comment"] = "Package %s was already unheld." % pkg
        elif version and at != version:
            words = "Unable to unhold package %s as it is held with the other version." % pkg
            result[pkg].update(result=False, changes={}, comment=words)
        else:
            removed.append(_lock_word(pkg, at))
    if removed and not __opts__["test"]:
        _run(["removelock"] + removed, root, read=False)
    return result


def list_locks(root=None):
    """
    Return ``{name: {type, match_type, case_sensitive, version}}`` of the locks as zypper stores them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_locks
    """
    try:
        with open((root or "") + LOCKS, encoding="utf-8") as stream:
            return zypprun.locks(stream.read())
    except OSError:
        return {}


def list_holds(pattern=None, full=True, root=None, **kwargs):
    """
    Return the installed packages that are locked, as ``name-epoch:version-release.*``, or without ``full`` their names

    pattern
        A regular expression for names.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_holds full=False
    """
    import fnmatch
    import re

    installed = __salt__["pkg.list_pkgs"](versions_as_list=True, root=root)
    names = []
    for glob, lock in list_locks(root).items():
        if lock.get("type", "package") == "package":
            names += [pkg for pkg in fnmatch.filter(sorted(installed), glob) if pkg not in names]
    held = []
    for pkg in names:
        if pattern and not re.match(pattern, pkg):
            continue
        for version in installed[pkg] if full else [None]:
            held.append("%s-%s%s.*" % (pkg, "" if ":" in version else "0:", version) if full else pkg)
    return held


def clean_locks(root=None):
    """
    Remove the locks that match no package: ``{removed: number}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.clean_locks
    """
    clean_locks = {"removed": 0}
    if os.path.exists((root or "") + LOCKS):
        for _, text in zypprun.messages(_run(["cleanlocks"], root, xml=True, read=False)["stdout"]):
            if text.lower().startswith("removed"):
                clean_locks["removed"] = text.split(" ")[1]
    return clean_locks


def _held_targets(name, pkgs):
    if not name and not pkgs:
        raise CommandExecutionError("Name or packages must be specified.")
    return pkgspec.names_and_versions(pkgs or [name])


def _lock_word(pkg, version):
    return "%s=%s" % (pkg, version) if version else pkg


def _run(args, root, xml=False, read=True):
    return zypprun.run(__salt__["cmd.run_all"], __opts__, args, root, xml, read=read)
