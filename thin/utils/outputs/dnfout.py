"""Parsers of the output of dnf, dnf5, tdnf and yum under LC_ALL=C. Pure: text in, values out."""

import re

#: The repoquery --queryformat that offered() parses.
QUERY_FORMAT = "%{name}\t%{epoch}\t%{version}\t%{release}\t%{arch}\t%{repoid}\n"

PACKAGE_KINDS = ("mandatory", "optional", "default", "conditional")

_HEADERS = (
    "installed packages",
    "available packages",
    "available upgrades",
    "updated packages",
    "upgraded packages",
    "upgrades",
    "last metadata expiration check",
)
_SECTIONS = {
    "installed groups": "installed",
    "available groups": "available",
    "installed environment groups": "installed environments",
    "available environment groups": "available environments",
    "available language groups": "available languages",
}
_MEMBERS = re.compile(r"\s*(mandatory|optional|default|conditional) (?:groups|packages)\s*:\s*(.*)$", re.IGNORECASE)
_ADVISORY = re.compile(r"([i ]) ?(\S+) +(\S+) +(\S+)")


def offered(text):
    """``[(name, arch, version, repository)]`` from repoquery with QUERY_FORMAT."""
    result = []
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) == 6:
            name, epoch, version, release, arch, repository = words
            full = "%s-%s" % (version, release)
            result.append((name, arch, full if epoch in ("0", "(none)", "") else "%s:%s" % (epoch, full), repository))
    return result


def listed(text):
    """As ``offered``, from ``yum list``, which breaks lines with long names."""
    lines = [line for line in text.splitlines() if not line.lower().startswith(_HEADERS)]
    words = " ".join(lines).split()
    result = []
    for at in range(0, len(words) - 2, 3):
        name, _, arch = words[at].rpartition(".")
        result.append((name or arch, arch if name else "", words[at + 1].rstrip("-"), words[at + 2].lstrip("@")))
    return result


def groups(text):
    """``{installed, available, installed environments, available environments: [names], available languages: {}}`` from
    ``group list``."""
    groups = {key: [] for key in _SECTIONS.values()}
    groups["available languages"] = {}
    key = None
    for line in text.splitlines():
        bare = line.strip()
        title = bare.lower().rstrip(":")
        if title == "done":
            break
        if title in _SECTIONS:
            key = _SECTIONS[title]
        elif key == "available languages":
            match = re.match(r"(.+) \[(.+)\]", bare)
            if match:
                groups[key][bare] = {"name": match.group(1), "language": match.group(2)}
        elif key is not None and bare:
            groups[key].append(bare)
    return groups


def groups_of_dnf5(text):
    """As ``groups``, from dnf5's table of ids; only installed and available."""
    result = {key: [] for key in _SECTIONS.values()}
    result["available languages"] = {}
    for words in map(str.split, text.splitlines()):
        if len(words) > 2 and words[-1].lower() in ("yes", "no"):
            result["installed" if words[-1].lower() == "yes" else "available"].append(words[0])
    return result


def group(text):
    """``{group, id, description, type, mandatory, optional, default, conditional: [sorted members]}`` from groupinfo.

    ``group`` and ``id`` are None if there is no such group.
    """
    about, members, kind = {}, {name: set() for name in PACKAGE_KINDS}, None
    for line in text.splitlines():
        match = _MEMBERS.match(line)
        bare = line.strip()
        if match:
            kind = match.group(1).lower()
            bare = match.group(2).strip()
        elif re.match(r"\s*[\w-][\w -]*\s*:", line) and not re.match(r"\s+:", line):
            key, _, value = line.partition(":")
            about.setdefault(key.strip().lower(), value.strip())
            kind = None
            continue
        if kind and bare:
            members[kind].add(bare.lstrip(":+-=* ").strip())
    environment = "environment group" in about or "environment-id" in about
    result = {name: sorted(names) for name, names in members.items()}
    result.update(
        type="environment group" if environment else "package group",
        group=about.get("environment group") or about.get("group") or about.get("name"),
        id=about.get("environment-id") or about.get("group-id") or about.get("id"),
        description=about.get("description", ""),
    )
    return result


def advisories(text):
    """``{advisory: {installed, summary: [packages]}}`` from ``updateinfo list all``. ``installed``: all packages
    are."""
    advisories = {}
    for line in text.splitlines():
        match = _ADVISORY.match(line if line[:1] in "i " else " " + line)
        if match:
            mark, advisory, _, package = match.groups()
            entry = advisories.setdefault(advisory, {"installed": True, "summary": []})
            entry["summary"].append(package)
            entry["installed"] = entry["installed"] and mark == "i"
    return advisories


def advisories_of_dnf5(every, installed):
    """As ``advisories``, from dnf5's ``advisory list --all`` and ``--installed``: Name, Type, Severity, Package,
    Issued."""
    rows = [[line.split() for line in text.splitlines()[1:]] for text in (every, installed)]
    present = {(words[0], words[3]) for words in rows[1] if len(words) > 3}
    result = {}
    for words in rows[0]:
        if len(words) > 3:
            entry = result.setdefault(words[0], {"installed": True, "summary": []})
            entry["summary"].append(words[3])
            entry["installed"] = entry["installed"] and (words[0], words[3]) in present
    return result


def locks(text):
    """``[(name, the lock as written)]`` from ``versionlock list`` of dnf (``n-0:1-2.*``) and yum (``0:n-1-2.*``)."""
    locks = []
    for line in text.splitlines():
        match = re.match(r"(?:(\d+):)?([^\s!]+?)-(?:\d+:)?([^-\s]+)-([^-\s]+)$", line.strip())
        if match:
            locks.append((match.group(2), line.strip()))
    return locks


def locks_of_dnf5(text):
    """As ``locks``, from dnf5's versionlock.toml; the second item is None for a condition other than one version."""
    result, name, condition = [], None, {}

    def add():
        if name is not None:
            exact = condition.get("key") == "evr" and condition.get("comparator") == "="
            value = condition.get("value", "")
            epoch = "" if ":" in value else "0:"
            result.append((name, "%s-%s%s.*" % (name, epoch, value) if exact and value else None))

    for line in text.splitlines():
        bare = line.strip()
        match = re.match(r"(\w+)\s*=\s*[\"'](.*)[\"']$", bare)
        if bare == "[[packages]]":
            add()
            name, condition = None, {}
        elif match and match.group(1) == "name":
            name = match.group(2)
        elif match and match.group(1) in ("key", "comparator", "value"):
            condition.setdefault(match.group(1), match.group(2))
    add()
    return result


def restarting(text):
    """The process ids from ``needs-restarting``: ``123 : /usr/sbin/sshd``."""
    return [line.partition(":")[0].strip() for line in text.splitlines() if line.partition(":")[1]]
