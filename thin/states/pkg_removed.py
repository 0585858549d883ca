"""Packages that are not installed. The rest of Salt's ``pkg`` states is in pkg.py."""

from thin.exceptions import CommandExecutionError
from thin.utils.packages import pkgplan, pkgspec

__virtualname__ = "pkg"
__usual__ = True


def __virtual__():
    if "pkg.install" in __salt__:
        return __virtualname__
    return False, "pkg module could not be loaded"


def removed(name, version=None, pkgs=None, normalize=True, ignore_epoch=None, **kwargs):
    """
    The packages are not installed; their configuration may be left

    name
        A package, if there is no ``pkgs``.
    version
        Only this version, or versions that meet these conditions: ``"<2"``.
    pkgs
        Names, or ``{name: version}``.
    normalize
        Take ``name.arch`` (``name:arch``) of the system's own architecture for ``name``.
    ignore_epoch
        Compare versions without their epochs.

    changes: ``{package: {old, new: ""}}``.
    """
    return _uninstall("remove", name, version, pkgs, normalize, ignore_epoch, kwargs)


def purged(name, version=None, pkgs=None, normalize=True, ignore_epoch=None, **kwargs):
    """
    The packages and their configuration are removed

    name
        A package, if there is no ``pkgs``.
    version
        Only this version, or versions that meet these conditions: ``"<2"``.
    pkgs
        Names, or ``{name: version}``.
    normalize
        Take ``name.arch`` (``name:arch``) of the system's own architecture for ``name``.
    ignore_epoch
        Compare versions without their epochs.

    changes: those of the provider's ``pkg.purge``; for apt ``{installed: {…}, removed: {…}}``.
    """
    return _uninstall("purge", name, version, pkgs, normalize, ignore_epoch, kwargs)


def _uninstall(action, name, version, pkgs, normalize, ignore_epoch, kwargs):
    kwargs["saltenv"] = __env__
    purge = action == "purge"
    normalizer = __salt__["pkg.normalize_name"] if normalize and "pkg.normalize_name" in __salt__ else None
    try:
        wanted = pkgspec.names_and_versions(pkgs or [{name: version}], normalizer)
    except ValueError as exc:
        return pkgplan.ret(name, False, str(exc))
    if not wanted:
        return pkgplan.ret(name, False, "Invalidly formatted pkgs parameter. See minion log.")
    compare = __salt__["pkg.version_cmp"]

    def unwanted():
        """The installed ones of the packages (at the unwanted version); for purge also those with configuration."""
        current = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs)
        result = {
            pkg
            for pkg, spec in wanted.items()
            if current.get(pkg) and (not spec or pkgspec.fulfills(current[pkg], spec, compare, ignore_epoch))
        }
        if purge:
            result.update(set(wanted) & set(__salt__["pkg.list_pkgs"](versions_as_list=True, removed=True, **kwargs)))
        return sorted(result)

    def with_versions(targets):
        """Select only the unwanted one of several installed versions of a package, if rpm is used."""
        if __grains__.get("os_family") not in ("RedHat", "Suse"):
            return targets
        current = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs)
        with_versions = []
        for pkg in targets:
            have = current.get(pkg, [])
            bad = [one for one in have if pkgspec.fulfills([one], wanted[pkg] or "*", compare, ignore_epoch)]
            with_versions.append({pkg: bad[0]} if len(have) > 1 and len(bad) == 1 else pkg)
        return with_versions

    try:
        targets = unwanted()
        if not targets:
            if purge:
                return pkgplan.ret(name, True, "None of the targeted packages are installed or partially installed")
            of_version = " (matching specified versions)" if any(wanted.values()) else ""
            return pkgplan.ret(name, True, "All specified packages%s are already absent" % of_version)
        if __opts__["test"]:
            changes = {pkg: {"new": action + "d", "old": ""} for pkg in targets}
            words = "The following packages will be %sd: %s." % (action, ", ".join(targets))
            return pkgplan.ret(name, None, words, changes)
        changes = __salt__["pkg." + action](name, pkgs=with_versions(targets), split_arch=False, **kwargs)
        left = unwanted()
    except CommandExecutionError as exc:
        doing = "purging" if purge else "removing"
        return pkgplan.failed(name, exc, "An error was encountered while %s package(s): " % doing)
    if left:
        words = "The following packages failed to %s: %s." % (action, ", ".join(left))
        return pkgplan.ret(name, False, words, changes)
    absent = sorted(set(wanted) - set(targets))
    if not absent:
        return pkgplan.ret(name, True, "All targeted packages were %sd." % action, changes)
    words = "The following packages were not installed: %s The following packages were %sd: %s."
    return pkgplan.ret(name, True, words % (", ".join(absent), action, ", ".join(targets)), changes)
