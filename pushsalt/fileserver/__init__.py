"""The file server, which resolves ``salt://`` URLs. It serves SLS files, templates, imports, sources and pillar.

A backend is one file in ``backends/``. The backends of ``fileserver_backend`` are asked in order; the first one that
has a file wins. Salt: salt.fileserver.Fileserver.
"""

from __future__ import annotations

import bisect
import inspect
import posixpath
import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pushsalt import plugins
from pushsalt.errors import ConfigError, PushsaltError
from pushsalt.files.found import FoundFile, Listing, merged
from pushsalt.salturl import parse_url

if TYPE_CHECKING:
    from pushsalt.git.remotes import Remotes

#: Other names of backends in the configuration -> module name.
BACKEND_NAMES: Final = {"git": "gitfs"}

_SALTENV: Final = re.compile(r"(?!\.{1,2}(?:/|\Z))[^/\0]+(?:/(?!\.{1,2}(?:/|\Z))[^/\0]+)*")


class Backend(Protocol):
    """The object that ``backend(opts)`` of a module in ``backends/`` returns.

    If ``backend`` has a parameter ``remotes``, it gets the command's git remotes. All paths are relative and
    normalized, without ``..``. A backend may also have ``list_folder(folder, saltenv)``, the paths of the files
    directly in a folder, if that is faster than a listing, and ``configured_envs()``, if ``envs`` has more than the
    configured saltenvs.
    """

    def envs(self) -> list[str]: ...
    def find(self, path: str, saltenv: str) -> FoundFile | None: ...
    def listing(self, saltenv: str) -> Listing: ...


class SlsFile(NamedTuple):
    """The file of an SLS. ``is_init``: it is ``x/init.sls``, so that relative includes start in ``x``."""

    file: FoundFile
    is_init: bool


class FileServer:
    """The files of ``opts['file_roots']`` and the other backends. For pillar, ``opts`` has ``pillar_roots`` as
    ``file_roots``.

    ``find`` reads the disk each time; the revisions of git remotes are fixed. Listings are cached: make a new
    FileServer for each run.
    """

    def __init__(
        self, opts: Mapping[str, Any], remotes: Remotes | None = None, backends: Sequence[Backend] | None = None
    ) -> None:
        """``backends`` replaces those of ``fileserver_backend``.

        Raises ConfigError for an unknown backend, or invalid options of one.
        """
        self._configured = [str(saltenv) for saltenv in opts.get("file_roots") or {}]
        self._backends = list(_backends(opts, remotes) if backends is None else backends)
        self._listings: dict[str, Listing] = {}
        self._lock = threading.Lock()

    def envs(self) -> list[str]:
        """All saltenvs: those of ``file_roots`` in their order, then the others, sorted.

        ``__env__``, which stands for any saltenv, is included. The order decides how top files are merged.
        """
        existing = {saltenv for backend in self._backends for saltenv in backend.envs()}
        first = [saltenv for saltenv in self._configured if saltenv in existing]
        return first + sorted(existing.difference(first))

    def configured_envs(self) -> list[str]:
        """The saltenvs of the configuration, without those that come from branches and tags of remotes."""
        more = [backend.configured_envs() for backend in self._backends if hasattr(backend, "configured_envs")]
        return list(dict.fromkeys([*self._configured, *(saltenv for envs in more for saltenv in envs)]))

    def find(self, path: str, saltenv: str = "base") -> FoundFile | None:
        """The file of ``salt://path`` in a saltenv, from the first backend and root that has it.

        ``path`` may be a URL with ``?saltenv=``, which overrides ``saltenv``. None if it does not exist, is not a
        regular file, or is outside of the tree.
        """
        path, saltenv = parse_url(path, saltenv)
        clean = clean_path(path)
        if clean is None or not is_saltenv(saltenv):
            return None
        for backend in self._backends:
            file = backend.find(clean, saltenv)
            if file is not None:
                return file
        return None

    def read(self, path: str, saltenv: str = "base") -> bytes | None:
        """The file's content; None if it does not exist. Raises FileServerError if it cannot be read."""
        file = self.find(path, saltenv)
        return None if file is None else file.read()

    def sls_path(self, sls: str, saltenv: str = "base") -> SlsFile | None:
        """The file of an SLS: for ``a.b``, ``a/b.sls``, else ``a/b/init.sls``."""
        stem = sls.replace(".", "/")
        for path, is_init in ((f"{stem}.sls", False), (f"{stem}/init.sls", True)):
            file = self.find(path, saltenv)
            if file is not None:
                return SlsFile(file, is_init)
        return None

    def list_files(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """Paths that begin with ``prefix``, sorted."""
        return _beginning(self._listing(saltenv).files, prefix)

    def list_folder(self, folder: str, saltenv: str = "base") -> list[str]:
        """The paths of the files directly in a folder, sorted; faster than a listing with some backends."""
        names: set[str] = set()
        for backend in self._backends if is_saltenv(saltenv) else ():
            look = getattr(backend, "list_folder", None)
            paths = look(folder, saltenv) if look else self.list_files(saltenv, f"{folder}/")
            names.update(path for path in paths if posixpath.dirname(path) == folder)
        return sorted(names)

    def list_dirs(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        return _beginning(self._listing(saltenv).dirs, prefix)

    def list_emptydirs(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        return _beginning(self._listing(saltenv).empty_dirs, prefix)

    def symlinks(self, saltenv: str = "base", prefix: str = "") -> dict[str, str]:
        """path -> destination as written, for all symbolic links."""
        links = self._listing(saltenv).links
        return {path: links[path] for path in _beginning(sorted(links), prefix)}

    def list_states(self, saltenv: str = "base") -> list[str]:
        """The names of all SLS files, sorted."""
        names = set()
        for path in self._listing(saltenv).files:
            if path.endswith(".sls"):
                names.add(path.removesuffix(".sls").removesuffix("/init").replace("/", "."))
        return sorted(names)

    def _listing(self, saltenv: str) -> Listing:
        if not is_saltenv(saltenv):
            return Listing()
        with self._lock:
            if saltenv not in self._listings:
                self._listings[saltenv] = merged([backend.listing(saltenv) for backend in self._backends])
            return self._listings[saltenv]


def _backends(opts: Mapping[str, Any], remotes: Remotes | None) -> list[Backend]:
    places = plugins.folders("fileserver", opts)
    backends = {}
    for name in opts.get("fileserver_backend") or ["roots"]:
        own = BACKEND_NAMES.get(str(name), str(name))
        if own in backends:
            continue
        make = plugins.load("fileserver", own, places).backend
        more = {"remotes": remotes} if "remotes" in inspect.signature(make).parameters else {}
        try:
            backends[own] = make(opts, **more)
        except PushsaltError:
            raise
        except (Exception, SystemExit) as exc:  # a user's backend may raise anything
            blamed = plugins.blamed(exc)
            if not blamed:
                raise
            text = f"the file server backend {own} fails: {type(exc).__name__}: {exc}{blamed}"
            raise ConfigError(text, hint="correct the backend's file") from exc
    return list(backends.values())


def clean_path(path: str) -> str | None:
    """``path`` normalized; None if it is absolute, leads upwards or is not a valid path."""
    if "\0" in path or path.startswith("/"):
        return None
    normal = posixpath.normpath(path) if path else ""
    return None if normal in ("", ".") or normal.split("/", 1)[0] == ".." else normal


def is_saltenv(name: str) -> bool:
    """Whether a text is a valid saltenv: it can be the name of a folder, and of a branch (``feature/x``)."""
    return _SALTENV.fullmatch(name) is not None


def _beginning(paths: Sequence[str], prefix: str) -> list[str]:
    prefix = prefix.strip("/")
    first = bisect.bisect_left(paths, prefix)
    names = []
    for path in paths[first:] if first else paths:
        if not path.startswith(prefix):
            break
        names.append(path)
    return names
