"""The plan of a package state, and its comments.

It works on values that the caller collected; functions that call the provider get ``__salt__``.
"""

from thin.utils import nested
from thin.utils.packages import pkgspec


def ret(name, result, comment, changes=None):
    """A state's return."""
    return {"name": name, "changes": changes or {}, "result": result, "comment": comment}


def failed(name, exc, words):
    """A state's return for an exception of the provider: the changes so far, and ``words`` or its own text."""
    info = getattr(exc, "info", None)
    if isinstance(info, dict):
        return ret(name, False, exc.strerror_without_changes, info.get("changes"))
    return ret(name, False, words + str(exc))


class Plan(object):
    """What a package state has to do. ``install``, ``reinstall``: ``{name: version or source}``; ``unpurge``: names;
    ``absent``: names of packages of which no version is installed."""

    def __init__(self):
        self.install = {}
        self.reinstall = {}
        self.unpurge = []
        self.absent = []
        self.versions_asked = False


def plan(
    wanted,
    current,
    purging,
    compare,
    normalize=None,
    source_version=None,
    reinstall=False,
    ignore_epoch=None,
    allow_updates=False,
):
    """The Plan that leads to ``wanted``.

    ``wanted``: ``{name: version, conditions or None}``; or ``{name: source}`` with ``source_version(source)``, which
    returns the version of a package file (None: unknown). ``current``: ``{name: [versions]}`` of the installed
    packages; ``purging``: the names marked to be purged; ``compare``: the provider's comparison of versions.
    """
    done = Plan()
    done.unpurge = [pkg for pkg in wanted if pkg in purging]
    for pkg, want in wanted.items():
        have = current.get(pkg) or (normalize and current.get(normalize(pkg)))
        if not have:
            done.absent.append(pkg)
            done.install[pkg] = want
        elif reinstall:
            done.reinstall[pkg] = want
        else:
            spec = source_version(want) if source_version else want
            if spec:
                done.versions_asked = True
                if not pkgspec.fulfills(have, spec, compare, ignore_epoch, allow_updates and not source_version):
                    done.install[pkg] = want
    return done


def report(wanted, done, left, changes, held, are_sources, altered=None, still=None):
    """``(result, comment)`` of an installation.

    ``done``: the Plan that was carried out; ``left``: names that are still not installed; ``held``: the provider's
    returns for held or released packages; ``altered``: ``{package: altered files}`` of packages that were reinstalled
    because of them; ``still``: the same after that.
    """
    altered, still = altered or {}, still or {}
    shown = {pkg: pkg if are_sources else pkgspec.label(pkg, wanted[pkg]) for pkg in wanted}
    missing = [shown[pkg] for pkg in done.install if pkg in left]
    installed = [shown[pkg] for pkg in done.install if pkg not in left]
    present = [shown[pkg] for pkg in wanted if pkg not in done.install and pkg not in done.reinstall]
    unchanged = [pkg for pkg in done.reinstall if (still.get(pkg) if pkg in altered else pkg not in changes)]
    comments = []
    if missing:
        comments.append("The following packages failed to install/update: " + ", ".join(missing))
    if installed:
        comments.append(were_installed(installed))
    comments += [words["comment"] for words in held if words["changes"]]
    if present:
        comments.append(were_there(present))
    comments += [words["comment"] for words in held if not words["changes"]]
    for pkg in done.reinstall:
        words = "Reinstall was not successful for package %s." if pkg in unchanged else "Package %s was reinstalled."
        comments.append(words % shown[pkg])
        if pkg in altered:
            words = "could not be remediated" if pkg in unchanged else "were remediated"
            files = still[pkg] if pkg in unchanged else altered[pkg]
            comments[-1] += " The following files %s:\n%s" % (words, nested.text(files))
    return not missing and not unchanged and all(words["result"] for words in held), "\n".join(comments)


def unknown(checked):
    """The error text about packages that ``pkg.check_db`` did not find, "" if it found all."""
    strange = {pkg: data["suggestions"] for pkg, data in checked.items() if data["found"] is False}
    comments = []
    plain = sorted(pkg for pkg, like in strange.items() if not like)
    if plain:
        comments.append(
            "The following package(s) were not found, and no possible matches were found in the package db: "
            + ", ".join(plain)
        )
    for pkg, like in strange.items():
        if like:
            comments.append("Package '%s' not found (possible matches: %s)" % (pkg, ", ".join(like)))
    return ". ".join(comments)


# Comments. Lists longer than Salt's limits are replaced by their length.


def were_installed(labels):
    summary = ", ".join(labels)
    if len(summary) < 20:
        return "The following packages were installed/updated: " + summary
    return "%d targeted package%s installed/updated." % (len(labels), " was" if len(labels) == 1 else "s were")


def were_there(labels):
    if len(labels) <= 20:
        return "The following packages were already installed: " + ", ".join(labels)
    return "%d targeted packages were already installed" % len(labels)


def all_up_to_date(pkgs):
    if len(pkgs) > 10:
        return "All %d packages are up-to-date." % len(pkgs)
    if len(pkgs) > 1:
        return "All packages are up-to-date (%s)." % ", ".join(sorted(pkgs))
    return "Package %s is already up-to-date" % pkgs[0]


def were_up_to_date(pkgs):
    if len(pkgs) > 10:
        return "%d packages were already up-to-date" % len(pkgs)
    return "The following packages were already up-to-date: " + ", ".join(pkgs)


def none_updated(targets, up_to_date):
    if len(targets) > 10:
        words = "%d targeted packages failed to update. See debug log for details." % len(targets)
    elif len(targets) > 1:
        listed = ", ".join(sorted(targets))
        words = "The following targeted packages failed to update. See debug log for details: (%s)." % listed
    else:
        words = "Package %s failed to update." % next(iter(targets))
    return words + (" " + were_up_to_date(up_to_date) if up_to_date else "")


def check_refresh(refresh, context):
    """Whether to refresh the package lists: it is requested, or due in this run and not forbidden."""
    if isinstance(refresh, str):
        refresh = refresh.lower() == "true"
    return bool(refresh or (refresh is None and context.get("pkg.refresh")))


def normalizer(salt, normalize):
    """``pkg.normalize_name`` if it is requested and the provider has it, else None."""
    return salt["pkg.normalize_name"] if normalize and "pkg.normalize_name" in salt else None


def resolve_capabilities(salt, pkgs, refresh, kwargs):
    """(packages with capabilities replaced by package names, if the provider can do that; whether to refresh the
    lists)."""
    if not pkgs or not kwargs.get("resolve_capabilities") or "pkg.resolve_capabilities" not in salt:
        return pkgs, refresh
    return salt["pkg.resolve_capabilities"](pkgs, refresh=refresh, **kwargs), False
