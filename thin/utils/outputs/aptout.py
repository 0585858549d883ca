"""Parsers of the output of apt and dpkg under LC_ALL=C. Pure: text in, values out."""

import re

#: The dpkg-query --showformat that packages() parses: want, error, status, name, version, architecture, provides.
LIST_FORMAT = "${Status}\t${Package}\t${Version}\t${Architecture}\t${Provides}\n"

#: A package that waits for triggers counts as installed; a half-installed, unpacked or half-configured one does not.
_PRESENT = ("installed", "triggers-awaited", "triggers-pending")

_UPGRADE = re.compile(r"(?m)^Conf ([^ ]+) \(([^ ]+)")
_SIZE = re.compile(r" \[[^\]]+B\]$")
_PROVIDE = re.compile(r"\s*([^\s(,]+)\s*(?:\(=\s*([^)]+)\))?\s*(?:,|$)")


def packages(text, foreign):
    """``(installed, removed, purge_desired, provides)`` from dpkg-query's lines.

    The first three are ``{name: [versions]}``. ``foreign(arch)``: whether a package of this architecture has it in its
    name. ``provides`` is ``{virtual name: [(package, version or "")]}`` of the installed packages.
    """
    kinds = {"installed": {}, "removed": {}, "purge_desired": {}}
    provides = {}
    for line in text.splitlines():
        columns = line.split("\t")
        if len(columns) < 4 or len(columns[0].split()) != 3:
            continue
        want, _, status = columns[0].split()
        name, version, arch = columns[1:4]
        if not version:
            continue
        if foreign(arch):
            name = "%s:%s" % (name, arch)
        present = status in _PRESENT
        if want in ("install", "hold") and present:
            kind = "installed"
        elif want == "deinstall":
            kind = "removed"
        elif want == "purge" and present:
            kind = "purge_desired"
        else:
            continue
        kinds[kind].setdefault(name, []).append(version)
        if present and len(columns) > 4 and columns[4]:
            for virtual, provided in _PROVIDE.findall(columns[4]):
                provides.setdefault(virtual, []).append((name, provided))
    for versions_of in kinds.values():
        for name in versions_of:
            versions_of[name] = sorted(set(versions_of[name]))
    return kinds["installed"], kinds["removed"], kinds["purge_desired"], provides


def candidates(text):
    """``{name: candidate version or ""}`` from ``apt-cache policy``. Names of foreign packages are ``name:arch``."""
    candidates = {}
    name = None
    for line in text.splitlines():
        if line and not line[0].isspace() and line.endswith(":"):
            name = line[:-1]
        elif name is not None and line.startswith("  Candidate:"):
            version = line.split(":", 1)[1].strip()
            candidates[name] = "" if version == "(none)" else version
    return candidates


def stanzas(text):
    """Debian control stanzas (apt-cache show, dpkg -I) as dicts; continuation lines are joined by newlines."""
    stanzas, current, key = [], {}, None
    for line in text.splitlines() + [""]:
        if not line.strip():
            if current:
                stanzas.append(current)
            current, key = {}, None
        elif line[0] in " \t" and key is not None:
            current[key] += "\n" + line
        elif ":" in line:
            key, value = line.split(":", 1)
            current[key] = value.strip()
    return stanzas


def versions(text):
    """``{name: [versions]}`` from ``apt-cache show`` and ``apt-cache dump``, in their order."""
    field = " Version" if text.startswith("Using Versioning System") else "Version"
    versions, name = {}, None
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        if key == "Package":
            name = value.strip()
        elif key == field and name and value.strip() != "(null)":
            listed = versions.setdefault(name, [])
            if value.strip() not in listed:
                listed.append(value.strip())
    return versions


def upgrades(text):
    """``{name: new version}`` from ``apt-get --just-print upgrade``."""
    return dict(_UPGRADE.findall(text))


def refreshed(text):
    """``({repository: True fetched, None unchanged, False failed}, [failed repositories])`` from ``apt-get update``."""
    result, errors = {}, []
    for line in text.splitlines():
        columns = line.split()
        if not columns:
            continue
        what, repository = columns[0], " ".join(columns[1:])
        if what.startswith("Get"):
            result[_SIZE.sub("", repository)] = True
        elif what.startswith("Hit"):
            result[repository] = None
        elif what.startswith("Ign"):
            result[repository] = False
        elif what.startswith("Err"):
            result[repository] = False
            errors.append(repository)
    return result, errors


def selections(text):
    """``{state: [packages]}`` from ``dpkg --get-selections``."""
    selections = {}
    for line in text.splitlines():
        columns = line.split()
        if len(columns) == 2:
            selections.setdefault(columns[1], []).append(columns[0])
    return selections


def to_be_removed(text):
    """The sorted names under "The following packages will be REMOVED" in the output of apt-get."""
    result, inside = [], False
    for line in text.splitlines():
        if line.startswith("The following packages will be REMOVED"):
            inside = True
        elif inside and line.startswith(" "):
            result.extend(name.rstrip("*") for name in line.split())
        else:
            inside = False
    return sorted(result)


def holding_lock(text):
    """The line that reports that another process holds a lock of dpkg or apt, or ""."""
    for line in text.splitlines():
        if "Could not get lock" in line or ("lock" in line and "locked by another process" in line):
            return line.strip()
    return ""


def complaint(done):
    """The error of apt-get: the unmet dependencies from stdout, then stderr. ``done``: the return of cmd.run_all."""
    words, inside = [], False
    for line in done["stdout"].splitlines():
        inside = line.startswith(" ") if inside else line.startswith("The following packages have unmet dependencies")
        if inside:
            words.append(line)
    return "\n".join(words + [done["stderr"] or ("" if words else done["stdout"])]).strip()
