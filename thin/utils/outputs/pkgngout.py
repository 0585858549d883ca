"""Parsers of the output of FreeBSD's pkg. Pure: text in, values out."""

import re

_TITLES = (
    ("UPGRADED", "upgrade"),
    ("INSTALLED", "install"),
    ("REINSTALLED", "reinstall"),
    ("REMOVED", "remove"),
    ("DOWNGRADED", "downgrade"),
)
_MOVED = re.compile(r"\s+([^:]+):\s+(\S+)\s+->\s+(\S+)(?:\s+\[([^]]+)])?(?:\s+\(([^)]+)\))?")
_ADDED = re.compile(r"\s+([^:]+):\s+(\S+)(?:\s+\[([^]]+)])?(?:\s+\(([^)]+)\))?")
_THERE = re.compile(r"\s+(\S+)-([^-\s]+)(?:\s+\[([^]]+)])?(?:\s+\(([^)]+)\))?")


def installed(text):
    """``{name: (version, origin)}`` from ``pkg query '%n\\t%v\\t%o'``."""
    rows = [line.split("\t") for line in text.splitlines()]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def offered(text):
    """``[(name, version, origin)]`` from ``pkg rquery`` with the same format."""
    return [tuple(row) for row in (line.split("\t") for line in text.splitlines()) if len(row) == 3]


def plan(text):
    """``{upgrade | install | reinstall | remove | downgrade: {name: {version: {current, new}, repo, reason}}}`` from a
    dry run. Salt: pkgng._parse_upgrade"""
    result = {kind: {} for _, kind in _TITLES}
    kind = None
    for line in text.splitlines():
        if not line.strip():
            kind = None
        elif line.endswith(":") and not line.startswith((" ", "\t")):
            # compare whole words: "REINSTALLED:" ends with "INSTALLED:"
            kind = dict(_TITLES).get(line.rstrip(":").rpartition(" ")[2])
        elif kind in ("upgrade", "downgrade"):
            match = _MOVED.match(line)
            if match:
                name, current, new, repo, reason = match.groups()
                result[kind][name] = {"version": {"current": current, "new": new}, "repo": repo, "reason": reason}
        elif kind:
            match = (_ADDED if kind == "install" else _THERE).match(line)
            if match:
                name, current, repo, reason = match.groups()
                result[kind][name] = {"version": {"current": current}, "repo": repo, "reason": reason}
    return result


def locked(text):
    """The names from ``pkg lock --quiet --show-locked``."""
    return [line.rpartition("-")[0] for line in text.splitlines() if "-" in line]


def options(letters):
    """``["-fy"]`` from ``{"f": True, "y": True, "n": False}``; [] if none is True."""
    chosen = "".join(letter for letter, on in letters.items() if on)
    return ["-" + chosen] if chosen else []
