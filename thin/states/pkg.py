"""Packages by the system's own package manager. Salt: states/pkg.py; its other states: pkg_latest.py, pkg_removed.py,
pkg_holds.py, pkg_sets.py

Each state reads the installed packages, determines what is missing, changes it in one transaction, and reads them
again. All code that depends on the package manager is in ``pkg.*`` of ``__salt__``.

The first ``installed`` or ``latest`` of a run refreshes the package lists once (``mod_init``) if something is to be
installed; ``refresh: False`` prevents this, ``refresh: True`` requests it each time.
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils import nested
from thin.utils.packages import pkgplan, pkgspec

__usual__ = True


def __virtual__():
    if "pkg.install" in __salt__:
        return True
    return False, "pkg module could not be loaded"


def installed(
    name,
    version=None,
    refresh=None,
    fromrepo=None,
    skip_verify=False,
    skip_suggestions=False,
    pkgs=None,
    sources=None,
    allow_updates=False,
    pkg_verify=False,
    normalize=True,
    ignore_epoch=None,
    reinstall=False,
    update_holds=False,
    **kwargs,
):
    """
    The packages are installed, at the wanted versions

    name
        A package, if there is neither ``pkgs`` nor ``sources``.
    version
        Its version: ``latest``, exact, with a ``*``, or conditions: ``">=1.2,<2"``.
    pkgs
        Names, or ``{name: version}``.
    sources
        ``{name: URL of any kind or path of a package file}``.
    refresh
        Update the lists first: True each time, False never; by default once in a run, if something is to be changed.
    fromrepo
        The repository (or, for apt, the release) to take them from.
    skip_verify
        Do not check signatures.
    skip_suggestions
        Do not check first whether the repositories have them, if the provider supports this check.
    allow_updates
        Accept a newer version than the wanted one.
    pkg_verify
        Reinstall packages with changed files (rpm): True, or a
        list of ``ignore_types`` and ``verify_options``.
    normalize
        Take ``name.arch`` (``name:arch``) of the system's own architecture for ``name``.
    ignore_epoch
        Compare versions without their epochs; by default if a condition for equality has none.
    reinstall
        Install packages again that are already installed.
    update_holds
        Change packages that are held, too (yum, dnf).
    hold
        Afterwards hold (True) or release (False) them.
    resolve_capabilities
        A name may be something that a package provides (zypper).

    The rest goes to the provider's ``pkg.install``: ``install_recommends``, ``only_upgrade``, ``cache_valid_time``,
    ``force_conf_new``, ``debconf`` (apt), ``disablerepo``, ``enablerepo``, ``setopt`` (yum, dnf) and others.

    changes: ``{package: {old, new}}`` of all that changed.
    """
    if isinstance(pkgs, list) and not pkgs:
        return pkgplan.ret(name, True, "No packages to install provided")
    if pkgs and sources:
        return pkgplan.ret(name, False, 'Only one of "pkgs" and "sources" is permitted.')
    if pkg_verify and "pkg.verify" not in __salt__:
        return pkgplan.ret(name, False, "pkg.verify not implemented")
    kwargs.update(saltenv=__env__, allow_updates=allow_updates)
    refresh = pkgplan.check_refresh(refresh, __context__)
    try:
        if not sources:
            pkgs, refresh = pkgplan.resolve_capabilities(
                __salt__, pkgs or ([{name: version}] if version else [name]), refresh, kwargs
            )
        wanted = _wanted(name, version, pkgs, sources, normalize)
    except (CommandExecutionError, SaltInvocationError, ValueError) as exc:
        return pkgplan.ret(name, False, str(exc))
    if not wanted:
        kind = "sources" if sources else "pkgs"
        return pkgplan.ret(name, False, "Invalidly formatted '%s' parameter. See minion log." % kind)

    altered = {}
    try:
        if not sources and "latest" in wanted.values():
            refresh = _resolve_latest(wanted, refresh, kwargs)
        plan = _look(wanted, bool(sources), reinstall, ignore_epoch, allow_updates, kwargs)
        if pkg_verify and not sources:
            altered = _altered(wanted, plan, pkg_verify, kwargs)
            plan.reinstall.update((pkg, wanted[pkg]) for pkg in altered)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return pkgplan.ret(name, False, str(exc))
    if not (plan.install or plan.reinstall or plan.unpurge):
        words = "All specified packages are already installed"
        if plan.versions_asked and not sources:
            words += " and are at the desired version"
        return _with_hold(pkgplan.ret(name, True, words), name, wanted, kwargs)
    if not sources and not skip_suggestions:
        unknown = _unknown(plan.install, fromrepo, kwargs)
        if unknown:
            return pkgplan.ret(name, False, unknown)
    if __opts__["test"]:
        return _foretell(name, plan, sources, ignore_epoch, altered)

    options = dict(kwargs, refresh=refresh, fromrepo=fromrepo, skip_verify=skip_verify, ignore_epoch=ignore_epoch)
    options.update(reinstall=bool(plan.reinstall), normalize=normalize, update_holds=update_holds)
    try:
        changes = _carry_out(plan, bool(sources), options)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return pkgplan.failed(name, exc, "An error was encountered while installing package(s): ")
    held = _hold(name, wanted, kwargs)
    if isinstance(held, str):
        return pkgplan.ret(name, False, held, changes)
    left = _look(wanted, bool(sources), False, ignore_epoch, allow_updates, kwargs).install
    again = {pkg: _verified(pkg, pkg_verify, kwargs) for pkg in altered}
    result, comment = pkgplan.report(wanted, plan, left, changes, held, bool(sources), altered, again)
    for words in held:
        _add_hold(changes, words)
    return pkgplan.ret(name, result, comment, changes)


def mod_init(low):
    """Before the first package state of a run: if a state installs packages, the lists must be refreshed."""
    result = __salt__["pkg.ex_mod_init"](low) if "pkg.ex_mod_init" in __salt__ else True
    if low["fun"] in ("installed", "latest"):
        __context__["pkg.refresh"] = True
        return result
    return False


def mod_aggregate(low, chunks, running):
    """One transaction for all chunks of the run with the same function and arguments: returns ``low`` with their
    packages."""
    if low.get("fun") not in ("installed", "latest", "removed", "purged"):
        return low
    kind = "sources" if "sources" in low else "pkgs"
    merged = _listed(low, kind)
    is_aggregated = False
    for chunk in chunks:
        tag = "_|-".join(str(chunk.get(key)) for key in ("state", "__id__", "name", "fun"))
        same = all(chunk.get(key) == low.get(key) for key in ("state", "fun", "fromrepo"))
        if not same or tag in running or "__agg__" in chunk or "hold" in chunk:
            continue
        if ("sources" in chunk) != (kind == "sources"):
            continue
        for pkg, value in _listed(chunk, kind).items():
            merged[pkg] = value if merged.get(pkg) is None else merged[pkg]
        chunk["__agg__"] = True
        is_aggregated = True
    if is_aggregated:
        low[kind] = [pkg if value is None else {pkg: value} for pkg, value in merged.items()]
    return low


def mod_beacon(name, **kwargs):
    """Salt's ``beacon: True`` makes a beacon watch the packages; pushsalt has no process on the target to do this."""
    if kwargs.get("sfun") not in ("installed", "removed"):
        words = "pkg.%s does not work with the mod_beacon state function" % kwargs.get("sfun")
        return pkgplan.ret(name, False, words)
    if not kwargs.get("beacon"):
        return pkgplan.ret(name, True, "Not adding beacon.")
    return pkgplan.ret(name, False, "Beacons need a minion that goes on running: pushsalt has none")


def mod_watch(name, **kwargs):
    """A watched state changed: the state is run again."""
    sfun = kwargs.pop("sfun", None)
    if sfun in ("purged", "latest", "removed", "installed"):
        return __states__["pkg." + sfun](name, **kwargs)
    return pkgplan.ret(name, False, "pkg.%s does not work with the watch requisite" % sfun)


# Queries and plans


def _wanted(name, version, pkgs, sources, normalize):
    """``{name: version | source | None}``; {} when malformed."""
    if sources:
        return pkgspec.names_and_sources(sources, pkgplan.normalizer(__salt__, normalize))
    if not pkgs:
        pkgs = [{name: version}] if version else [name]
    return pkgspec.names_and_versions(pkgs)


def _look(wanted, are_sources, reinstall, ignore_epoch, allow_updates, kwargs):
    """The plan, from the current state of the packages."""
    current = __salt__["pkg.list_pkgs"](versions_as_list=True, **kwargs)
    purging = __salt__["pkg.list_pkgs"](purge_desired=True, **kwargs)
    plan = pkgplan.plan(
        wanted,
        current,
        purging,
        __salt__["pkg.version_cmp"],
        normalize=pkgplan.normalizer(__salt__, True),
        source_version=_source_version if are_sources else None,
        reinstall=reinstall,
        ignore_epoch=ignore_epoch,
        allow_updates=allow_updates,
    )
    if not are_sources:
        for pkg in _provided([pkg for pkg in plan.absent if not wanted[pkg]]):
            del plan.install[pkg]
    return plan


def _carry_out(plan, are_sources, options):
    """Carry out the plan in one transaction; returns the changes."""
    changes, targets = {}, dict(plan.install, **plan.reinstall)
    if targets:
        kind = "sources" if are_sources else "pkgs"
        options = dict(options, **{kind: [{pkg: value} for pkg, value in targets.items()]})
        changes = __salt__["pkg.install"](name=None, split_arch=False, **options)
    if plan.unpurge:
        changes["purge_desired"] = __salt__["lowpkg.unpurge"](*plan.unpurge)
    return changes


def _provided(names):
    """Those of the names that are no packages, but are provided by an installed package."""
    if not names or "pkg.list_provides" not in __salt__:
        return []
    provides = __salt__["pkg.list_provides"]()
    names = [name for name in names if name in provides]
    if not names:
        return []
    real = __salt__["pkg.latest_version"](*names, refresh=False, show_installed=True)
    real = real if isinstance(real, dict) else {names[0]: real}
    return [name for name in names if not real.get(name)]


def _source_version(source):
    if "lowpkg.bin_pkg_info" not in __salt__:
        return None
    about = __salt__["lowpkg.bin_pkg_info"](source, saltenv=__env__)
    return about["version"] if about else None  # None: no readable package


def _resolve_latest(wanted, refresh, kwargs):
    """Replace ``latest`` by real versions, in place; returns whether a refresh is still necessary."""
    names = [pkg for pkg, number in wanted.items() if number == "latest"]
    latest = __salt__["pkg.latest_version"](*names, refresh=refresh, show_installed=True, **kwargs)
    latest = latest if isinstance(latest, dict) else {names[0]: latest}
    wanted.update((pkg, latest.get(pkg) or None) for pkg in names)
    return False


def _unknown(targets, fromrepo, kwargs):
    """The error about packages that no repository has, if the provider can determine this beforehand; otherwise ""."""
    if not targets or "pkg.check_db" not in __salt__:
        return ""
    try:
        return pkgplan.unknown(__salt__["pkg.check_db"](*targets, fromrepo=fromrepo, **kwargs))
    except CommandExecutionError:
        return ""


def _foretell(name, plan, sources, ignore_epoch, altered):
    """The return of a dry run of ``installed``: the new versions, according to the present lists."""
    changes, comments = {}, []
    if plan.install:
        comments.append("The following packages would be installed/updated: " + ", ".join(plan.install))
        new = {} if sources else _installable(plan.install, ignore_epoch)
        current = __salt__["pkg.list_pkgs"]()
        for pkg in plan.install:
            changes[pkg] = {"new": new.get(pkg) or "installed", "old": current.get(pkg, "")}
    if plan.unpurge:
        comments.append(
            "The following packages would have their selection status changed from 'purge' to 'install': "
            + ", ".join(plan.unpurge)
        )
        changes.update((pkg, {"new": "installed", "old": ""}) for pkg in plan.unpurge)
    for pkg, files in altered.items():
        label = pkgspec.label(pkg, plan.reinstall[pkg])
        comments.append(
            "Package '%s' would be reinstalled because the following files have been altered:\n%s"
            % (label, nested.text(files))
        )
        changes[pkg] = {}
    again = {pkg: want for pkg, want in plan.reinstall.items() if pkg not in altered}
    if again:
        shown = [pkg if sources else pkgspec.label(pkg, want) for pkg, want in again.items()]
        comments.append("The following packages would be reinstalled: " + ", ".join(shown))
        changes.update((label, {"new": "installed", "old": ""}) for label in shown)
    return pkgplan.ret(name, None, "\n".join(comments), changes)


def _installable(targets, ignore_epoch):
    """``{name: version}`` that installing ``{name: version, condition or None}`` would give, as far as can be
    determined.
    """
    plain = [pkg for pkg, number in targets.items() if not number]
    exact = [pkg for pkg, number in targets.items() if number]
    result = {}
    if plain:
        newest = __salt__["pkg.latest_version"](*plain, refresh=False)
        result.update(newest if isinstance(newest, dict) else {plain[0]: newest})
    if exact and "pkg.list_repo_pkgs" in __salt__:
        offered = __salt__["pkg.list_repo_pkgs"](*exact)
        for pkg in exact:
            compare = __salt__["pkg.version_cmp"]
            result[pkg] = pkgspec.best_match(offered.get(pkg, []), targets[pkg], compare, ignore_epoch)
    return result


def _altered(wanted, plan, pkg_verify, kwargs):
    """``{package: result of pkg.verify}`` of packages with the wanted version whose files have changed."""
    present = [pkg for pkg in wanted if pkg not in plan.install and pkg not in plan.reinstall]
    result = {pkg: _verified(pkg, pkg_verify, kwargs) for pkg in present}
    return {pkg: files for pkg, files in result.items() if files}


def _verified(pkg, pkg_verify, kwargs):
    words = {}
    for item in pkg_verify if isinstance(pkg_verify, list) else ():
        words.update((key, item[key]) for key in ("ignore_types", "verify_options") if key in item)
    return __salt__["pkg.verify"](pkg, **dict(kwargs, **words))


# Holds


def _hold(name, wanted, kwargs):
    """Hold or release as ``hold`` says; returns the provider's result per package, or its error as text."""
    if "hold" not in kwargs or "pkg.hold" not in __salt__:
        return []
    try:
        words = __salt__["pkg.hold" if kwargs["hold"] else "pkg.unhold"](name=name, pkgs=list(wanted))
    except (CommandExecutionError, SaltInvocationError) as exc:
        return str(exc)
    if words.get("result", True) is False:
        return "An error was encountered while holding/unholding package(s): %s" % words["comment"]
    return list(words.values())


def _with_hold(ret, name, wanted, kwargs):
    """The return for packages that are already installed, with the changes of holding them."""
    held = _hold(name, wanted, kwargs)
    if isinstance(held, str):
        return pkgplan.ret(name, False, held)
    for words in held:
        ret["comment"] += ".\n" + words["comment"]
        if words["changes"]:
            ret["changes"][words["name"]] = words["changes"]
    results = [words["result"] for words in held]
    if False in results:
        ret["result"] = False
    elif None in results:
        ret["result"] = None
    return ret


def _add_hold(changes, words):
    """Merge a change of the selection into the package's change of version, in place."""
    if not words["changes"]:
        return
    change = changes.get(words["name"])
    if change is None:
        changes[words["name"]] = {"new": words["changes"]["new"]}
        return
    for key in ("new", "old"):
        change[key] = "\n".join(text for text in (change[key], words["changes"][key]) if text)


# Helpers


def _listed(low, kind):
    """``{name: version or source or None}`` of one chunk."""
    if kind in low:
        pack = pkgspec.names_and_sources if kind == "sources" else pkgspec.names_and_versions
        return dict(pack(low[kind]))
    return {low["name"]: low.get("version")} if "name" in low else {}
