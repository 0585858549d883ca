"""Parsers of the output of apk. Pure: text in, values out."""

import re

_PACKAGE = re.compile(r"(\S+)-(\d[^-\s]*-r\d+)")
_STEP = re.compile(r"\(\d+/\d+\) Upgrading (\S+) \(\S+ -> (\S+)\)")


def packages(text):
    """``{name: version}`` from ``apk info -v``."""
    packages = {}
    for line in text.splitlines():
        match = _PACKAGE.match(line)
        if match:
            packages[match.group(1)] = match.group(2)
    return packages


def policies(text):
    """``{name: [(version, [places])]}`` from ``apk policy``, in apk's order: from the oldest version to the newest."""
    policies, rows = {}, None
    for line in text.splitlines():
        bare = line.strip()
        if line.endswith(" policy:"):
            rows = policies[line[: -len(" policy:")].strip()] = []
        elif rows is not None and bare.endswith(":") and line.startswith("  ") and not line.startswith("    "):
            rows.append((bare[:-1], []))
        elif rows and bare:
            rows[-1][1].append(bare)
    order = {name: sorted(rows, key=lambda row: _key(row[0])) for name, rows in policies.items()}
    return order


def repositories(places):
    """The repositories among the places of a version; the list of installed packages is not one."""
    return [place for place in places if not place.endswith("apk/db/installed")]


def _key(version):
    """A sort key for versions of one package. It is simplified, because apk rarely offers more than two."""
    numbers, _, revision = version.partition("-r")
    return [int(run) for run in re.findall(r"\d+", numbers)], int(revision or 0)


def upgrades(text):
    """``{name: new version}`` from ``apk upgrade --simulate``."""
    return {match.group(1): match.group(2) for match in map(_STEP.match, text.splitlines()) if match}


def contents(text):
    """The absolute paths from ``apk info --contents``."""
    lines = [line.strip() for line in text.splitlines()]
    return ["/" + line for line in lines if line and not line.endswith(" contains:")]


def owner(text):
    """The package's name from ``apk info --who-owns``, "" if there is none."""
    match = re.search(r" is owned by (\S+)", text)
    package = match and _PACKAGE.match(match.group(1))
    return package.group(1) if package else match.group(1) if match else ""


def name_of(word):
    """The package name in an entry of the world file: ``nginx``, ``nginx=1.2-r0``, ``nginx@edge``, ``nginx>1``."""
    return re.match(r"!?([^=<>~@]*)", word).group(1)
