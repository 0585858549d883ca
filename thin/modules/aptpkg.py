"""Packages on Debian and similar systems, by driving apt-get, apt-cache, dpkg and dpkg-query. Salt: modules/aptpkg.py

No command asks questions, and all wait for locks (thin/utils/programs/aptrun.py). Changed configuration files are kept;
with ``force_conf_new`` they are replaced by the package's. Upgrades are in aptpkg_upgrades.py, files of packages in
apt_files.py, holds and selections in apt_selections.py.

The list of installed packages is kept in ``__context__`` until dpkg's database changes, whoever changes it.
"""

import contextlib
import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.outputs import aptout
from thin.utils.packages import debversion, pkgspec
from thin.utils.programs import aptrun, pkgrun

__virtualname__ = "pkg"
__parts__ = ("apt_files", "apt_keys", "apt_selections", "apt_sources", "aptpkg_upgrades")
__fits__ = {"os_family": ("Debian",)}
__usual__ = True
__reads__ = (
    "normalize_name",
    "parse_arch",
    "version_cmp",
    "list_pkgs",
    "list_provides",
    "version",
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_repo_pkgs",
)
__changes__ = ("refresh_db", "install", "remove", "purge")

LISTS = "/var/lib/apt/lists"
DATABASE = ("/var/lib/dpkg/status", "/var/lib/dpkg/updates")


def __virtual__():
    if __grains__.get("os_family") == "Debian":
        return __virtualname__
    return False, "The pkg module could not be loaded: unsupported OS family"


# Names and versions


def normalize_name(name):
    """
    The name without ``:arch`` where that is the system's own architecture (or all, any).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.normalize_name libc6:i386
    """
    base, colon, arch = name.rpartition(":")
    return base if colon and arch in (__grains__["osarch"], "all", "any") else name


def parse_arch(name):
    """
    ``"libc6:i386"`` -> ``{"name": "libc6", "arch": "i386"}``; arch is None if the name has none.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.parse_arch libc6:i386
    """
    base, colon, arch = name.rpartition(":")
    return {"name": base, "arch": arch} if colon else {"name": name, "arch": None}


def version_cmp(pkg1, pkg2, ignore_epoch=False, **kwargs):
    """
    -1, 0 or 1 as version ``pkg1`` is older than, equal to or newer than ``pkg2``; None if dpkg cannot compare them.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version_cmp 1.22.1-9 1.22.1-9+deb12u1
    """
    versions = [str(version) for version in (pkg1, pkg2)]
    if ignore_epoch:
        versions = [debversion.without_epoch(version) for version in versions]
    try:
        return debversion.compare(*versions)
    except ValueError:
        return None


# Installed and available packages


def list_pkgs(versions_as_list=False, removed=False, purge_desired=False, **kwargs):
    """
    ``{name: "version"}`` of the installed packages; with ``versions_as_list`` ``{name: [versions]}``.

    ``removed``: instead, removed packages whose configuration is still there. ``purge_desired``: installed packages
    that are marked for purging. Names of foreign architectures end with ``:arch``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_pkgs versions_as_list=True
    """
    installed, rest, purging, _ = _database()
    wanted = rest if _true(removed) else purging if _true(purge_desired) else dict(purging, **installed)
    if _true(versions_as_list):
        return {name: list(versions) for name, versions in wanted.items()}
    return {name: ",".join(versions) for name, versions in wanted.items()}


def list_provides(**kwargs):
    """
    ``{virtual name: [names of installed packages that provide it]}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_provides
    """
    provides = _database()[3]
    return {virtual: [name for name, _ in providers] for virtual, providers in provides.items()}


def version(*names, **kwargs):
    """
    The installed version of a package ("" when absent), or ``{name: version}`` of several.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.version bash zsh
    """
    return __salt__["pkg_resource.version"](*names, **kwargs)


def latest_version(*names, **kwargs):
    """
    The version that an install would give, "" if none is newer; ``{name: version}`` for several names.

    ``refresh`` (default True) updates the lists first, ``fromrepo`` prefers that release, ``show_installed`` returns
    the candidate even if it is already installed. The result for an unknown package is "".

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version nginx fromrepo=bookworm-backports
    """
    if "repo" in kwargs:
        raise SaltInvocationError("The 'repo' argument is invalid, use 'fromrepo' instead")
    if not names:
        return ""
    if _true(kwargs.get("refresh", True)):
        refresh_db(kwargs.get("cache_valid_time", 0))
    available = _candidates(names, kwargs.get("fromrepo"))
    if not _true(kwargs.get("show_installed", False)):
        installed = list_pkgs(versions_as_list=True)
        for name in names:
            if any(pkgspec.holds(have, ">=", available[name], version_cmp) for have in installed.get(name, ())):
                available[name] = ""
    return available[names[0]] if len(set(names)) == 1 else available


available_version = latest_version


def upgrade_available(name, **kwargs):
    """
    Whether a newer version of the package is available.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available bash
    """
    return latest_version(name) != ""


def list_repo_pkgs(*args, **kwargs):
    """
    ``{name: [versions]}`` that the repositories offer, newest first, in apt-cache's order; without names, of all
    packages.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repo_pkgs nginx redis-server
    """
    names = [name.split("=")[0].split("<")[0].split(">")[0] for name in args]
    return aptout.versions(_run(["apt-cache"] + (["show", "--"] + names if names else ["dump"]))["stdout"])


# Changes


def refresh_db(cache_valid_time=0, failhard=False, **kwargs):
    """
    Run apt-get update: ``{repository: True | None | False}`` for fetched, unchanged and failed.

    {} if the lists are younger than ``cache_valid_time`` seconds. Raises CommandExecutionError with apt's message; with
    ``failhard`` also if only one repository failed.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db cache_valid_time=3600
    """
    import time

    pkgrun.refreshed(__context__, __opts__)
    if cache_valid_time and time.time() - _modified(LISTS) < float(cache_valid_time):
        return {}
    done = _run(["apt-get", "-q", "update"], timeout=kwargs.get("timeout", __opts__.get("aptpkg_refresh_db_timeout")))
    if done["retcode"] != 0:
        raise CommandExecutionError(done["stderr"] or done["stdout"])
    refreshed, errors = aptout.refreshed(done["stdout"])
    if _true(failhard) and errors:
        raise CommandExecutionError("Error getting repos: %s" % ", ".join(errors))
    try:
        safepath.utime(LISTS, None)  # apt does not touch the folder if nothing is new; cache_valid_time counts from now
    except OSError:
        pass
    return refreshed


def install(
    name=None,
    refresh=False,
    fromrepo=None,
    skip_verify=False,
    debconf=None,
    pkgs=None,
    sources=None,
    reinstall=False,
    downloadonly=False,
    ignore_epoch=False,
    normalize=True,
    **kwargs,
):
    """
    Install, upgrade or downgrade packages: ``{name: {"old", "new"}}`` of all changes.

    ``pkgs``: names or ``{name: version}``; a version may be exact, have a ``*``, or be a condition like ``>=1.2``.
    ``sources``: ``{name: path or URL}``. Other arguments: ``version``, ``cache_valid_time``, ``install_recommends``,
    ``only_upgrade``, ``force_conf_new``, ``force_yes``, ``env``. Held packages are changed and stay held. Raises
    CommandExecutionError whose ``info`` has ``errors`` (apt's messages) and ``changes``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install pkgs='["curl", {"nginx": "1.22.1-9"}]'
    """
    params, kind = __salt__["pkg_resource.parse_targets"](
        name,
        pkgs,
        sources,
        normalize=normalize and kwargs.get("split_arch", True),
        saltenv=kwargs.get("saltenv", "base"),
        version=None if pkgs else kwargs.get("version"),
    )
    if not params:
        return {}
    fromrepo = fromrepo or kwargs.get("repo")
    if kind == "repository":
        if _true(refresh) and not _up_to_date(params):
            refresh_db(kwargs.get("cache_valid_time", 0))
        wanted, errors = _resolve(params, ignore_epoch, fromrepo)
    else:
        wanted, errors = [_package_file(path) for path in params], []
    if debconf:
        __salt__["debconf.set_file"](debconf)

    before = list_pkgs()
    again = {item[0] for item in wanted if reinstall and item[0] in before and item[1] in (None, before[item[0]])}
    older = [item for item in wanted if item[1] and version_cmp(item[1], before.get(item[0], item[1])) == -1]
    base = aptrun.install_command(
        __opts__, kwargs, fromrepo if kind == "repository" else None, skip_verify, downloadonly
    )
    with _unheld([item[0] for item in wanted]):
        for extra, group in (
            (["--allow-downgrades"] if older else [], [item for item in wanted if item[0] not in again]),
            (["--reinstall"], [item for item in wanted if item[0] in again]),
        ):
            if group:
                done = _run(base + extra + ["install", "--"] + [item[2] for item in group], kwargs.get("env"))
                if done["retcode"] != 0:
                    errors.append(aptout.complaint(done))
    after = list_pkgs()
    changes = pkgspec.differences(before, after)
    for pkg in again:
        changes.setdefault(pkg, {"old": before.get(pkg, ""), "new": after.get(pkg, "")})
    if errors:
        raise CommandExecutionError(
            "Problem encountered installing package(s)", info={"errors": errors, "changes": changes}
        )
    return changes


def remove(name=None, pkgs=None, **kwargs):
    """
    Remove packages and the packages that depend on them: ``{name: {"old", "new": ""}}``. Names may be globs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove pkgs='["apache2", "telnet"]'
    """
    return _uninstall("remove", name, pkgs, kwargs.get("env"))


def purge(name=None, pkgs=None, **kwargs):
    """
    Remove packages and their configuration: ``{"installed": changes, "removed": changes of packages that had only
    configuration}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.purge nginx
    """
    return _uninstall("purge", name, pkgs, kwargs.get("env"))


# Private functions


@contextlib.contextmanager
def _unheld(pkgs):
    """Allow changes of those of the packages that are held, and hold them again at the end, also after an error."""
    held = [pkg for pkg in __salt__["pkg.get_selections"](state="hold")["hold"] if pkg in pkgs]
    if held:
        __salt__["pkg.set_selections"](selection={"install": held})
    try:
        yield
    finally:
        if held:
            __salt__["pkg.set_selections"](selection={"hold": held})


def _uninstall(action, name, pkgs, env):
    import fnmatch

    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    before, leftovers = list_pkgs(), list_pkgs(removed=True)
    candidates = dict(leftovers, **before) if action == "purge" else before
    targets = sorted(pkg for pkg in candidates if any(fnmatch.fnmatchcase(pkg, pattern) for pattern in params))
    if not targets:
        return {}
    done = _run(aptrun.apt_get(__opts__) + [action, "--"] + targets, env)
    changes = pkgspec.differences(before, list_pkgs())
    if action == "purge":
        changes = {"removed": pkgspec.differences(leftovers, list_pkgs(removed=True)), "installed": changes}
    if done["retcode"] != 0:
        errors = [aptout.complaint(done)]
        raise CommandExecutionError(
            "Problem encountered removing package(s)", info={"errors": errors, "changes": changes}
        )
    return changes


def _up_to_date(params):
    """Whether the current lists have the requested versions."""
    if not all(params.values()):
        return False
    available = _candidates(list(params), None)
    return all(available[pkg] == number for pkg, number in params.items())


def _resolve(params, ignore_epoch, fromrepo):
    """``([(name, version or None, argument of apt)], [errors])`` for ``{name: version, condition or None}``."""
    versions = {pkg: number.lstrip("=").strip() if number else None for pkg, number in params.items()}
    compared = [pkg for pkg, number in versions.items() if number and pkgspec.has_comparison(number)]
    available = list_repo_pkgs(*compared) if compared else {}
    wanted, errors = [], []
    latest = [pkg for pkg, number in versions.items() if number == "latest"]
    candidates = _candidates(latest, fromrepo) if latest else {}
    for pkg, number in versions.items():
        if number == "latest":
            number = candidates[pkg] or None
        elif pkg in compared:
            offered = available.get(pkg, [])
            match = pkgspec.best_match(offered, number, version_cmp, ignore_epoch)
            if match is None:
                errors.append(
                    "No version matching '%s%s' could be found (available: %s)"
                    % (pkg, number, ", ".join(offered) or None)
                )
                continue
            number = match
        if pkg.endswith("-"):  # apt-get would remove the package
            errors.append("%s is not the name of a package" % pkg)
            continue
        wanted.append((pkg, number, "%s=%s" % (pkg, number) if number else pkg))
    return wanted, errors


def _package_file(path):
    data = __salt__["lowpkg.bin_pkg_info"](path)
    return data["name"], data["version"], path


def _candidates(names, fromrepo):
    options = ["-o", "APT::Default-Release=%s" % fromrepo] if fromrepo else []
    candidates = aptout.candidates(_run(["apt-cache", "-q", "policy"] + options + ["--"] + list(names))["stdout"])
    for header in list(candidates):  # only a foreign architecture has it: return it under the requested name
        candidates.setdefault(header.split(":")[0], candidates[header])
    return {name: candidates.get(name, "") for name in names}


def _database():
    """The output of dpkg-query; it is run again if dpkg's database has changed."""

    def read():
        done = _run(["dpkg-query", "--showformat", aptout.LIST_FORMAT, "-W"])
        if done["retcode"] != 0:
            raise CommandExecutionError("Cannot list the packages: %s" % (done["stderr"] or done["stdout"]))
        own = __grains__.get("osarch")
        foreign = __grains__.get("cpuarch") == "x86_64" and own == "amd64"
        return aptout.packages(done["stdout"], lambda arch: foreign and arch not in ("all", own))

    return pkgrun.remembered(__context__, "pkg.list_pkgs", DATABASE, read)


def _modified(path):
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def _run(command, env=None, **options):
    return aptrun.run(__salt__["cmd.run_all"], __opts__, command, env, **options)


def _true(value):
    return value.lower() == "true" if isinstance(value, str) else bool(value)
