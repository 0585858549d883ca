"""Footprints of states: the parts of a target (files, accounts, packages) that each function reads and changes.

A state is certain to do what its dry run reports only if no earlier state changes anything that it reads. ``of``
returns the footprint of a chunk. A function without a rule is assumed to read everything and to change everything. A
rule may name more than the function uses, never less.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from pushsalt.model import Chunk


@dataclass(frozen=True)
class Parts:
    """Parts of a target. ``paths``: files; ``trees``: files with all that is below them; ``names``: ``user:www``,
    ``packages``."""

    everything: bool = False
    paths: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    def __or__(self, other: Parts) -> Parts:
        return Parts(
            self.everything or other.everything,
            self.paths | other.paths,
            self.trees | other.trees,
            self.names | other.names,
        )


@dataclass(frozen=True)
class Footprint:
    """The parts of a target that a state reads, and those that it changes if it changes anything."""

    reads: Parts
    writes: Parts


NOTHING: Final = Parts()
EVERYTHING: Final = Parts(everything=True)
Rule = Callable[[Chunk], Footprint]

#: Directories of package managers: their databases and the configuration of their repositories.
_PACKAGES: Final = Parts(
    names=frozenset({"packages"}),
    trees=frozenset(
        (
            "/etc/apt",
            "/etc/apk",
            "/etc/dnf",
            "/etc/pacman.conf",
            "/etc/pacman.d",
            "/etc/pki/rpm-gpg",
            "/etc/yum",
            "/etc/yum.conf",
            "/etc/yum.repos.d",
            "/etc/zypp",
            "/usr/share/keyrings",
            "/var/lib/apt",
            "/var/lib/dpkg",
            "/var/lib/rpm",
        )
    ),
)
_SERVICES: Final = Parts(
    names=frozenset({"services"}),
    trees=frozenset(
        (
            "/etc/init.d",
            "/etc/rc.d",
            "/etc/runit",
            "/etc/sv",
            "/etc/systemd",
            "/lib/systemd",
            "/run/systemd",
            "/usr/lib/systemd",
            "/usr/local/lib/systemd",
        )
    ),
)
_ACCOUNTS: Final = ("/etc/passwd", "/etc/shadow", "/etc/subuid", "/etc/subgid")
_GROUPS: Final = ("/etc/group", "/etc/gshadow")


def of(chunk: Chunk, notes: Mapping[str, Any]) -> Footprint:
    """The footprint of a chunk. ``notes`` are those of its dry run (thin.detail)."""
    footprint = _rule(f"{chunk['state']}.{chunk['fun']}")(chunk)
    reads, writes = footprint.reads, footprint.writes
    if notes.get("asked") or _looks_around(chunk):
        reads = EVERYTHING
    creates = [path for path in _listed(chunk.get("creates")) if isinstance(path, str)]
    reads = reads | _paths(*creates)
    if isinstance(notes.get("real"), str):
        extra = Parts(paths=frozenset({notes["real"]}), trees=frozenset({notes["real"]} if writes.trees else ()))
        reads, writes = reads | extra, writes | extra
    if isinstance(notes.get("missing"), str) and writes.paths | writes.trees:
        writes = writes | _paths(*_between(notes["missing"], str(chunk.get("name"))))
    return Footprint(reads, writes)


def needs(chunk: Chunk, notes: Mapping[str, Any]) -> Iterator[tuple[Parts, str]]:
    """The missing parts without which a state fails if it would change something, unless an earlier state provides
    them; each with a text for people."""
    for kind, name, words in notes.get("needs") or ():
        accounts = Parts(names=frozenset({f"user:{name}", f"group:{name}"}))
        yield (_paths(name) if kind == "path" else accounts), str(words)
    if chunk["state"] != "file" or chunk["fun"] == "absent":
        return
    path, makes = posixpath.normpath(str(chunk.get("name"))), chunk["fun"] == "recurse" or bool(chunk.get("makedirs"))
    if "blocked" in notes:
        yield _trees(notes["blocked"]), f"{notes['blocked']} is not a directory"
    elif "missing" in notes and not makes:
        yield _paths(posixpath.dirname(path)), f"the directory {posixpath.dirname(path)} is not there"
    if notes.get("dangling") and chunk["fun"] in ("managed", "serialize", "recurse"):
        yield _paths(path, notes.get("real")), f"{path} is a link that leads nowhere"
    elif notes.get("nowhere") and chunk["fun"] in ("append", "prepend", "touch"):
        real = str(notes.get("real"))
        yield _paths(path, real, posixpath.dirname(real)), f"{path} is a link into a directory that is not there"


def _between(top: str, path: str) -> Iterator[str]:
    """The directories from ``top`` down to that of ``path``."""
    below = f"{top.rstrip('/')}/"
    return (folder for folder in _above(posixpath.normpath(path)) if folder == top or folder.startswith(below))


def _looks_around(chunk: Chunk) -> bool:
    """Whether guards, check_cmd or slots of the chunk call commands or functions, which may read anything."""
    return any(key in chunk for key in ("onlyif", "unless", "check_cmd")) or _has_slot(chunk)


def _has_slot(value: Any) -> bool:
    match value:
        case str():
            return value.startswith("__slot__:")
        case Mapping():
            return any(map(_has_slot, value.values()))
        case list() | tuple():
            return any(map(_has_slot, value))
    return False


def _rule(function: str) -> Rule:
    for pattern, rule in RULES.items():
        if fnmatchcase(function, pattern):
            return rule
    return _anything


# the rules ------------------------------------------------------------------------------------------------------------


def _anything(chunk: Chunk) -> Footprint:
    return Footprint(EVERYTHING, EVERYTHING)


def _no_effect(chunk: Chunk) -> Footprint:
    return Footprint(NOTHING, NOTHING)


def _file(chunk: Chunk) -> Footprint:
    """One file: its name, its local sources, its owner."""
    own = _paths(chunk.get("name"))
    return Footprint(own | _sources(chunk) | _owners(chunk), own)


def _tree(chunk: Chunk) -> Footprint:
    """A file, a link, or a directory with its content."""
    own = _trees(chunk.get("name"))
    return Footprint(own | _sources(chunk) | _owners(chunk), own)


def _archive(chunk: Chunk) -> Footprint:
    """A folder, and the digest of the source that is kept for the next run."""
    footprint = _tree(chunk)
    kept = Parts(names=frozenset(f"archive:{source}" for source in _listed(chunk.get("source"))))
    return Footprint(footprint.reads | kept, footprint.writes | kept)


def _directory(chunk: Chunk) -> Footprint:
    deep = any(chunk.get(key) for key in ("recurse", "clean", "force", "backupname", "children_only"))
    return (_tree if deep else _file)(chunk)


def _from_tree(chunk: Chunk) -> Footprint:
    """``copy``, ``rename``, ``hardlink``: two paths, each with all below it."""
    own = _trees(chunk.get("name"), chunk.get("source"), chunk.get("target"))
    return Footprint(own | _owners(chunk), own)


def _written(chunk: Chunk) -> Footprint:
    """One file whose content may depend on anything."""
    return Footprint(EVERYTHING, _paths(chunk.get("name")))


def _package(chunk: Chunk) -> Footprint:
    files = [path for entry in _listed(chunk.get("sources")) if isinstance(entry, Mapping) for path in entry.values()]
    return Footprint(_PACKAGES | _paths(*files), EVERYTHING)


def _repository(chunk: Chunk) -> Footprint:
    return Footprint(_PACKAGES, _PACKAGES | Parts(trees=frozenset({"/etc/pki"})))


def _service(chunk: Chunk) -> Footprint:
    return Footprint(_SERVICES, EVERYTHING)


def _user(chunk: Chunk) -> Footprint:
    name = str(chunk.get("name"))
    groups = [str(item) for key in ("groups", "optional_groups", "gid") for item in _listed(chunk.get(key))]
    home = chunk.get("home") if isinstance(chunk.get("home"), str) else f"/home/{name}"
    names = Parts(names=frozenset({f"user:{name}", *(f"group:{group}" for group in (name, *groups))}))
    own = names | _paths(*_ACCOUNTS, *_GROUPS)
    if chunk["fun"] == "absent" and (chunk.get("purge") or chunk.get("force")):
        return Footprint(own | _trees(home), EVERYTHING)
    return Footprint(own | _paths(home), own | _trees(home))


def _group(chunk: Chunk) -> Footprint:
    members = [str(item) for key in ("members", "addusers", "delusers") for item in _listed(chunk.get(key))]
    names = {f"group:{chunk.get('name')}", *(f"user:{member}" for member in members)}
    own = Parts(names=frozenset(names)) | _paths(*_GROUPS)
    return Footprint(own, own)


def _command(chunk: Chunk) -> Footprint:
    """A command: requisites and guards decide whether it runs, not the parts that it reads."""
    return Footprint(_paths(chunk.get("cwd")) | _sources(chunk), EVERYTHING)


def _named(*paths: str, trees: Iterable[str] = (), names: Iterable[str] = ()) -> Rule:
    """A rule for states that read and change these parts."""
    own = Parts(paths=frozenset(paths), trees=frozenset(trees), names=frozenset(names))

    def rule(chunk: Chunk) -> Footprint:
        reads = own | _sources(chunk) | Parts(names=_owners(chunk).names)
        return Footprint(reads, own)

    return rule


#: Globs of functions -> their rule; the first glob that matches is used.
RULES: Final[dict[str, Rule]] = {
    "test.*": _no_effect,
    "stateconf.*": _no_effect,
    "event.*": _no_effect,
    "file.accumulated": _no_effect,
    "file.absent": _tree,
    "file.copy*": _from_tree,
    "file.cached": _anything,
    "file.not_cached": _anything,
    "file.directory": _directory,
    "file.hardlink": _from_tree,
    "file.patch": _tree,
    "file.pruned": _tree,
    "file.recurse": _tree,
    "file.rename": _from_tree,
    "file.retention_schedule": _tree,
    "file.symlink": _tree,
    "file.tidied": _tree,
    "file.*": _file,
    "cmd.*": _command,
    "module.*": _command,
    "alias.*": _named("/etc/aliases"),
    "archive.extracted": _archive,
    "cron.*": _named(trees=("/etc/cron.d", "/var/spool/cron"), names=("cron",)),
    "grains.*": _named("/etc/salt/grains", names=("grains",)),
    "group.*": _group,
    "host.*": _named("/etc/hosts"),
    "ini.*": _file,
    "pkg.*": _package,
    "pkgrepo.*": _repository,
    "service.*": _service,
    "sysctl.*": _named("/etc/sysctl.conf", trees=("/etc/sysctl.d",), names=("sysctl",)),
    "user.*": _user,
    "x509.*": _written,
}


def _paths(*values: Any) -> Parts:
    return Parts(paths=frozenset(_local(values)))


def _trees(*values: Any) -> Parts:
    return Parts(trees=frozenset(_local(values)))


def _local(values: Iterable[Any]) -> Iterator[str]:
    """The absolute paths among the values, and the paths of their ``file://`` URLs."""
    for value in values:
        if isinstance(value, str) and value.removeprefix("file://").startswith("/"):
            yield posixpath.normpath(value.removeprefix("file://"))


def _sources(chunk: Chunk) -> Parts:
    """Local files among the sources."""
    values = [item for key in ("source", "sources", "source_hash", "if_missing") for item in _listed(chunk.get(key))]
    return _paths(*values, *(key for value in values if isinstance(value, Mapping) for key in value))


def _owners(chunk: Chunk) -> Parts:
    names = [
        f"{kind}:{chunk[key]}"
        for kind, key in (("user", "user"), ("user", "owner"), ("group", "group"))
        if isinstance(chunk.get(key), str | int)
    ]
    if chunk.get("contents_grains"):
        names.append("grains")
    return Parts(names=frozenset(names))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


# changes of earlier states --------------------------------------------------------------------------------------------


@dataclass
class Written:
    """The parts that earlier states have changed or may have changed, with the tags of these states."""

    _any: list[str] = field(default_factory=list)
    _all: list[str] = field(default_factory=list)
    _paths: dict[str, list[str]] = field(default_factory=dict)
    _trees: dict[str, list[str]] = field(default_factory=dict)
    #: folder -> states that changed something below it
    _below: dict[str, list[str]] = field(default_factory=dict)
    _names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, tag: str, parts: Parts) -> None:
        """Add the parts that a state changes."""
        if parts.everything:
            self._any.append(tag)
        if parts != NOTHING:
            self._all.append(tag)
        for path in parts.paths | parts.trees:
            (self._trees if path in parts.trees else self._paths).setdefault(path, []).append(tag)
            for folder in _above(path):
                self._below.setdefault(folder, []).append(tag)
        for name in parts.names:
            self._names.setdefault(name, []).append(tag)

    def by(self, parts: Parts) -> Iterator[str]:
        """The states that changed any of these parts; a state may be yielded several times."""
        if parts == NOTHING:
            return
        if parts.everything:
            yield from self._all
            return
        yield from self._any
        for name in parts.names:
            yield from self._names.get(name, ())
        for path in parts.paths | parts.trees:
            yield from self._paths.get(path, ())
            for place in (path, *_above(path)):
                yield from self._trees.get(place, ())
        for path in parts.trees:
            yield from self._below.get(path, ())


def _above(path: str) -> Iterator[str]:
    """All folders above a path."""
    while path not in ("/", "//", ""):
        path = posixpath.dirname(path)
        yield path
