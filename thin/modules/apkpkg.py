"""Packages of Alpine by apk. Salt (until 3007): modules/apkpkg.py

No command asks questions, and apk waits for its lock for a limited time. A package is held when /etc/apk/world names it
with its version.
"""

import re

from thin.exceptions import CommandExecutionError
from thin.utils import data
from thin.utils.outputs import apkout
from thin.utils.packages import pkgholds, pkgspec
from thin.utils.programs import pkgrun

__virtualname__ = "pkg"
__fits__ = {"os_family": ("Alpine",)}
__usual__ = True
__reads__ = (
    "version_cmp",
    "list_pkgs",
    "version",
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_repo_pkgs",
    "list_upgrades",
    "list_holds",
    "file_list",
    "file_dict",
    "owner",
)
__changes__ = ("refresh_db", "install", "upgrade", "remove", "purge", "hold", "unhold")

DATABASES = ("/lib/apk/db/installed", "/usr/lib/apk/db/installed")
WORLD = "/etc/apk/world"

_BUSY = pkgrun.says("Unable to lock database")


def __virtual__():
    if __grains__.get("os_family") == "Alpine":
        return __virtualname__
    return False, "Module apk only works on Alpine Linux based systems"


# Installed and available packages


def version_cmp(pkg1, pkg2, ignore_epoch=False, **kwargs):
    """
    Return -1, 0 or 1 as version ``pkg1`` is older than, equal to or newer than ``pkg2``; None if apk cannot compare
    them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version_cmp 1.2.3-r0 1.2.3-r1
    """
    if str(pkg1) == str(pkg2):
        return 0
    output = _run(["version", "-t", str(pkg1), str(pkg2)])["stdout"].strip()
    return {"<": -1, "=": 0, ">": 1}.get(output)


def list_pkgs(versions_as_list=False, **kwargs):
    """
    Return ``{name: "version"}`` of the installed packages, or with ``versions_as_list`` ``{name: [versions]}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_pkgs
    """
    if any(data.is_true(kwargs.get(word)) for word in ("removed", "purge_desired")):
        return {}
    packages = pkgrun.remembered(
        __context__, "pkg.list_pkgs", DATABASES, lambda: apkout.packages(_run(["info", "-v"])["stdout"])
    )
    return {name: [number] for name, number in packages.items()} if data.is_true(versions_as_list) else dict(packages)


def version(*names, **kwargs):
    """
    Return the installed version of a package ("" when absent), or ``{name: version}`` of several; names may be globs

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version busybox
    """
    return __salt__["pkg_resource.version"](*names, **kwargs)


def latest_version(*names, **kwargs):
    """
    Return the version that an install would give, "" if none is newer; ``{name: version}`` for several

    refresh : False
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version nginx
    """
    if not names:
        return ""
    if data.is_true(kwargs.get("refresh", False)):
        refresh_db()
    policies = apkout.policies(_run(["policy"] + list(names))["stdout"])
    installed = {} if kwargs.get("show_installed") else list_pkgs()
    latest = {}
    for name in names:
        offered = [number for number, places in policies.get(name, []) if apkout.repositories(places)]
        latest[name] = offered[-1] if offered and offered[-1] != installed.get(name) else ""
        if latest[name] and name in installed and version_cmp(latest[name], installed[name]) == -1:
            latest[name] = ""
    return latest[names[0]] if len(latest) == 1 else latest


available_version = latest_version


def upgrade_available(name, **kwargs):
    """
    Whether a newer version of the package is available

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available nginx
    """
    return latest_version(name) != ""


def list_repo_pkgs(*args, **kwargs):
    """
    Return ``{name: [versions]}`` that the repositories offer, newest first

    args
        Names.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repo_pkgs nginx
    """
    policies = apkout.policies(_run(["policy"] + list(args))["stdout"]) if args else {}
    packages = {}
    for name, rows in policies.items():
        offered = [number for number, places in rows if apkout.repositories(places)]
        if offered:
            packages[name] = list(reversed(offered))
    return packages


def list_upgrades(refresh=True, **kwargs):
    """
    Return ``{name: new version}`` of the packages that an upgrade would change

    refresh : True
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades
    """
    if data.is_true(refresh):
        refresh_db()
    done = _run(["upgrade", "--simulate"])
    if done["retcode"] != 0:
        raise CommandExecutionError("Failed to get upgrades: %s" % pkgrun.words(done))
    return apkout.upgrades(done["stdout"])


# Changes


def refresh_db(**kwargs):
    """
    Update the package lists; returns True

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db
    """
    pkgrun.refreshed(__context__, __opts__)
    done = _run(["update"])
    if done["retcode"] != 0:
        raise CommandExecutionError(
            "Problem encountered refreshing the package lists", info={"errors": [pkgrun.words(done)]}
        )
    return True


def install(name=None, refresh=False, pkgs=None, sources=None, **kwargs):
    """
    Install, upgrade and downgrade packages: ``{name: {old, new}}`` of all changes

    name
        A package; ``version`` is its version.
    pkgs
        Names, or ``{name: version}``; a version may be exact, have a ``*``, or be a condition like ``>=1.2``.
    sources
        ``{name: path or URL of an .apk file}``; their signatures are not checked.
    refresh
        Update the lists first.
    skip_verify
        Do not check signatures.
    fromrepo
        The tag of a repository, or the URL of one more.
    reinstall
        Install packages again that are already installed.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install pkgs='["curl", {"nginx": "1.26.3-r0"}]'
    """
    more = {key: kwargs[key] for key in ("version", "saltenv", "normalize") if key in kwargs}
    params, kind = __salt__["pkg_resource.parse_targets"](name, pkgs, sources, **more)
    if not params:
        return {}
    if data.is_true(refresh):
        refresh_db()
    again = data.is_true(kwargs.get("reinstall", False)) and kind != "file"
    repository, before = kwargs.get("fromrepo") or "", list_pkgs()
    words = ["--allow-untrusted"] if kind == "file" or kwargs.get("skip_verify") else []
    if "/" in repository:
        words += ["--repository", repository]
    tag = "@" + repository if repository and "/" not in repository else ""
    targets = list(params) if kind == "file" else [_word(pkg, number, tag) for pkg, number in params.items()]

    def act():
        done = _run(["add"] + words + targets)
        if done["retcode"] == 0 and again:
            present = [pkg for pkg in params if pkg in before]
            done = _run(["fix", "--reinstall"] + present) if present else done
        return [pkgrun.words(done)] if done["retcode"] != 0 else []

    changes = pkgrun.changed(list_pkgs, act, "Problem encountered installing package(s)")
    for pkg in params if again else ():
        if pkg in before:
            changes.setdefault(pkg, {"old": before[pkg], "new": before[pkg]})
    return changes


def _word(pkg, number, tag=""):
    """The argument of apk for a version of a package: ``=1.2-r0``, ``@edge=1.2-r0`` of tagged repositories,
    ``>=1.2``."""
    if "@" in pkg:
        pkg, _, tag = pkg.partition("@")
        tag = "@" + tag
    if not number:
        return pkg + tag
    operator, number = pkgspec.split_condition(number)
    if "*" in number:
        offered = list_repo_pkgs(pkg).get(pkg, [])
        match = pkgspec.best_match(offered, number, version_cmp)
        if match is None:
            raise CommandExecutionError(
                "No version matching '%s' found for package '%s' (available: %s)"
                % (number, pkg, ", ".join(offered) or "none")
            )
        operator, number = "=", match
    return "%s%s%s%s" % (pkg, tag, operator.replace("==", "=") or "=", number)


def upgrade(name=None, pkgs=None, refresh=True, **kwargs):
    """
    Upgrade all packages, or only these: ``{name: {old, new}}``

    dist_upgrade
        Also to versions of other repositories, and to an older one if the installed version is no longer available
        (``--available``).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade
    """
    if data.is_true(refresh):
        refresh_db()
    before = list_pkgs()
    only = list(pkgspec.names_and_versions(pkgs)) if pkgs else name.split(",") if name else []
    if only:
        done = _run(["add", "--upgrade"] + [pkg for pkg in only if pkg in before])
    else:
        done = _run(["upgrade"] + (["--available"] if kwargs.get("dist_upgrade") else []))
    return pkgrun.upgraded(before, done, list_pkgs())


def remove(name=None, pkgs=None, purge=False, **kwargs):
    """
    Remove packages and the dependencies that only they needed: ``{name: {old, new: ""}}``

    purge
        Remove their configuration, too.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove pkgs='["curl", "nginx"]'
    """
    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    installed = list_pkgs()
    targets = [pkg for pkg in params if pkg in installed]
    if not targets:
        return {}

    def act():
        done = _run(["del"] + (["--purge"] if purge else []) + targets)
        return [pkgrun.words(done)] if done["retcode"] != 0 else []

    return pkgrun.changed(list_pkgs, act, "Problem encountered removing package(s)")


def purge(name=None, pkgs=None, **kwargs):
    """
    Remove packages and their configuration: ``{name: {old, new: ""}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.purge nginx
    """
    return remove(name=name, pkgs=pkgs, purge=True)


# Held packages


def list_holds(pattern=None, full=True, **kwargs):
    """
    Return the packages that are pinned to a version in the list of wanted packages

    full
        Return ``name=version`` instead of the names.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_holds full=False
    """
    held = {name: word for name, word in _world().items() if re.match(r"[^=<>~]*=", word)}
    return list(held.values() if full else held)


def hold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Keep packages at their version: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.hold nginx
    """
    held, installed, world = list_holds(full=False), list_pkgs(), _world()

    def tagged(target):
        return re.match(r"[^=<>~]*", world.get(target, target)).group()

    def pin(target):
        return target in installed and _run(["add", tagged(target) + "=" + installed[target]])["retcode"] == 0

    return {
        target: pkgholds.hold(target, target in held, pin, __opts__["test"])
        for target in pkgholds.targets(name, pkgs, sources)
    }


def unhold(name=None, pkgs=None, sources=None, **kwargs):
    """
    Let packages be upgraded again: ``{name: {name, changes, result, comment}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.unhold nginx
    """
    held = list_holds(full=False)
    return {
        target: pkgholds.unhold(
            target, target in held, lambda pkg: _run(["add", pkg])["retcode"] == 0, __opts__["test"]
        )
        for target in pkgholds.targets(name, pkgs, sources)
    }


def _world():
    """``{name: line}`` of the list of wanted packages, /etc/apk/world."""
    try:
        with open(WORLD, encoding="utf-8") as stream:
            return {apkout.name_of(word): word for word in stream.read().split()}
    except OSError:
        return {}


# Files of packages


def file_list(*packages, **kwargs):
    """
    Return ``{errors: [lines], files: [paths]}`` of the packages

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_list busybox
    """
    by_package = file_dict(*packages)
    return {
        "errors": by_package["errors"],
        "files": [path for paths in by_package["packages"].values() for path in paths],
    }


def file_dict(*packages, **kwargs):
    """
    Return ``{errors: [lines], packages: {name: [paths]}}`` of the packages

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.file_dict busybox
    """
    if not packages:
        return "Package name should be provided"
    by_package, errors = {}, []
    for package in packages:
        done = _run(["info", "--contents", package])
        if done["retcode"] != 0 or not done["stdout"].strip():
            errors.append(pkgrun.words(done) or "%s is not installed" % package)
        else:
            by_package[package] = apkout.contents(done["stdout"])
    return {"errors": errors, "packages": by_package}


def owner(*paths, **kwargs):
    """
    Return the package that a path belongs to ("" for none), or ``{path: package}`` of several

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.owner /usr/sbin/nginx
    """
    if not paths:
        return "You must provide a path"
    owners = {path: apkout.owner(_run(["info", "--who-owns", path])["stdout"]) for path in paths}
    return owners[paths[0]] if len(owners) == 1 else owners


def _run(args):
    command = ["apk", "--no-progress", "--wait", str(pkgrun.lock_timeout(__opts__))] + args
    return pkgrun.run(__salt__["cmd.run_all"], __opts__, command, _BUSY)
