"""Packages that are held at their version, or not held. The rest of Salt's ``pkg`` states is in pkg.py."""

from thin.utils.packages import pkgplan, pkgspec

__virtualname__ = "pkg"
__usual__ = True

_NO_HOLDS = (
    "No any function to get the list of held packages available.\n"
    "Check if the package manager supports package locking."
)


def __virtual__():
    if "pkg.install" in __salt__:
        return __virtualname__
    return False, "pkg module could not be loaded"


def held(name, version=None, pkgs=None, replace=False, **kwargs):
    """
    The packages are held at their version

    name
        A package, if there is no ``pkgs``.
    version
        Its version, if the provider holds versions (zypper).
    pkgs
        Names, or ``{name: version}``.
    replace
        Only these are held: all others are released.

    changes: ``{package: result of the provider's hold: {name, changes, result, comment}}``.
    """
    if isinstance(pkgs, list) and not pkgs and not replace:
        return _ret(name, True, "No packages to be held provided")
    locks = _locks()
    if locks is None:
        return _ret(name, False, _NO_HOLDS)
    if "pkg.hold" not in __salt__:
        return _ret(name, False, "`hold` function is not implemented for the package manager.")
    wanted = pkgspec.names_and_versions(pkgs if pkgs is not None else [{name: version}] if version else [name])
    comments, changes, result = [], {}, True
    for pkg, number in wanted.items():
        exists = pkg in locks
        if exists and ("version" not in locks[pkg] or locks[pkg]["version"] == number):
            continue
        if __opts__["test"]:
            words = (
                "The following package's hold rule would be updated"
                if exists
                else ("The following package would be held")
            )
            comments.append("%s: %s%s" % (words, pkg, _at(number)))
            continue
        if exists:
            __salt__["pkg.unhold"](name=name, pkgs=[pkg])
        words = __salt__["pkg.hold"](name=name, pkgs=[{pkg: number} if number else pkg])
        ok = words.get(pkg, {}).get("result", False)
        done = "was updated with hold rule" if exists else "is now being held"
        comments.append("Package %s %s" % (pkg, done if ok else "was not held"))
        changes.update(words)
        result = result and ok
    others = [pkg for pkg in locks if pkg not in wanted] if replace else []
    return _release(name, [(pkg, None) for pkg in others], comments, changes, result)


def unheld(name, version=None, pkgs=None, all=False, **kwargs):
    """
    The packages are not held

    name
        A package, if there is no ``pkgs``.
    version
        The version to release, if the provider holds versions (zypper); another version stays held.
    pkgs
        Names, or ``{name: version}``.
    all
        No package is held.

    changes: ``{package: result of the provider's unhold}``.
    """
    if isinstance(pkgs, list) and not pkgs and not all:
        return _ret(name, True, "No packages to be unheld provided")
    locks = _locks()
    if locks is None:
        return _ret(name, False, _NO_HOLDS)
    wanted = pkgspec.names_and_versions([{name: version}] if pkgs is None else pkgs)
    targets = []
    for pkg, lock in locks.items():
        at = lock.get("version")
        if all or (pkg in wanted and (not at or at == wanted[pkg])):
            targets.append((pkg, at if wanted.get(pkg) else None))
    return _release(name, targets, [], {}, True)


def _locks():
    """``{package: {"version": version of the lock, if it has one}}``, None if the provider cannot list locks."""
    if "pkg.list_locks" in __salt__:
        locks = {}
        for pkg, lock in __salt__["pkg.list_locks"]().items():
            if lock.get("type", "package") == "package":
                locks[pkg] = {"version": lock["version"].lstrip("= ") if "version" in lock else None}
        return locks
    if "pkg.list_holds" in __salt__:
        return {pkg: {} for pkg in __salt__["pkg.list_holds"](full=False)}
    if "pkg.get_selections" in __salt__:
        return {pkg: {} for pkg in __salt__["pkg.get_selections"](state="hold").get("hold", [])}
    return None


def _release(name, targets, comments, changes, result):
    """Unhold ``[(package, version it is held at or None)]`` and return what ``held`` and ``unheld`` return."""
    for pkg, version in targets:
        if __opts__["test"]:
            comments.append("The following package would be unheld: %s%s" % (pkg, _at(version)))
            continue
        words = __salt__["pkg.unhold"](name=name, pkgs=[pkg])
        one = words.get(pkg, {})
        if one.get("comment"):
            comments.append(one["comment"])
        changes.update(words)
        result = result and one.get("result", False)
    if __opts__["test"] and comments:
        result = None
    return _ret(name, result, "\n".join(comments) or "No changes made", changes)


def _at(version):
    return " (version = %s)" % version if version else ""


def _ret(name, result, comment, changes=None):
    return pkgplan.ret(name, result, comment, changes)
