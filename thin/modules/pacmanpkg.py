"""Packages of Arch by pacman. Salt: modules/pacmanpkg.py

No command asks questions, and all wait for pacman's lock. Functions that take ``root`` work on another system's root
directory.
"""

import fnmatch

from thin.exceptions import CommandExecutionError
from thin.utils import data
from thin.utils.packages import pacmanversion, pkgspec
from thin.utils.programs import pkgrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Arch",)}
__usual__ = True
__reads__ = (
    "version_cmp",
    "list_pkgs",
    "version",
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_upgrades",
    "list_repo_pkgs",
    "group_list",
    "group_info",
    "group_diff",
    "file_list",
    "file_dict",
    "owner",
)
__changes__ = ("refresh_db", "install", "upgrade", "remove", "purge")

DATABASE = "/var/lib/pacman/local"
KINDS = ("mandatory", "optional", "default", "conditional")

_BUSY = pkgrun.says("unable to lock database")
_CHANGE = ["--noprogressbar", "--noconfirm"]


def __virtual__():
    if __grains__.get("os_family") == "Arch":
        return __virtualname__
    return False, "The pacman module could not be loaded: unsupported OS family."


# Installed and available packages


def version_cmp(pkg1, pkg2, ignore_epoch=False, **kwargs):
    """
    Return -1, 0 or 1 as version ``pkg1`` is older than, equal to or newer than ``pkg2``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version_cmp 1.0rc1-1 1.0-1
    """
    return pacmanversion.compare(pkg1, pkg2, ignore_epoch)


def list_pkgs(versions_as_list=False, **kwargs):
    """
    Return ``{name: "version"}`` of the installed packages, or with ``versions_as_list`` ``{name: [versions]}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_pkgs
    """
    if any(data.is_true(kwargs.get(word)) for word in ("removed", "purge_desired")):
        return {}
    root = kwargs.get("root")

    def read():
        done = _run(["-Q"], root)
        return dict(line.split()[:2] for line in done["stdout"].splitlines() if len(line.split()) > 1)

    key = "pkg.list_pkgs_%s" % root if root else "pkg.list_pkgs"
    found = pkgrun.remembered(__context__, key, [(root or "") + DATABASE], read)
    return {name: [number] for name, number in found.items()} if data.is_true(versions_as_list) else dict(found)


def version(*names, **kwargs):
    """
    Return the installed version of a package ("" when absent), or ``{name: version}`` of several; names may be globs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version bash
    """
    return __salt__["pkg_resource.version"](*names, **kwargs)


def latest_version(*names, **kwargs):
    """
    Return the version that an install would give, "" if none is newer; ``{name: version}`` of several

    refresh : False
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version nginx redis
    """
    if not names:
        return ""
    if data.is_true(kwargs.get("refresh", False)):
        refresh_db(kwargs.get("root"))
    installed = {} if kwargs.get("show_installed") else list_pkgs(root=kwargs.get("root"))
    found = dict.fromkeys(names, "")
    for _, name, number in _offered(kwargs.get("root")):
        if found.get(name) == "":  # the repositories are listed in pacman's order of preference
            newer = name not in installed or pacmanversion.compare(number, installed[name]) > 0
            found[name] = number if newer else None
    found = {name: number or "" for name, number in found.items()}
    return found[names[0]] if len(found) == 1 else found


available_version = latest_version


def upgrade_available(name, **kwargs):
    """
    Whether a newer version of the package is available

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available bash
    """
    return latest_version(name) != ""


def list_upgrades(refresh=False, root=None, **kwargs):
    """
    Return ``{name: new version}`` of the packages that an upgrade would change

    refresh : False
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades
    """
    if data.is_true(refresh):
        refresh_db(root)
    done = _run(["-S", "-p", "-u", "--print-format", "%n %v"], root)
    if done["retcode"] != 0:
        raise CommandExecutionError("Error listing upgrades: %s" % pkgrun.words(done))
    return dict(line.split() for line in done["stdout"].splitlines() if len(line.split()) == 2)


def list_repo_pkgs(*args, **kwargs):
    """
    Return ``{name: [versions]}`` that the repositories offer, newest first

    args
        Names or globs; all packages without them.
    fromrepo
        Only these repositories, with commas between them.
    byrepo
        ``{repository: {name: [versions]}}``.
    refresh : False
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repo_pkgs 'samba4*' fromrepo=core,extra byrepo=True
    """
    import functools

    byrepo, repositories = kwargs.get("byrepo", False), pkgrun.listed(kwargs.get("fromrepo"))
    if data.is_true(kwargs.get("refresh", False)):
        refresh_db()
    found = {}
    for repository, name, number in _offered():
        if repositories and repository not in repositories:
            continue
        if not args or any(fnmatch.fnmatch(name, arg) for arg in args):
            versions = found.setdefault(repository if byrepo else "", {}).setdefault(name, [])
            versions += [number] if number not in versions else []
    for packages in found.values():
        for versions in packages.values():
            versions.sort(key=functools.cmp_to_key(pacmanversion.compare), reverse=True)
    return found if byrepo else found.get("", {})


def _offered(root=None):
    """``[(repository, name, version)]`` of all packages in the lists."""
    rows = [line.split() for line in _run(["-Sl"], root)["stdout"].splitlines()]
    return [tuple(row[:3]) for row in rows if len(row) > 2]


# Groups


def group_list():
    """
    Return ``{installed, partially_installed, available: [groups]}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_list
    """
    available, installed = _members(["-Sgg"]), _members(["-Qg"])
    found = {"installed": [], "partially_installed": [], "available": []}
    for group in sorted(available):
        have = len(installed.get(group, ()))
        kind = "available" if not have else "installed" if have == len(available[group]) else "partially_installed"
        found[kind].append(group)
    return found


def group_info(name):
    """
    Return ``{default, mandatory, optional, conditional: [names]}`` of a group; for pacman all packages are default
    packages

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_info base-devel
    """
    found = {kind: [] for kind in KINDS}
    found["default"] = sorted(_members(["-Sgg", "--", name]).get(name, ()))
    return found


def group_diff(name):
    """
    Return ``{default, mandatory, optional, conditional: {installed: [names], "not installed": [names]}}`` of a group

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.group_diff base-devel
    """
    installed, group = list_pkgs(), group_info(name)
    return {
        kind: {
            "installed": [member for member in group[kind] if member in installed],
            "not installed": [member for member in group[kind] if member not in installed],
        }
        for kind in KINDS
    }


def _members(args):
    found = {}
    for line in _run(args)["stdout"].splitlines():
        words = line.split()
        if len(words) > 1:
            found.setdefault(words[0], set()).add(words[1])
    return found


# Changes


def refresh_db(root=None, **kwargs):
    """
    Update the lists: ``{repository: True fetched | False up to date}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db
    """
    pkgrun.refreshed(__context__, __opts__)
    done = _run(["-Sy"], root)
    if done["retcode"] != 0:
        raise CommandExecutionError("Error refreshing package database: %s" % pkgrun.words(done))
    found = {}
    for line in done["stdout"].splitlines():
        words = line.split()
        if not words or words[0] == "::":
            continue
        if "is up to date" in line:
            found[words[0]] = False
        elif "downloading" in line:
            found[(words[0] if words[0] != "downloading" else words[1]).split(".")[0]] = True
    return found


def install(name=None, refresh=False, sysupgrade=None, pkgs=None, sources=None, **kwargs):
    """
    Install, upgrade and downgrade packages: ``{name: {old, new}}`` of all changes

    name
        A package; ``version`` is its version.
    pkgs
        Names, or ``{name: version}``; a version may be exact, have a ``*``, or be a condition like ``>=1.2``.
    sources
        ``{name: path or URL of a package file}``.
    refresh
        Update the lists first.
    sysupgrade
        Upgrade all other packages, too.
    reinstall
        Install packages again that are already installed.
    downloadonly
        Only download.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install pkgs='["curl", {"nginx": "1.26.2-1"}]'
    """
    more = {key: kwargs[key] for key in ("version", "saltenv", "normalize") if key in kwargs}
    params, kind = __salt__["pkg_resource.parse_targets"](name, pkgs, sources, **more)
    if not params:
        return {}
    again = data.is_true(kwargs.get("reinstall", False))
    words = _CHANGE + (["--downloadonly"] if kwargs.get("downloadonly") else [])
    words += [] if again else ["--needed"]
    if kind == "file":
        words = ["-U"] + words + ["--"] + list(params)
    else:
        if data.is_true(refresh):
            refresh_db(kwargs.get("root"))
        words = ["-S"] + (["-u"] if sysupgrade is True else []) + words + ["--"] + _targets(params)
    root = kwargs.get("root")
    before = list_pkgs(root=root)
    changes = pkgrun.changed(
        lambda: list_pkgs(root=root), lambda: _errors(words, root), "Problem encountered installing package(s)"
    )
    for pkg in params if again and kind != "file" else ():
        if pkg in before:
            changes.setdefault(pkg, {"old": before[pkg], "new": before[pkg]})
    return changes


def _targets(params):
    words, vague = [], [pkg for pkg, number in params.items() if number and "*" in number]
    offered = list_repo_pkgs(*vague) if vague else {}
    for pkg, number in params.items():
        if pkg in vague:
            found = pkgspec.best_match(offered.get(pkg, []), number, pacmanversion.compare)
            if found is None:
                raise CommandExecutionError(
                    "Problem encountered installing package(s)",
                    info={
                        "errors": [
                            "No version matching '%s' found for package '%s' (available: %s)"
                            % (number, pkg, ", ".join(offered.get(pkg, [])) or "none")
                        ],
                        "changes": {},
                    },
                )
            number = found
        operator, number = pkgspec.split_condition(number) if number else ("", None)
        words.append("%s%s%s" % (pkg, operator.replace("==", "=") or "=", number) if number else pkg)
    return words


def upgrade(refresh=False, root=None, **kwargs):
    """
    Upgrade all packages: ``{name: {old, new}}``

    refresh : False
        Update the lists first.
    pkgs
        Only these packages.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade refresh=True
    """
    if data.is_true(refresh):
        refresh_db(root)
    before = list_pkgs(root=root)
    only = [pkg for pkg in pkgspec.names_and_versions(kwargs.get("pkgs") or []) if pkg in before]
    words = ["-S"] + _CHANGE + ["--needed", "--"] + only if kwargs.get("pkgs") else ["-Su"] + _CHANGE
    done = _run(words, root)
    return pkgrun.upgraded(before, done, list_pkgs(root=root))


def remove(name=None, pkgs=None, **kwargs):
    """
    Remove packages: ``{name: {old, new: ""}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove pkgs='["redis", "wget"]'
    """
    return _uninstall("-R", name, pkgs, kwargs.get("root"))


def purge(name=None, pkgs=None, **kwargs):
    """
    Remove packages, what depends on them, what only they needed, and their configuration: ``{name: {old, new: ""}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.purge pkgs='["redis", "wget"]'
    """
    return _uninstall("-Rscn", name, pkgs, kwargs.get("root"))


def _uninstall(option, name, pkgs, root):
    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    installed = list_pkgs(root=root)
    targets = [pkg for pkg in params if pkg in installed]
    if not targets:
        return {}
    words = [option] + _CHANGE + ["--"] + targets
    return pkgrun.changed(
        lambda: list_pkgs(root=root), lambda: _errors(words, root), "Problem encountered removing package(s)"
    )


# Files of packages


def file_list(*packages, **kwargs):
    """
    Return ``{errors: [lines], files: [paths]}`` of the packages, or of all installed ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_list curl redis
    """
    found = file_dict(*packages, **kwargs)
    return {"errors": found["errors"], "files": [path for paths in found["packages"].values() for path in paths]}


def file_dict(*packages, **kwargs):
    """
    Return ``{errors: [lines], packages: {name: [paths]}}`` of the packages, or of all installed ones

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_dict curl
    """
    done = _run(["-Ql", "--"] + list(packages), kwargs.get("root"))
    found = {}
    for line in done["stdout"].splitlines():
        name, _, path = line.partition(" ")
        found.setdefault(name, []).append(path)
    errors = [line for line in done["stderr"].splitlines() if line.startswith("error")]
    return {"errors": errors, "packages": found}


def owner(*paths, **kwargs):
    """
    Return the package that a path belongs to ("" for none), or ``{path: package}`` of several

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.owner /usr/bin/sshd
    """
    if not paths:
        return ""
    found = {path: _run(["-Qqo", "--", path])["stdout"].strip() for path in paths}
    return found[paths[0]] if len(found) == 1 else found


def _errors(words, root):
    done = _run(words, root)
    if done["retcode"] == 0:
        return []
    why = [line for line in done["stdout"].splitlines() if line.startswith(":: ")]  # what would break, and such
    return ["\n".join(why + [pkgrun.words(done)])]


def _run(args, root=None):
    command = ["pacman"] + (["-r", root] if root else []) + list(args)
    return pkgrun.run(__salt__["cmd.run_all"], __opts__, command, _BUSY)
