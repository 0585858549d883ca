"""Packages that are only downloaded, advisories and groups. The rest of Salt's ``pkg`` states is in pkg.py."""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.packages import pkgplan, pkgspec

__virtualname__ = "pkg"
__usual__ = True


def __virtual__():
    if "pkg.install" in __salt__:
        return __virtualname__
    return False, "pkg module could not be loaded"


def downloaded(name, version=None, pkgs=None, fromrepo=None, ignore_epoch=None, **kwargs):
    """
    The packages are downloaded, and not installed

    name
        A package, if there is no ``pkgs``.
    version
        Its version.
    pkgs
        Names, or ``{name: version}``; a version may have a ``*`` or be conditions: ``">=1.2,<2"``.
    fromrepo
        The repository (or, for apt, the release) to take them from.
    ignore_epoch
        Compare versions without their epochs.
    skip_suggestions
        Do not check first whether the repositories have them, if the provider supports this check.

    The rest goes to the provider's ``pkg.install``.
    """
    if "pkg.list_downloaded" not in __salt__:
        return _ret(name, False, "The pkg.downloaded state is not available on this platform")
    if isinstance(pkgs, list) and not pkgs:
        return _ret(name, True, "No packages to download provided")
    kwargs.pop("downloadonly", None)
    if not pkgs:
        pkgs = [{name: version}] if version else [name]
    if "pkg.resolve_capabilities" in __salt__:
        pkgs = __salt__["pkg.resolve_capabilities"](pkgs, **kwargs)
    normalizer = (
        __salt__["pkg.normalize_name"] if kwargs.get("normalize", True) and ("pkg.normalize_name" in __salt__) else None
    )
    try:
        wanted = pkgspec.names_and_versions(pkgs, normalizer)
    except ValueError as exc:
        return _ret(name, False, str(exc))
    if not wanted:
        return _ret(name, False, "Invalidly formatted pkgs parameter. See minion log.")
    unknown = "" if kwargs.get("skip_suggestions") else _unknown(wanted, fromrepo, kwargs)
    if unknown:
        return _ret(name, False, unknown)
    targets = _missing(wanted, ignore_epoch, kwargs)
    if not targets:
        of_version = " (matching specified versions)" if any(wanted.values()) else ""
        return _ret(name, True, "All specified packages%s are already downloaded" % of_version)
    if __opts__["test"]:
        return _ret(name, None, "The following packages would be downloaded: " + ", ".join(targets))
    try:
        changes = __salt__["pkg.install"](
            name=name,
            pkgs=pkgs,
            version=None,
            downloadonly=True,
            fromrepo=fromrepo,
            ignore_epoch=ignore_epoch,
            **kwargs,
        )
    except (CommandExecutionError, SaltInvocationError) as exc:
        return pkgplan.failed(name, exc, "An error was encountered while downloading package(s): ")
    left = _missing(targets, ignore_epoch, kwargs)
    if left:
        listed = ", ".join(pkgspec.label(pkg, number) for pkg, number in left.items())
        return _ret(name, False, "The following packages failed to download: " + listed, changes)
    # as in Salt, there is no comment if there are changes
    return _ret(name, True, "" if changes else "Packages downloaded: " + ", ".join(targets), changes)


def _missing(wanted, ignore_epoch, kwargs):
    """Those of ``{name: version or condition}`` that are not downloaded."""
    present = __salt__["pkg.list_downloaded"](**kwargs)
    compare = __salt__["pkg.version_cmp"] if "pkg.version_cmp" in __salt__ else None
    return {
        pkg: number
        for pkg, number in wanted.items()
        if not present.get(pkg) or (number and not pkgspec.fulfills(present[pkg], number, compare, ignore_epoch))
    }


def _unknown(wanted, fromrepo, kwargs):
    if "pkg.check_db" not in __salt__:
        return ""
    try:
        return pkgplan.unknown(__salt__["pkg.check_db"](*wanted, fromrepo=fromrepo, **kwargs))
    except CommandExecutionError:
        return ""


def patch_installed(name, advisory_ids=None, downloadonly=None, **kwargs):
    """
    The packages of advisories are installed at the advisories' versions (yum, dnf, zypper)

    name
        An advisory, if there is no ``advisory_ids``.
    advisory_ids
        A list of advisories.
    downloadonly
        Only download them.

    The rest goes to the provider's ``pkg.install``.
    """
    if "pkg.list_patches" not in __salt__:
        return _ret(name, False, "The pkg.patch_installed state is not available on this platform")
    if isinstance(advisory_ids, list) and not advisory_ids:
        return _ret(name, True, "No advisory ids provided")
    present = __salt__["pkg.list_installed_patches"](**kwargs)
    targets = [advisory for advisory in advisory_ids or [name] if not present.get(advisory)]
    if not targets:
        if not advisory_ids:
            return _ret(name, True, "Advisory patch %s is already installed" % name)
        return _ret(name, True, "All specified advisory patches are already installed")
    if __opts__["test"]:
        return _ret(name, None, "The following advisory patches would be downloaded: " + ", ".join(targets))
    try:
        changes = __salt__["pkg.install"](name=name, advisory_ids=advisory_ids, downloadonly=downloadonly, **kwargs)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return pkgplan.failed(name, exc, "An error was encountered while downloading package(s): ")
    status = "downloaded" if downloadonly else "installed"
    words = "" if changes else "Advisory patch is not needed or related packages are already " + status
    return _ret(name, True, words, changes)


def patch_downloaded(name, advisory_ids=None, **kwargs):
    """
    The packages of advisories are downloaded, and not installed (yum, dnf, zypper)

    name
        An advisory, if there is no ``advisory_ids``.
    advisory_ids
        A list of advisories.
    """
    if "pkg.list_patches" not in __salt__:
        return _ret(name, False, "The pkg.patch_downloaded state is not available on this platform")
    kwargs.pop("downloadonly", None)
    return patch_installed(name=name, advisory_ids=advisory_ids, downloadonly=True, **kwargs)


def group_installed(name, skip=None, include=None, **kwargs):
    """
    The mandatory and default packages of a group are installed (yum, dnf, pacman)

    name
        The group's name or id.
    skip
        Default packages that are not wanted.
    include
        Further packages.

    The rest goes to the provider's ``pkg.group_diff`` and ``pkg.install``.
    """
    if "pkg.group_diff" not in __salt__:
        return _ret(name, False, "pkg.group_install not available for this platform")
    lists = {"skip": [] if skip is None else skip, "include": [] if include is None else include}
    for word, value in lists.items():
        if not isinstance(value, list):
            return _ret(name, False, "%s must be formatted as a list" % word)
        lists[word] = [str(item) for item in value]
    words = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    try:
        diff = __salt__["pkg.group_diff"](name, **words)
    except CommandExecutionError as exc:
        return _ret(name, False, "An error was encountered while installing/updating group '%s': %s." % (name, exc))
    except TypeError:
        return _ret(name, False, "Repo options are not supported on this platform")
    mandatory = diff["mandatory"]["installed"] + diff["mandatory"]["not installed"]
    refused = [pkg for pkg in mandatory if pkg in lists["skip"]]
    if refused:
        return _ret(name, False, "The following mandatory packages cannot be skipped: " + ", ".join(refused))
    # unlike in Salt, installed packages of ``include`` are not installed again in each run
    installed = __salt__["pkg.list_pkgs"](**kwargs)
    required = diff["mandatory"]["not installed"] + [pkg for pkg in lists["include"] if pkg not in installed]
    targets = required + [pkg for pkg in diff["default"]["not installed"] if pkg not in lists["skip"]]
    if not targets:
        return _ret(name, True, "Group '%s' is already installed" % name)
    partly = any(diff[kind]["installed"] for kind in ("mandatory", "default", "optional"))
    if __opts__["test"]:
        words = "is partially installed and will be updated" if partly else "will be installed"
        return _ret(name, None, "Group '%s' %s" % (name, words))
    try:
        changes = __salt__["pkg.install"](pkgs=targets, **kwargs)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return pkgplan.failed(name, exc, "An error was encountered while installing/updating group '%s': " % name)
    installed = __salt__["pkg.list_pkgs"](**kwargs)
    missing = [pkg for pkg in required if pkg not in installed]
    if missing:
        return _ret(name, False, "Failed to install the following packages: " + ", ".join(missing), changes)
    return _ret(name, True, "Group '%s' was %s" % (name, "updated" if partly else "installed"), changes)


def _ret(name, result, comment, changes=None):
    return pkgplan.ret(name, result, comment, changes)
