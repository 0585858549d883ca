"""The parts of a project that travel to the workers of a site: trees, options, and the inventory's part for the site.

A tree is a folder at the worker: one for each of the ``file_roots`` and ``pillar_roots``, for each saltenv's files of
other backends (a git remote travels as the files of its commit), for each of ``module_dirs``, and for folders that
external pillars name. Links are handled as the file server does: a link within a tree travels as a link if it leads to
the same content there, any other link as the file that it leads to.

The manifest is a mapping for msgpack::

    site, options, inventory (digest of its rows), groups (names), pins (git revisions of external pillars),
    trees: name -> {"files": [[path, mode, size, digest]], "dirs": [empty ones], "links": {path: destination},
                    "limit": null or [renderers, source]}
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from glob import glob
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pushsalt import plugins
from pushsalt.errors import UsageError
from pushsalt.files.found import FileServerError, disk_file
from pushsalt.fileserver import BACKEND_NAMES, FileServer
from pushsalt.fileserver.backends.roots import ANY_ENV, Roots
from pushsalt.model import Target
from pushsalt.options import OPTIONS
from pushsalt.select import inventoryimage
from pushsalt.trust import limit_of
from pushsalt.workers import keys, names
from thin import wire

if TYPE_CHECKING:
    from pushsalt.files.found import FoundFile
    from pushsalt.run.project import Project

#: Stands for the folder of the trees in options, where the worker puts its own.
TREES: Final = "\0trees/"

#: Bytes that one file may have.
MAX_FILE: Final = 4 * 1024**3
#: Files that a project may have.
MAX_FILES: Final = 500_000

#: Options that stay at the controller: those of trees, which travel otherwise, and those that only a controller uses.
_STAY: Final = frozenset(
    """file_roots pillar_roots fileserver_backend gitfs_remotes file_ignore_glob file_ignore_regex module_dirs
    extension_modules inventory roster roster_file roster_defaults ansible_vault_password_file cache_dir cachedir
    include default_include return return_config return_timeout return_spool_size event_return event_return_whitelist
    event_return_blacklist ext_job_cache reactor reactor_worker_threads external_auth sharedsecret rest_cherrypy
    netapi_enable_clients token_expire token_expire_user_override rest_timeout permissive_acl schedule session
    batch batch_wait batch_safe_limit batch_safe_size formula_base_url check log_level""".split()  # noqa: SIM905
)
_STAY_BY_PREFIX: Final = ("ssh_", "workers", "gitfs_", "returner.")
#: They begin like those that stay, and are used by rendering.
_TRAVEL: Final = frozenset({"ssh_list_nodegroups", "ssh_signing_policies", "ssh_config_file"})
#: Folders of plug-ins of the controller: only roots of the operator's own disk may have some.
_PLUGINS: Final = frozenset(f"_{name}" for kind, each in plugins.KINDS.items() for name in (each.salt, kind))
#: External pillars that read the operator's files at paths among their arguments.
_WITH_FILES: Final = ("file_tree", "stack")


@dataclass
class Tree:
    """One folder. ``limit``: the only renderers that its files may use, and the source in words."""

    files: list[list[Any]] = field(default_factory=list)
    dirs: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    limit: list[Any] | None = None

    def as_map(self) -> dict[str, Any]:
        return {"files": self.files, "dirs": self.dirs, "links": self.links, "limit": self.limit}


@dataclass
class Parts:
    """A manifest without pieces, and how its files are read: digest -> an open stream."""

    manifest: dict[str, Any]
    sources: dict[str, Callable[[], BinaryIO]]


class Collector:
    """Collects the parts of one project; the trees are the same for all sites."""

    def __init__(self, project: Project) -> None:
        """Raises UsageError for files that cannot be read, ConfigError for options of the file server."""
        self._project = project
        self._opts = project.config.opts
        self._trees: dict[str, Tree] = {}
        self._made: dict[str, str] = {}
        self._pins: dict[str, dict[str, str]] = {}
        home = keys.folder_of(project)
        self._private = f"{home.absolute() / keys.PRIVATE}/" if home is not None else "\0"
        self._sources: dict[str, Callable[[], BinaryIO]] = {}
        self._count = 0
        self._options = self._collected()

    def parts(self, site: str) -> Parts:
        """The parts for a site."""
        rows = wire.pack({"rows": dict(self._rows(site))})
        digest = _digest(rows)
        manifest = {
            "site": site,
            "options": self._options,
            "inventory": digest,
            "pins": self._pins,
            "groups": sorted(self._project.groups) if self._project.config.has_inventory else [],
            "trees": {name: tree.as_map() for name, tree in self._trees.items()},
        }
        return Parts(manifest, {**self._sources, digest: lambda: BytesIO(rows)})

    def _rows(self, site: str) -> Iterator[tuple[str, bytes]]:
        """(id, packed target) of the site's ids, and of the jump hosts on the way to them."""
        targets = self._project.inventory.targets if self._project.config.has_inventory else {}
        waiting = [id for id, target in targets.items() if site_of(target) == site]
        seen = set(waiting)
        for id in waiting:
            target = targets[id]
            more = [name for name in target.jump if name in targets and name not in seen]
            seen.update(more)
            waiting += more
            yield id, wire.pack(inventoryimage.row(self._portable(target)))

    def _portable(self, target: Target) -> Target:
        """A target without what only this machine has: of private keys only the names of their files."""
        asked: dict[str, Any] = {
            name: self._project.asked[name]
            for name in ("passwd", "sudo_password")
            if name in self._project.asked and inventoryimage.is_asked(getattr(target, name))
        }
        return replace(target, priv=tuple(Path(path).name for path in target.priv), origin={}, **asked)

    # --- options

    def _collected(self) -> dict[str, Any]:
        config, opts = self._project.config, self._opts
        given = {name: opts[name] for name in config.given if name in opts and _travels(name)}
        given["file_roots"] = self._roots(opts["file_roots"], "states")
        self._other_backends(given["file_roots"])
        given["pillar_roots"] = self._roots(opts["pillar_roots"], "pillar")
        given["fileserver_backend"] = ["roots"]
        folders = [*(opts.get("module_dirs") or ()), *filter(None, [opts.get("extension_modules")])]
        given["module_dirs"] = [self._folder(str(path)) for path in folders if Path(path).is_dir()]
        if opts.get("ext_pillar"):
            given["ext_pillar"] = self._external(opts["ext_pillar"])
        for name, value in list(given.items()):
            option = OPTIONS.get(name)
            if option is not None and option.type == "path" and value and name in config.given:
                given[name] = self._own_file(str(value))
        return given

    def _roots(self, roots: Mapping[str, Any], kind: str) -> dict[str, list[str]]:
        """``file_roots`` or ``pillar_roots`` with the folders at the worker."""
        found: dict[str, list[str]] = {}
        for saltenv, folders in _environments(roots).items():
            found[saltenv] = [self._folder(path, kind, roots) for path in folders if Path(path).is_dir()]
        return found

    def _folder(self, path: str, kind: str = "more", roots: Mapping[str, Any] | None = None) -> str:
        """Add a folder of this machine as a tree. Returns its path at the worker."""
        name = f"{kind}-{len(self._trees)}"
        key = f"{kind}\0{path}"
        there = self._made.get(key)
        if there is None:
            there = self._made[key] = name
            all_roots = {str(number): [each] for number, each in enumerate(_all(roots or {}))}
            # of links that leave the folder, those into another root are followed
            opts = {**self._opts, "file_roots": {**all_roots, "tree": [path]}}
            [self._trees[name]] = self._trees_of(FileServer(opts, backends=[Roots(opts)]), "tree")
        return TREES + there

    def _other_backends(self, roots: dict[str, list[str]]) -> None:
        """Add the files of other backends than ``roots``, in the order of the backends."""
        backends = [BACKEND_NAMES.get(str(name), str(name)) for name in self._opts["fileserver_backend"] or ["roots"]]
        if "roots" not in backends:
            roots.clear()
        before = True
        place = 0
        for backend in dict.fromkeys(backends):
            if backend == "roots":
                before = False
                continue
            remotes = self._project.remotes if backend == "gitfs" and self._project.uses_gitfs else None
            files = FileServer({**self._opts, "fileserver_backend": [backend]}, remotes)
            for saltenv in files.envs():
                added = [TREES + name for name in self._limited(files, saltenv, backend)]
                there = roots.setdefault(saltenv, [])
                at = place if before else len(there)
                there[at:at] = added
            place += 1 if before else 0

    def _limited(self, files: FileServer, saltenv: str, backend: str) -> list[str]:
        """Add the files of a saltenv as trees, one for each limit of renderers. Returns their names."""
        found = []
        for tree in self._trees_of(files, saltenv, is_ours=False):
            name = f"{backend}-{len(self._trees)}"
            self._trees[name] = tree
            found.append(name)
        return found

    def _external(self, sources: Any) -> Any:
        """``ext_pillar`` with the paths of folders that travel."""
        if not isinstance(sources, list):
            return sources
        found: list[Any] = []
        for source in sources:
            if isinstance(source, Mapping):
                if "git" in source:
                    self._pin_remotes()
                source = {name: self._moved(args) if name in _WITH_FILES else args for name, args in source.items()}
            found.append(source)
        return found

    def _moved(self, value: Any) -> Any:
        match value:
            case str():
                return self._own_file(value, with_folder=True) if value.startswith("/") else value
            case Mapping():
                return {key: self._moved(item) for key, item in value.items()}
            case list():
                return [self._moved(item) for item in value]
        return value

    def _own_file(self, path: str, with_folder: bool = False) -> str:
        """The path at the worker of a file or folder of the project; other paths are those of the worker's machine."""
        project = self._project.config.project
        place = Path(path)
        if project is None or not place.is_relative_to(project) or place == project or not place.exists():
            return path
        if place.is_dir():
            return self._folder(path)
        if with_folder and place.parent != project:  # it names files relative to itself
            return f"{self._folder(str(place.parent))}/{place.name}"
        file = disk_file(path, place.name)
        if file is None or self._is_private(file):
            return path
        name = f"file-{len(self._trees)}"
        self._trees[name] = Tree([[place.name, file.mode & 0o7777, file.size, self._digest(file)]])
        return f"{TREES}{name}/{place.name}"

    def _pin_remotes(self) -> None:
        """Note the revisions of the remotes of external pillars, which workers fetch themselves."""
        from pushsalt.git.project import configured

        remotes = self._project.remotes
        for remote in configured(self._project.config):
            note = remotes.mirror(remote).note
            pins = {ref: commit for ref, (commit, _) in note.refs.items()} if note is not None else {}
            pins.update(remotes.lock.refs(remote.address.url) or {})
            if pins:
                self._pins.setdefault(remote.address.url, {}).update(pins)

    # --- files

    def _trees_of(self, files: FileServer, saltenv: str, is_ours: bool = True) -> list[Tree]:
        """All files of a saltenv, in a tree for each limit of renderers (of which the operator's own files have none).

        ``is_ours``: they are on the operator's disk, so there may be plug-ins of the controller.
        """
        found: dict[str, FoundFile] = {}
        for path in files.list_files(saltenv):
            file = files.find(path, saltenv) if is_ours or path.split("/", 1)[0] not in _PLUGINS else None
            if file is not None and not self._is_private(file):
                found[path] = file
        trees: dict[tuple[Any, ...] | None, Tree] = {}
        for file in found.values():
            trees.setdefault(_limit(file), Tree())
        trees = trees or {None: Tree()}
        digests = {path: self._digest(file) for path, file in found.items()}
        links = files.symlinks(saltenv) if len(trees) == 1 else {}
        kept = {link: to for link, to in links.items() if _leads_to_the_same(link, to, digests)}

        def is_below_link(path: str) -> bool:
            return any(folder in kept for folder in _folders_of(path))

        for path, file in found.items():
            if path not in kept and not is_below_link(path):
                trees[_limit(file)].files.append([path, file.mode & 0o7777, file.size, digests[path]])
        for key, tree in trees.items():
            tree.limit = None if key is None else [list(key[0]), key[1]]
        first = next(iter(trees.values()))
        first.dirs = [path for path in files.list_emptydirs(saltenv) if path not in kept and not is_below_link(path)]
        first.links = {link: to for link, to in kept.items() if not is_below_link(link)}
        return list(trees.values())

    def _is_private(self, file: FoundFile) -> bool:
        """Whether it is a private key of this project, also through a link."""
        path = file.path
        if not path.startswith("/"):
            return False
        return path.startswith(self._private) or os.path.realpath(path).startswith(self._private)

    def _digest(self, file: FoundFile) -> str:
        """The digest of a file, which is remembered as one to send. Raises UsageError."""
        self._count += 1
        if self._count > MAX_FILES:
            text = f"the project has more than {MAX_FILES} files"
            raise UsageError(text, hint="`file_ignore_glob` leaves out what is not needed")
        try:
            if file.size > MAX_FILE:
                text = f"{file.path} has more than {MAX_FILE // 1024**3} GiB, and cannot be sent to workers"
                raise UsageError(text, hint="let the targets fetch it by http, or leave it out: `file_ignore_glob`")
            digest = file.digest()
        except (FileServerError, OSError) as exc:
            text = f"{file.path} cannot be sent to workers: {getattr(exc, 'strerror', None) or exc}"
            raise UsageError(text, hint="correct its permissions") from None
        self._sources.setdefault(digest, file.open)
        return digest


def _limit(file: FoundFile) -> tuple[tuple[str, ...], str] | None:
    limit = limit_of(file)
    return None if limit is None else (tuple(sorted(limit.engines)), limit.source)


def site_of(target: Target) -> str:
    """The site of a target."""
    return str(getattr(target, "site", None) or names.DEFAULT_SITE)


def _travels(name: str) -> bool:
    return name in _TRAVEL or not (name in _STAY or name.startswith(_STAY_BY_PREFIX))


def _environments(roots: Mapping[str, Any]) -> dict[str, list[str]]:
    """Folders by saltenv; those of ``__env__`` with the saltenv in their paths by each that is there."""
    found = {str(saltenv): [str(each) for each in folders or ()] for saltenv, folders in roots.items()}
    patterns = found.get(ANY_ENV, [])
    if not any(ANY_ENV in each for each in patterns):
        return found
    for pattern in patterns:
        start, placeholder, end = pattern.partition(ANY_ENV)
        for path in glob(f"{_quoted(start)}*{_quoted(end)}") if placeholder else ():  # noqa: PTH207
            saltenv = path[len(start) : len(path) - len(end)] if end else path[len(start) :]
            if saltenv and saltenv not in roots:
                found[saltenv] = [each.replace(ANY_ENV, saltenv) for each in patterns]
    found[ANY_ENV] = [each for each in patterns if ANY_ENV not in each]
    return found


def _quoted(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _all(roots: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys(str(each) for folders in roots.values() for each in folders or () if ANY_ENV not in str(each))


def _folders_of(path: str) -> Iterator[str]:
    """The folders above a path."""
    while path := posixpath.dirname(path):
        yield path


def _leads_to_the_same(link: str, to: str, digests: Mapping[str, str]) -> bool:
    """Whether a link can be made in a copy of the tree: it is relative, stays inside, and leads to the same content."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(link), to))
    if to.startswith("/") or place.split("/", 1)[0] in ("..", ".") or "\0" in to:
        return False
    below = [path for path in digests if path == link or path.startswith(f"{link}/")]
    return all(digests[path] == digests.get(place + path[len(link) :]) for path in below)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


__all__ = ["MAX_FILE", "MAX_FILES", "TREES", "Collector", "Parts", "Tree", "site_of"]
