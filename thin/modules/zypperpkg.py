"""Packages by zypper: availability, installation, upgrades, removal. Salt: modules/zypperpkg.py

rpm_packages.py lists installed packages; search, patterns, products and patches are in zypper_search.py, locks in
zypper_locks.py, repositories in zypper_repos.py. No command asks questions, and all wait for locks of other processes
(thin/utils/programs/zypprun.py).

Every function takes ``root``: another system's root directory.
"""

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import data
from thin.utils.packages import pkgspec, rpmversion
from thin.utils.programs import pkgrun, zypprun

__virtualname__ = "pkg"
__parts__ = ("zypper_locks", "zypper_repos", "zypper_search")
__fits__ = {"os_family": ("Suse",)}
__usual__ = True
__reads__ = (
    "latest_version",
    "available_version",
    "upgrade_available",
    "list_repo_pkgs",
    "list_upgrades",
    "list_updates",
    "list_downloaded",
)
__changes__ = ("download", "refresh_db", "install", "upgrade", "remove", "purge")

CACHE = "/var/cache/zypp/packages"

#: maximum number of arguments of one command; the rest is passed to a further one
MOST = 500


def __virtual__():
    if __grains__.get("os_family") != "Suse":
        return False, "Module zypper: non SUSE OS not supported by zypper package manager"
    return __virtualname__ if process.which("zypper") else (False, "Module zypper: zypper package manager not found")


# Available packages


def latest_version(*names, **kwargs):
    """
    Return the version that an install would give, "" if none is newer; ``{name: version}`` of several

    refresh : True
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.latest_version nginx redis
    """
    if not names:
        return {}
    available = __salt__["pkg.info_available"](*names, **kwargs)
    latest = {}
    for name in sorted(set(names)):
        about = available.get(name, {})
        status = about.get("status", "").lower()
        newer = "not installed" in status or "out-of-date" in status or data.is_true(kwargs.get("show_installed"))
        latest[name] = about.get("version", "") if newer else ""
    return next(iter(latest.values())) if len(latest) == 1 else latest


available_version = latest_version


def upgrade_available(name, **kwargs):
    """
    Whether a newer version of the package is available

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade_available vim
    """
    return bool(latest_version(name, **kwargs))


def list_repo_pkgs(*args, **kwargs):
    """
    Return ``{name: [versions]}`` that the repositories offer, newest first

    args
        Names or globs; all packages without them.
    byrepo
        ``{repository: {name: [versions]}}``.
    fromrepo
        Only this repository.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_repo_pkgs 'python3*' byrepo=True
    """
    import fnmatch

    byrepo, fromrepo = kwargs.get("byrepo", False), kwargs.get("fromrepo")
    words = ["search", "--details"] + [str(arg) for arg in args]
    text = _run(words, kwargs.get("root"), xml=True, check=False)["stdout"]
    available = {}
    for item in zypprun.elements(text, "solvable"):
        name, version, repository = item.get("name"), item.get("edition"), item.get("repository")
        if item.get("kind") != "package" or not version or not repository or repository.startswith("("):
            continue
        if (fromrepo and repository != fromrepo) or not any(fnmatch.fnmatch(name, arg) for arg in args or "*"):
            continue
        versions = available.setdefault(repository if byrepo else "", {}).setdefault(name, [])
        if version not in versions:
            versions.append(version)
    for packages in available.values():
        for versions in packages.values():
            versions.sort(key=rpmversion.sort_key, reverse=True)
    return available if byrepo else available.get("", {})


def list_upgrades(refresh=True, root=None, **kwargs):
    """
    Return ``{name: new version}`` of the packages that an upgrade would change

    fromrepo
        Only these repositories: a name or a list.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_upgrades
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root, **kwargs)
    words = ["list-updates"]
    for repository in pkgrun.listed(kwargs.get("fromrepo")):
        words += ["--repo", repository]
    text = _run(words, root, xml=True)["stdout"]
    updates = [item for item in zypprun.elements(text, "update") if item.get("kind") == "package"]
    return {item["name"]: item["edition"] for item in updates}


list_updates = list_upgrades


def list_downloaded(root=None, **kwargs):
    """
    Return ``{name: {version: {path, size, creation_date_time, creation_date_time_t}}}`` of the downloaded packages

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.list_downloaded
    """
    from thin.utils.programs import pkgfiles

    return pkgfiles.downloaded((root or "") + CACHE, __salt__["lowpkg.bin_pkg_info"])


def download(*packages, **kwargs):
    """
    Download packages: ``{name: {path, repository-name, repository-alias}}``, and ``_error`` for those that could not be
    downloaded

    refresh : False
        Update the lists first.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.download nginx
    """
    if not packages:
        raise SaltInvocationError("No packages specified")
    root = kwargs.get("root")
    if kwargs.get("refresh"):
        __salt__["pkg.refresh_db"](root=root)
    result = {}
    text = _run(["download"] + list(packages), root, xml=True, read=False)["stdout"]
    for _, inner in zypprun.blocks(text, "download-result"):
        repository = (zypprun.elements(inner, "repository") or [{}])[0]
        path = (zypprun.elements(inner, "localfile") or [{}])[0].get("path")
        if path and __salt__["lowpkg.checksum"](path, root=root)[path]:
            result[zypprun.inside(inner, "name")] = {
                "repository-name": repository.get("name"),
                "repository-alias": repository.get("alias"),
                "path": path,
            }
    if not result:
        raise CommandExecutionError("Unable to download packages: %s" % ", ".join(packages))
    failed = [package for package in packages if package not in result]
    if failed:
        result["_error"] = "The following package(s) failed to download: %s" % ", ".join(failed)
    return result


# Changes


def refresh_db(force=None, root=None, gpgautoimport=False, **kwargs):
    """
    Update the lists: ``{repository: True fetched | False up to date}``

    force : True
        Fetch them even if they seem to be up to date; the pillar ``zypper:refreshdb_force`` is its default.
    gpgautoimport
        Trust the keys of the repositories.
    repos
        Only these: a name or a list.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.refresh_db gpgautoimport=True
    """
    pkgrun.refreshed(__context__, __opts__)
    if force is None:
        force = (__pillar__.get("zypper") or {}).get("refreshdb_force", True)
    words = ["--gpg-auto-import-keys"] if gpgautoimport else []
    words += ["refresh"] + (["--force"] if force else []) + pkgrun.listed(kwargs.get("repos"))
    return zypprun.refreshed(_run(words, root, refresh=True, read=False)["stdout"])


def install(
    name=None,
    refresh=False,
    fromrepo=None,
    pkgs=None,
    sources=None,
    downloadonly=None,
    skip_verify=False,
    version=None,
    ignore_repo_failure=False,
    no_recommends=False,
    root=None,
    **kwargs,
):
    """
    Install, upgrade and downgrade packages: ``{name: {old, new}}`` of all changes

    name
        A package, or ``pattern:name``, ``product:name``.
    version
        Its version: exact, with a ``*``, or a condition like ``>=1.2``.
    pkgs
        Names, or ``{name: version}``.
    sources
        ``{name: path or URL of an .rpm file}``.
    advisory_ids
        Patches that are installed.
    refresh
        Update the lists first.
    fromrepo
        The repository to take them from.
    downloadonly
        Only download; the result has the format of list_downloaded.
    skip_verify
        Do not check signatures.
    ignore_repo_failure
        A repository that fails is no error.
    no_recommends
        Do not install recommended packages.
    resolve_capabilities
        A name may be something that a package provides.
    reinstall
        Install packages again that are already installed.
    diff_attr
        ``old`` and ``new`` are lists of these attributes, as of list_pkgs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.install pkgs='["curl", {"nginx": "<1.27"}]'
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root, **{key: kwargs[key] for key in ("gpgautoimport",) if key in kwargs})
    more = {key: kwargs[key] for key in ("advisory_ids", "normalize", "saltenv") if key in kwargs}
    params, kind = __salt__["pkg_resource.parse_targets"](name, pkgs, sources, version=version, **more)
    if not params:
        return {}
    targets, names = _targets(params, kind, root, kwargs.get("ignore_epoch"))
    kinds = sorted({name.partition(":")[0] for name in names if ":" in name})

    def look():
        if downloadonly:
            return list_downloaded(root)
        return __salt__["pkg.list_pkgs"](attr=kwargs.get("diff_attr"), root=root, includes=kinds)

    before = look()
    again = [pkg for pkg in names if pkg in before] if data.is_true(kwargs.get("reinstall", False)) else []
    words = ["--no-gpg-checks"] if skip_verify else []
    words += ["install", "--auto-agree-with-licenses"]
    words.append("--capability" if kwargs.get("resolve_capabilities") else "--name")
    words += ["--download-only"] if downloadonly else []
    words += ["--force", "--force-resolution", "--from", fromrepo] if fromrepo else []
    words += ["--force"] if again and not fromrepo else []
    words += ["--no-recommends"] if no_recommends else []
    words += ["--oldpackage"] if kind != "advisory" else []
    errors = []
    while targets and not errors:
        done = _run(words + targets[:MOST], root, read=False, check=False)
        if done["retcode"] not in zypprun.SUCCESS + zypprun.WARNINGS and not ignore_repo_failure:
            errors.append(zypprun.complaint(done))
        targets = targets[MOST:]
    after = look()
    changes = pkgspec.differences(before, after)
    for pkg in again:
        changes.setdefault(pkg, {"old": before[pkg], "new": after.get(pkg, "")})
    if errors:
        raise CommandExecutionError(
            "Problem encountered %s package(s)" % ("downloading" if downloadonly else "installing"),
            info={"errors": errors, "changes": changes},
        )
    return changes


def upgrade(
    name=None,
    pkgs=None,
    refresh=True,
    dryrun=False,
    dist_upgrade=False,
    fromrepo=None,
    novendorchange=False,
    skip_verify=False,
    no_recommends=False,
    root=None,
    diff_attr=None,
    **kwargs,
):
    """
    Upgrade all packages, or only these: ``{name: {old, new}}``

    dist_upgrade
        ``zypper dist-upgrade`` instead of ``update``: packages may be added, removed and downgraded.
    dryrun
        Change nothing, and return zypper's description of the changes.
    fromrepo
        Only these repositories: a name or a list.
    novendorchange
        With dist_upgrade: packages stay with their vendor.
    no_recommends
        With dist_upgrade: no recommended packages.
    skip_verify
        Do not check signatures.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.upgrade dist_upgrade=True fromrepo='["main"]' novendorchange=True
    """
    if data.is_true(refresh):
        __salt__["pkg.refresh_db"](root=root)
    words = ["--no-gpg-checks"] if skip_verify else []
    words += ["dist-upgrade" if dist_upgrade else "update", "--auto-agree-with-licenses"]
    words += ["--dry-run"] if dryrun else []
    for repository in pkgrun.listed(fromrepo):
        words += ["--from" if dist_upgrade else "--repo", repository]
    if dist_upgrade:
        words += ["--no-allow-vendor-change"] if novendorchange else []
        words += ["--no-recommends"] if no_recommends else []
    elif name or pkgs:
        words += list(__salt__["pkg_resource.parse_targets"](name=name, pkgs=pkgs)[0] or {})
    before = __salt__["pkg.list_pkgs"](root=root, attr=diff_attr)
    done = _run(words, root, read=False, check=False)
    changes = pkgspec.differences(before, __salt__["pkg.list_pkgs"](root=root, attr=diff_attr))
    if done["retcode"] not in zypprun.SUCCESS:
        raise CommandExecutionError("Problem encountered upgrading packages", info={"changes": changes, "result": done})
    return (done["stdout"] + "\n" + done["stderr"]).strip() if dryrun else changes


def remove(name=None, pkgs=None, root=None, **kwargs):
    """
    Remove packages and the packages that depend on them: ``{name: {old, new: ""}}``

    pkgs
        Names, or ``{name: version}`` for one of several installed versions.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.remove pkgs='["redis", "wget"]'
    """
    params = __salt__["pkg_resource.parse_targets"](name, pkgs)[0] or {}
    kinds = sorted({target.partition(":")[0] for target in params if ":" in target})
    before = __salt__["pkg.list_pkgs"](root=root, includes=kinds)
    fixes = _temporary_fixes([target for target in params if target in before], root)
    targets = []
    for target, version in params.items():
        if target not in before or target in fixes:
            continue
        if not version:
            targets.append(target)
        elif version in before[target].split(","):
            targets.append("%s-%s" % (target, version))
    if not targets and not fixes:
        return {}
    errors = []
    for words, wanted in ((["remove"], targets), (["removeptf", "--allow-downgrade"], fixes)):
        while wanted and not errors:
            done = _run(words + wanted[:MOST], root, read=False, check=False)
            if done["retcode"] not in zypprun.SUCCESS + zypprun.WARNINGS:
                errors.append(zypprun.complaint(done))
            wanted = wanted[MOST:]
    changes = pkgspec.differences(before, __salt__["pkg.list_pkgs"](root=root, includes=kinds))
    if errors:
        raise CommandExecutionError(
            "Problem encountered removing package(s)", info={"errors": errors, "changes": changes}
        )
    return changes


def purge(name=None, pkgs=None, root=None, **kwargs):
    """
    Remove packages, as ``remove`` does

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pkg.purge nginx
    """
    return remove(name=name, pkgs=pkgs, root=root)


# Private functions


def _targets(params, kind, root, ignore_epoch):
    """``([arguments for zypper], [names])``. Raises CommandExecutionError for unavailable packages."""
    if kind == "advisory":
        patches = __salt__["pkg.list_patches"](root=root)
        for advisory in params:
            if advisory not in patches:
                raise CommandExecutionError('Advisory id "%s" not found' % advisory)
        return ["patch:" + advisory for advisory in params], []
    if kind == "file":
        files = [__salt__["lowpkg.bin_pkg_info"](path) for path in params]
        return list(params), [about["name"] for about in files if about]
    vague = [pkg for pkg, version in params.items() if version and (version[0] in "<>!" or "*" in version)]
    offered = list_repo_pkgs(*vague, root=root) if vague else {}
    words = []
    for pkg, version in params.items():
        if pkg in vague:
            version = pkgspec.best_match(offered.get(pkg, []), version, rpmversion.compare, ignore_epoch)
            if version is None:
                raise CommandExecutionError(
                    "No version matching '%s%s' could be found (available: %s)"
                    % (pkg, params[pkg], ", ".join(offered.get(pkg, [])) or None)
                )
        words.append("%s=%s" % (pkg, version.lstrip("=").strip()) if version else pkg)
    return words, list(params)


def _temporary_fixes(names, root):
    """Those of the packages that are SUSE's temporary fixes, which need another command."""
    if not names:
        return []
    command = ["rpm", "--root", root] if root else ["rpm"]
    command += ["-q", "--queryformat", "%{NAME}\t[%{PROVIDES} ]\n", "--"] + names
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env=dict(pkgrun.ENVIRONMENT))
    rows = [line.partition("\t") for line in done["stdout"].splitlines()]
    return [name for name, _, provides in rows if "ptf()" in provides.split()]


def _run(args, root, xml=False, refresh=False, read=True, check=True):
    return zypprun.run(__salt__["cmd.run_all"], __opts__, args, root, xml, refresh, read, check)
