"""Packages at their newest version. The rest of Salt's ``pkg`` states is in pkg.py."""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.packages import pkgplan, pkgspec

__virtualname__ = "pkg"
__usual__ = True


def __virtual__():
    if "pkg.install" in __salt__:
        return __virtualname__
    return False, "pkg module could not be loaded"


def latest(name, refresh=None, fromrepo=None, skip_verify=False, pkgs=None, watch_flags=True, **kwargs):
    """
    The packages are installed, at the newest version that the repositories have

    name
        A package, if there is no ``pkgs``.
    pkgs
        Names.
    refresh
        Update the lists first, as in pkg.installed.
    fromrepo
        The repository (or, for apt, the release) to take them from.
    skip_verify
        Do not check signatures.
    watch_flags
        Accepted; only Gentoo has such flags.
    only_upgrade
        Packages that are not installed are not installed, and fail the state (apt).

    The rest goes to the provider's ``pkg.latest_version`` and ``pkg.install``.

    changes: ``{package: {old, new}}`` of all that changed.
    """
    if kwargs.get("sources"):
        return pkgplan.ret(name, False, 'The "sources" parameter is not supported.')
    if isinstance(pkgs, list) and not pkgs:
        return pkgplan.ret(name, True, "No packages to install provided")
    try:
        wanted = list(pkgspec.names_and_versions(pkgs, pkgplan.normalizer(__salt__, True))) if pkgs else [name]
    except ValueError as exc:
        return pkgplan.ret(name, False, str(exc))
    if not wanted:
        return pkgplan.ret(name, False, 'Invalidly formatted "pkgs" parameter. See minion log.')
    kwargs["saltenv"] = __env__
    try:
        wanted, refresh = pkgplan.resolve_capabilities(
            __salt__, wanted, pkgplan.check_refresh(refresh, __context__), kwargs
        )
        newer = __salt__["pkg.latest_version"](*wanted, fromrepo=fromrepo, refresh=refresh, **kwargs)
    except CommandExecutionError as exc:
        words = "An error was encountered while checking the newest available version of package(s): %s" % exc
        return pkgplan.ret(name, False, words)
    current = __salt__["pkg.version"](*wanted, **kwargs)
    if len(wanted) == 1:
        newer = newer if isinstance(newer, dict) else {wanted[0]: newer}
        current = current if isinstance(current, dict) else {wanted[0]: current}
    unknown = ["No information found for '%s'." % pkg for pkg in wanted if not newer.get(pkg) and not current.get(pkg)]
    if unknown:
        return pkgplan.ret(name, False, " ".join(unknown))
    targets = {pkg: newer[pkg] for pkg in wanted if newer.get(pkg)}
    up_to_date = sorted(pkg for pkg in wanted if pkg not in targets) if pkgs else []
    if not targets:
        return pkgplan.ret(name, True, pkgplan.all_up_to_date(wanted))
    if __opts__["test"]:
        comments = ["The following packages would be installed/upgraded: " + ", ".join(sorted(targets))]
        if len(up_to_date) > 10:
            comments.append("%d packages are already up-to-date" % len(up_to_date))
        elif up_to_date:
            listed = ", ".join("%s (%s)" % (pkg, current[pkg]) for pkg in up_to_date)
            comments.append("The following packages are already up-to-date: " + listed)
        changes = {pkg: {"old": current.get(pkg, ""), "new": targets[pkg]} for pkg in targets}
        return pkgplan.ret(name, None, "\n".join(comments), changes)

    try:
        changes = __salt__["pkg.install"](
            name=None, refresh=False, fromrepo=fromrepo, skip_verify=skip_verify, pkgs=list(targets), **kwargs
        )
    except (CommandExecutionError, SaltInvocationError) as exc:
        return pkgplan.ret(name, False, "An error was encountered while installing package(s): %s" % exc)
    failed = sorted(pkg for pkg in targets if targets[pkg] not in changes.get(pkg, {}).get("new", "").split(","))
    if not changes:
        return pkgplan.ret(name, False, pkgplan.none_updated(targets, up_to_date))
    comments = []
    if failed:
        comments.append("The following packages failed to update: " + ", ".join(failed))
    if len(failed) < len(targets):
        updated = sorted(set(targets) - set(failed))
        comments.append("The following packages were successfully installed/upgraded: " + ", ".join(updated))
    if up_to_date:
        comments.append(pkgplan.were_up_to_date(up_to_date))
    return pkgplan.ret(name, not failed, " ".join(comments), changes)


def uptodate(name, refresh=False, pkgs=None, **kwargs):
    """
    All packages are at the newest version

    name
        Only its ID.
    refresh
        Update the lists first.
    pkgs
        Only these packages.
    dist_upgrade
        Packages may be added and removed for it (apt, zypper).

    The rest goes to the provider's ``pkg.list_upgrades`` and ``pkg.upgrade``.

    changes: ``{package: {old, new}}``.
    """
    if "pkg.list_upgrades" not in __salt__:
        return pkgplan.ret(name, False, "State pkg.uptodate is not available")
    if not isinstance(refresh, bool):
        return pkgplan.ret(name, False, "refresh must be either True or False")
    dist_upgrade = kwargs.pop("dist_upgrade", False)
    try:
        pkgs, refresh = pkgplan.resolve_capabilities(__salt__, pkgs, refresh, kwargs)
        upgrades = __salt__["pkg.list_upgrades"](refresh=refresh, dist_upgrade=dist_upgrade, **kwargs)
        if isinstance(pkgs, list):
            upgrades = {pkg: number for pkg, number in upgrades.items() if pkg in pkgspec.names_and_versions(pkgs)}
        expected = {pkg: {"new": new, "old": __salt__["pkg.version"](pkg)} for pkg, new in upgrades.items()}
    except (CommandExecutionError, SaltInvocationError, ValueError) as exc:
        return pkgplan.ret(name, False, str(exc))
    if not expected:
        return pkgplan.ret(name, True, "System is already up-to-date")
    if __opts__["test"]:
        return pkgplan.ret(name, None, "System update will be performed", expected)
    try:
        changes = __salt__["pkg.upgrade"](refresh=False, dist_upgrade=dist_upgrade, pkgs=pkgs, **kwargs)
    except CommandExecutionError as exc:
        return pkgplan.failed(name, exc, "An error was encountered while updating packages: ")
    missing = [pkg for pkg in expected if pkg not in changes] if isinstance(pkgs, list) else []
    if missing:
        words = "The following package(s) failed to update: " + ", ".join(missing)
        return pkgplan.ret(name, False, words, changes)
    return pkgplan.ret(name, True, "Upgrade ran successfully", changes)
