"""Packages by dnf, dnf5, tdnf or yum: installing, upgrading, removing, downloading. Salt: modules/yumpkg.py

rpm_packages.py lists installed packages, yum_available.py available ones; groups, advisories and holds are in
yum_groups.py, repositories in yum_repos.py. No command asks questions, and all wait for locks
(thin/utils/programs/yumrun.py).

Most functions take ``fromrepo`` (only these repositories), ``enablerepo``, ``disablerepo``, ``disableexcludes``,
``branch`` and ``setopt``.
"""

import contextlib
import fnmatch
import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import data
from thin.utils.files import safepath
from thin.utils.outputs import rpmout
from thin.utils.packages import pkgspec, rpmversion
from thin.utils.programs import pkgrun, yumrun

__virtualname__ = "pkg"
__parts__ = ("yum_available", "yum_groups", "yum_repos")
__fits__ = {
    "os_family": ("RedHat",),
    "os": ("Amazon", "XCP", "XenServer", "VirtuozzoLinux", "Virtuozzo", "Issabel PBX", "openEuler", "VMware Photon OS"),
}
__usual__ = True
__reads__ = ("list_downloaded",)
__changes__ = ("download", "refresh_db", "clean_metadata", "install", "upgrade", "update", "remove", "purge")

CACHE = "/var/cache"


def __virtual__():
    reason = yumrun.refused(__grains__, __opts__)
    return (False, reason) if reason else __virtualname__


def list_downloaded(**kwargs):
    """
    Return ``{name: {version: {path, size, creation_date_time, creation_date_time_t}}}`` of the downloaded packages

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_downloaded
    """
    from thin.utils.programs import pkgfiles

    folders = ("dnf5", "libdnf5") if yumrun.program() == "dnf5" else (yumrun.program(),)
    result = {}
    for folder in folders:
        for name, versions in pkgfiles.downloaded(os.path.join(CACHE, folder), __salt__["lowpkg.bin_pkg_info"]).items():
            result.setdefault(name, {}).update(versions)
    return result


def download(*packages, **kwargs):
    """
    Download packages: ``{name: path}``, and ``_error`` for those that could not be downloaded

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.download nginx redis
    """
    if not packages:
        raise SaltInvocationError("No packages were specified")
    if not yumrun.is_dnf() and not process.which("yumdownloader"):
        raise CommandExecutionError("'yumdownloader' command not available")
    folder = os.path.join(CACHE, yumrun.program(), "packages")
    safepath.makedirs(folder)
    for name in os.listdir(folder):
        if any(name.startswith(package + "-") for package in packages):
            safepath.unlink(os.path.join(folder, name))
    if yumrun.is_dnf():
        done = _run(["--quiet", "download", "--destdir=" + folder] + list(packages))
    else:
        command = ["yumdownloader", "-q", "--destdir=" + folder] + list(packages)
        done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=dict(pkgrun.ENVIRONMENT))
    result = {}
    for name in sorted(os.listdir(folder)):
        for package in packages if name.endswith(".rpm") else ():
            if name.startswith(package + "-") and name[len(package) + 1 :][:1].isdigit():
                result[package] = os.path.join(folder, name)
    if not result:
        words = "Unable to download any of the following packages: %s" % ", ".join(packages)
        raise CommandExecutionError("%s\n%s" % (words, pkgrun.words(done)))
    failed = [package for package in packages if package not in result]
    if failed:
        result["_error"] = "The following package(s) failed to download: %s" % ", ".join(failed)
    return result


# Changes


def refresh_db(**kwargs):
    """
    Update the lists; returns True if there are upgrades, None if there are none, False after a failure

    check_update : True
        Look for upgrades; otherwise the result is always True.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db
    """
    pkgrun.refreshed(__context__, __opts__)
    options = yumrun.options({key: value for key, value in kwargs.items() if key != "check_update"})
    _run(["--quiet", "--assumeyes", "clean", "expire-cache"] + options)
    if not kwargs.get("check_update", True):
        return True
    if __grains__.get("osmajorrelease") == 7 and __grains__.get("os_family") == "RedHat":
        options.append("--setopt=autocheck_running_kernel=false")
    done = _run(["--quiet", "--assumeyes", "check-update"] + options)
    return {100: True, 0: None}.get(done["retcode"], False)


clean_metadata = refresh_db


def install(
    name=None,
    refresh=False,
    skip_verify=False,
    pkgs=None,
    sources=None,
    downloadonly=False,
    reinstall=False,
    normalize=True,
    update_holds=False,
    saltenv="base",
    ignore_epoch=False,
    **kwargs,
):
    """
    Install, upgrade and downgrade packages: ``{name: {old, new}}`` of all changes

    name
        A package; ``version`` is its version.
    pkgs
        Names, or ``{name: version}``; a version may be exact, have a ``*``, or be a condition like ``>=1.2``.
    sources
        ``{name: path or URL of an .rpm file}``.
    advisory_ids
        Advisories whose packages are installed.
    refresh
        Update the lists first.
    skip_verify
        Do not check signatures.
    downloadonly
        Only download; the result has the format of list_downloaded.
    reinstall
        Install packages again that are already installed.
    update_holds
        Change packages that are held, too, and hold them at their new version; else they fail.
    ignore_epoch
        Compare versions without their epochs.
    diff_attr
        ``old`` and ``new`` are lists of these attributes, as of list_pkgs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install pkgs='["curl", {"nginx": "1.20.1-14.el9"}]'
    """
    options = yumrun.options(kwargs)
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](**kwargs)
    params, kind = __salt__["pkg_resource.parse_targets"](
        name,
        pkgs,
        sources,
        saltenv=saltenv,
        normalize=normalize and kwargs.get("split_arch", True),
        **_targets_words(kwargs),
    )
    if not params:
        return {}

    def look():
        return list_downloaded() if downloadonly else __salt__["pkg.list_pkgs"](attr=kwargs.get("diff_attr"))

    before, installed = look(), _installed()
    errors = []
    if kind == "advisory":
        groups = {"update": [(advisory, "--advisory=" + advisory) for advisory in _checked_advisories(params)]}
    else:
        items = _from_files(params) if kind == "file" else _from_repositories(params, ignore_epoch, kwargs, errors)
        groups = _grouped(items, installed, data.is_true(reinstall), ignore_epoch, __salt__["pkg.list_pkgs"])
    common = options + (["--nogpgcheck"] if skip_verify else [])
    only = ["--downloadonly"] if downloadonly else []  # after the command, as dnf5 requires
    held = _held()
    prevented = []
    for action in ("install", "update", "downgrade", "reinstall"):
        wanted = groups.get(action, [])
        locked = [pkg for pkg, _ in wanted if pkg in held]
        if locked and not update_holds:
            prevented += locked
            wanted = [item for item in wanted if item[0] not in held]
        if wanted:
            best = ["--best", "--allowerasing"] if yumrun.is_dnf() and action in ("install", "update") else []
            with _unheld(locked if update_holds else [], errors):
                done = _run(["-y"] + common + [action] + only + best + [word for _, word in wanted])
                if done["retcode"] != 0:
                    errors.append(pkgrun.words(done))
    after = look()
    changes = pkgspec.differences(before, after)
    for pkg, _ in groups.get("reinstall", []):
        changes.setdefault(pkg, {"old": before.get(pkg, ""), "new": after.get(pkg, "")})
    if prevented:
        errors.append(
            "The following package(s) could not be updated because they are being held: %s. Set 'update_holds' to True "
            "to temporarily unhold these packages so that they can be updated." % ", ".join(prevented)
        )
    if errors:
        again = "/reinstalling" if groups.get("reinstall") else ""
        raise CommandExecutionError(
            "Error occurred installing%s package(s)" % again, info={"errors": errors, "changes": changes}
        )
    return changes


def upgrade(
    name=None,
    pkgs=None,
    refresh=True,
    skip_verify=False,
    normalize=True,
    minimal=False,
    obsoletes=True,
    diff_attr=None,
    **kwargs,
):
    """
    Upgrade all packages, or only these: ``{name: {old, new}}``

    minimal
        Only to the versions that fix bugs or security.
    obsoletes
        Replace packages that others make obsolete.
    skip_verify
        Do not check signatures.

    Other arguments, texts and True, become options: ``security=True`` is ``--security``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade security=True exclude='postgresql*'
    """
    if not obsoletes and yumrun.is_dnf():
        given = [item for item in pkgrun.listed(kwargs.get("setopt")) if not item.startswith("obsoletes=")]
        kwargs["setopt"] = given + ["obsoletes=False"]
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](**kwargs)
    before = __salt__["pkg.list_pkgs"](attr=diff_attr)
    targets = {}
    if name or pkgs:
        targets = __salt__["pkg_resource.parse_targets"](name=name, pkgs=pkgs, normalize=normalize)[0] or {}
    word = "upgrade" if obsoletes or yumrun.is_dnf() else "update"
    command = ["--quiet", "-y"] + yumrun.options(kwargs, extra=True) + (["--nogpgcheck"] if skip_verify else [])
    done = _run(command + [word + "-minimal" if minimal else word] + list(targets))
    return pkgrun.upgraded(before, done, __salt__["pkg.list_pkgs"](attr=diff_attr))


def update(
    name=None, pkgs=None, refresh=True, skip_verify=False, normalize=True, minimal=False, obsoletes=False, **kwargs
):
    """
    Upgrade, as pkg.upgrade does, and leave obsolete packages alone

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.update
    """
    return upgrade(name, pkgs, refresh, skip_verify, normalize, minimal, obsoletes, **kwargs)


def remove(name=None, pkgs=None, **kwargs):
    """
    Remove packages and the packages that depend on them: ``{name: {old, new: ""}}``. Names may be globs

    pkgs
        Names, or ``{name: version}`` for one of several installed versions.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove pkgs='["redis", "wget"]'
    """
    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    before, installed = __salt__["pkg.list_pkgs"](), _installed()
    targets = []
    for pattern, version in params.items():
        for pkg in sorted(fnmatch.filter(installed, pattern)) if "*" in pattern else [pattern]:
            if pkg not in installed:
                continue
            if not version:
                targets.append(pkg)
            elif version in installed[pkg]:
                targets.append(_word(pkg, version, kwargs.get("split_arch", True)))
    if not targets:
        return {}
    done = _run(["-y", "remove"] + targets)
    changes = pkgspec.differences(before, __salt__["pkg.list_pkgs"]())
    if done["retcode"] != 0:
        raise CommandExecutionError(
            "Error occurred removing package(s)", info={"errors": [pkgrun.words(done)], "changes": changes}
        )
    return changes


def purge(name=None, pkgs=None, **kwargs):
    """
    Remove packages, as ``remove`` does

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.purge nginx
    """
    return remove(name=name, pkgs=pkgs)


# Private functions


def _installed():
    return __salt__["pkg.list_pkgs"](versions_as_list=True)


def _targets_words(kwargs):
    return {key: kwargs[key] for key in ("version", "advisory_ids") if key in kwargs}


def _checked_advisories(wanted):
    available = __salt__["pkg.list_patches"]()
    for advisory in wanted:
        if advisory not in available:
            raise CommandExecutionError('Advisory id "%s" not found' % advisory)
    return wanted


def _from_files(paths):
    """``(name or None, argument, version or None)`` of each file."""
    for path in paths:
        about = __salt__["lowpkg.bin_pkg_info"](path)
        yield (about["name"], path, about["version"]) if about else (None, path, None)


def _from_repositories(params, ignore_epoch, kwargs, errors):
    """The same for each wanted package; unavailable packages are added to the errors."""
    versions = {pkg: str(number).lstrip("=").strip() if number else None for pkg, number in params.items()}
    vague = [pkg for pkg, number in versions.items() if number and (number[0] in "<>" or "*" in number)]
    offered = __salt__["pkg.list_repo_pkgs"](*vague, **kwargs) if vague else {}
    for pkg, number in versions.items():
        if pkg in vague:
            match = pkgspec.best_match(offered.get(pkg, []), number, rpmversion.compare, ignore_epoch)
            if match is None:
                errors.append(
                    "No version matching '%s%s' could be found (available: %s)"
                    % (pkg, number, ", ".join(offered.get(pkg, [])) or None)
                )
                continue
            number = match
        yield pkg, _word(pkg, number, kwargs.get("split_arch", True)) if number else pkg, number


def _word(pkg, version, split_arch):
    """The argument of dnf for this version of a package: without its epoch, with the architecture at the end."""
    base, arch = rpmout.split_arch(pkg)
    if arch in (None, "noarch") or (arch == __grains__.get("osarch") and not split_arch):
        return "%s-%s" % (pkg, rpmversion.without_epoch(version))
    return "%s-%s.%s" % (base, rpmversion.without_epoch(version), arch)


def _grouped(items, installed, reinstall, ignore_epoch, list_pkgs):
    """``{"install" | "downgrade" | "reinstall": [(name, argument)]}``."""
    groups = {"install": [], "downgrade": [], "reinstall": []}
    for pkg, word, version in items:
        have = installed.get(pkg, [])
        if not have or version is None:
            kind = "reinstall" if reinstall and have else "install"
        elif reinstall and any(rpmversion.compare(version, one, ignore_epoch) == 0 for one in have):
            kind = "reinstall"
        elif any(rpmversion.compare(version, one, ignore_epoch) >= 0 for one in have):
            kind = "install"
        else:
            kind = "install" if pkg in ("kernel", "kernel-devel") else "downgrade"  # several kernels can be installed
        groups[kind].append((pkg, word))
    return groups


def _held():
    """The names of held packages; none if holding is not supported."""
    try:
        return __salt__["pkg.list_holds"](full=False)
    except SaltInvocationError:
        return []


@contextlib.contextmanager
def _unheld(pkgs, errors):
    """Allow changes of held packages, and hold them again at the end, also after an error."""
    if pkgs:
        for pkg, words in __salt__["pkg.unhold"](pkgs=pkgs).items():
            if not words["result"]:
                errors.append(words["comment"] or pkg)
    try:
        yield
    finally:
        if pkgs:
            __salt__["pkg.hold"](pkgs=pkgs)


def _run(args):
    return yumrun.run(__salt__["cmd.run_all"], __opts__, args)
