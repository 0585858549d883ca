"""Parsers of the JSON of brew, and the order of its versions. Pure: values in, values out."""

import re


def installed(data):
    """``{name, full name or alias: [sorted versions]}`` from ``brew info --json=v2 --installed``."""
    result = {}
    for formula in data.get("formulae", []):
        names = formula.get("aliases", []) + [formula["name"], formula["full_name"]]
        versions = [one["version"] for one in formula.get("installed", [])]
        _add(result, names, versions)
    for cask in data.get("casks", []):
        tap = cask.get("tap") or "homebrew/cask"
        _add(result, [cask["token"], cask.get("full_token"), "%s/%s" % (tap, cask["token"])], [cask["installed"] or ""])
    return {name: sorted(versions) for name, versions in result.items()}


def _add(result, names, versions):
    for name in names:
        if name:
            result.setdefault(name, set()).update(versions)


def about(data, names):
    """``{name: the formula or cask with this name}`` from ``brew info --json=v2 NAMES``."""
    about = {}
    for one in data.get("formulae", []):
        for name in [one["name"], one["full_name"]] + one.get("aliases", []):
            if name in names:
                about[name] = one
    for one in data.get("casks", []):
        for name in (one["token"], one.get("full_token")):
            if name in names:
                about.setdefault(name, one)
    return about


def newest(one):
    """The version of a formula (with its revision, as brew installs it) or of a cask."""
    if "versions" not in one:
        return one.get("version") or ""
    number = one["versions"].get("stable") or one["versions"].get("devel") or one["versions"].get("head") or ""
    revision = one.get("revision") or 0
    return "%s_%d" % (number, revision) if number and revision else number


def compare(left, right):
    """-1, 0 or 1. Runs of digits are compared as numbers and are newer than letters; a missing run is 0. The revision
    after ``_`` is compared last."""
    (one, revision), (two, revision2) = _split(left), _split(right)
    length = max(len(one), len(two))
    one, two = [runs + [_ZERO] * (length - len(runs)) for runs in (one, two)]
    return ((one, revision) > (two, revision2)) - ((one, revision) < (two, revision2))


_ZERO = (1, 0, "")


def _split(text):
    number, _, revision = str(text).partition("_")
    runs = [(1, int(run), "") if run.isdigit() else (0, 0, run) for run in re.findall(r"\d+|[a-zA-Z]+", number)]
    return runs, int(revision) if revision.isdigit() else 0
