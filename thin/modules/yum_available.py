"""Packages in repositories, and upgrades: a part of ``pkg``. Salt: modules/yumpkg.py"""

import fnmatch

from thin.exceptions import CommandExecutionError
from thin.utils import data
from thin.utils.outputs import dnfout, rpmout
from thin.utils.packages import rpmversion
from thin.utils.programs import pkgrun, yumrun

__virtualname__ = "pkg"
__fits__ = {
    "os_family": ("RedHat",),
    "os": ("Amazon", "XCP", "XenServer", "VirtuozzoLinux", "Virtuozzo", "Issabel PBX", "openEuler", "VMware Photon OS"),
}
__usual__ = True
__reads__ = (
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_repo_pkgs",
    "list_upgrades",
    "list_updates",
)


def __virtual__():
    reason = yumrun.refused(__grains__, __opts__)
    return (False, reason) if reason else __virtualname__


def latest_version(*names, **kwargs):
    """
    Return the version that an install would give, "" if none is newer; ``{name: version}`` of several

    refresh : True
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version bash zsh fromrepo=epel
    """
    refresh = data.is_true(kwargs.pop("refresh", True))
    if not names:
        return ""
    if refresh:
        __salt__["pkg.refresh_db"](**kwargs)
    installed = {} if data.is_true(kwargs.pop("show_installed", False)) else _installed()
    newest = {}
    for name, version in _own(_offered(names, yumrun.options(kwargs))):
        if name not in newest or rpmversion.compare(version, newest[name]) > 0:
            newest[name] = version
    for name in names:
        version_found = newest.get(name, "")
        if version_found and any(rpmversion.compare(have, version_found) >= 0 for have in installed.get(name, ())):
            newest[name] = ""
    latest = {name: newest.get(name, "") for name in names}
    return latest[names[0]] if len(latest) == 1 else latest


available_version = latest_version


def upgrade_available(name, **kwargs):
    """
    Whether a newer version of the package is available

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available bash
    """
    return latest_version(name, **kwargs) != ""


def list_repo_pkgs(*args, **kwargs):
    """
    Return ``{name: [versions]}`` that the repositories offer, newest first

    args
        Names or globs; by default all packages.
    byrepo
        ``{repository: {name: [versions]}}``.
    fromrepo, enablerepo, disablerepo
        Repositories: a list or comma-separated.
    cacheonly
        Do not update the lists.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repo_pkgs 'postgresql*' fromrepo=appstream byrepo=True
    """
    byrepo, cacheonly = kwargs.pop("byrepo", False), kwargs.pop("cacheonly", False)
    options = yumrun.options(kwargs) + (["-C"] if cacheonly else [])
    available = {}
    for name, arch, version, repository in _offered(args, options):
        name = rpmout.resolve_name(name, arch, __grains__.get("osarch"))
        versions = available.setdefault(repository, {}).setdefault(name, [])
        if version not in versions:
            versions.append(version)
    if not byrepo:
        merged = {}
        for packages in available.values():
            for name, versions in packages.items():
                all_versions = merged.setdefault(name, [])
                all_versions += [version for version in versions if version not in all_versions]
        available = {"": merged}
    for packages in available.values():
        for versions in packages.values():
            versions.sort(key=rpmversion.sort_key, reverse=True)
    return available if byrepo else available[""]


def list_upgrades(refresh=True, **kwargs):
    """
    Return ``{name: new version}`` of the packages that an upgrade would change

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](check_update=False, **kwargs)
    options = yumrun.options(kwargs)
    if yumrun.is_dnf():
        done = _run(["--quiet"] + options + ["repoquery", "--upgrades", "--queryformat", dnfout.QUERY_FORMAT])
        rows = dnfout.offered(done["stdout"])
    else:
        done = _run(["--quiet"] + options + ["list", "updates"])
        rows = dnfout.listed(done["stdout"]) if done["retcode"] == 0 else []
    if done["retcode"] != 0 and yumrun.is_dnf():
        raise CommandExecutionError("Failed to get upgrades: %s" % pkgrun.words(done))
    upgrades = {}
    for name, arch, version, _ in rows:
        name = rpmout.resolve_name(name, arch, __grains__.get("osarch"))
        if name not in upgrades or rpmversion.compare(version, upgrades[name]) > 0:
            upgrades[name] = version
    return upgrades


list_updates = list_upgrades


# Private functions


def _installed():
    return __salt__["pkg.list_pkgs"](versions_as_list=True)


def _offered(names, options):
    """``[(name, arch, version, repository)]`` of the available packages; one query for all names."""
    bases = [rpmout.split_arch(name)[0] for name in names]
    if yumrun.is_dnf():
        query = ["repoquery", "--available", "--queryformat", dnfout.QUERY_FORMAT] + bases
        done = _run(["--quiet"] + options + query)
        rows = dnfout.offered(done["stdout"])
        if done["retcode"] != 0 and not rows:
            raise CommandExecutionError("Cannot ask for packages: %s" % pkgrun.words(done))
    else:
        every = ["--showduplicates"] if yumrun.program() == "yum" else []
        done = _run(["--quiet"] + options + every + ["list", "available"] + bases)
        rows = dnfout.listed(done["stdout"]) if done["retcode"] == 0 else []
    return [row for row in rows if not bases or any(fnmatch.fnmatch(row[0], base) for base in bases)]


def _own(rows):
    """``(name, version)`` of the packages for this system's architectures, under the names of list_pkgs."""
    osarch = __grains__.get("osarch")
    for name, arch, version, _ in rows:
        if arch == "src":
            continue
        full = rpmout.resolve_name(name, arch, osarch)
        yield full, version
        if full == name:
            yield "%s.%s" % (name, arch), version


def _run(args):
    return yumrun.run(__salt__["cmd.run_all"], __opts__, args)
