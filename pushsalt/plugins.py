"""Finds plug-ins of the controller by kind and name, and loads them on demand.

A plug-in is a Python file; the file's name is that of the plug-in. These places are searched in this order:

1. the folders of ``folders``: ``_<kind>`` or ``<kind>`` below each of ``module_dirs`` and of a master's
   ``extension_modules``, and ``_<kind>`` below each of ``file_roots:base``, which override built-in ones as in Salt;
2. pushsalt's own folder of the kind;
3. entry points of installed distributions, group ``pushsalt.<kind>``: last, so that an installed package cannot replace
``json``, for example. Renderers are an exception: their entry points are searched before pushsalt's folder.

Files are compiled from source each time, without ``__pycache__``.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from pushsalt import regular
from pushsalt.errors import ConfigError, Position
from pushsalt.nearest import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class Kind:
    """A kind of plug-ins. ``package`` is the package of the shipped ones, ``salt`` Salt's name of their folder.

    ``needs``: names that a plug-in must define. ``mixed``: the package has other modules too; plug-ins are those with
    this function. ``installed_first``: entry points override shipped ones. ``every_env``: they are read from all
    saltenvs, as for minions, in the order: the configured one, base, the others.
    """

    package: str
    salt: str
    needs: tuple[str, ...] = ()
    mixed: str = ""
    installed_first: bool = False
    every_env: bool = False


KINDS: Final[Mapping[str, Kind]] = {
    "renderers": Kind("pushsalt.render.renderers", "renderers", ("render",), installed_first=True, every_env=True),
    "matchers": Kind("pushsalt.targeting.matchers", "matchers", ("match", "SOURCE")),
    "outputters": Kind("pushsalt.outputters", "output", ("output",)),
    "transport": Kind("pushsalt.transport", "transport", ("connect",), mixed="connect"),
    "roster": Kind("pushsalt.rosters", "roster", ("targets",)),
    "ext_pillar": Kind("pushsalt.ext_pillar", "pillar", ("ext_pillar",)),
    "tops": Kind("pushsalt.tops", "tops", ("top",)),
    "fileserver": Kind("pushsalt.fileserver.backends", "fileserver", ("backend",)),
    "serializers": Kind("pushsalt.serializers", "serializers", every_env=True),
    "returners": Kind("pushsalt.returners", "returners", mixed="returner"),
    "sdb": Kind("pushsalt.sdb.drivers", "sdb"),
    "sources": Kind("pushsalt.sources", "sources", ("fetch",)),
    "functions": Kind("pushsalt.functions", "wrapper"),
    "runners": Kind("pushsalt.runners", "runners"),
}


def folders(kind: str, opts: Mapping[str, Any]) -> tuple[Path, ...]:
    """The configured folders for plug-ins of this kind. Some may not exist."""
    salt = KINDS[kind].salt
    tops = list(opts.get("module_dirs") or ())
    if opts.get("extension_modules") and not KINDS[kind].every_env:  # a minion's folder has synchronised modules
        tops.append(opts["extension_modules"])
    paths = [Path(top) / name for top in tops for name in (f"_{salt}", salt, f"_{kind}", kind)]
    roots = opts.get("file_roots") or {}
    envs = dict.fromkeys([opts.get("saltenv") or "base", "base", *roots]) if KINDS[kind].every_env else ["base"]
    for saltenv in envs:
        paths += [Path(top) / f"_{salt}" for top in roots.get(saltenv) or ()]
    return tuple(dict.fromkeys(paths))


def names(kind: str, folders: Sequence[Path] = ()) -> list[str]:
    """All names of this kind, sorted. No plug-in is imported, only the package of the shipped ones."""
    stems = {path.stem for folder in folders for path in files(folder)}
    stems.update(_entry_points(kind))
    stems.update(_own(kind))
    return sorted(name for name in stems if not name.startswith("_"))


def files(folder: Path) -> list[Path]:
    """The files of plug-ins in a folder, without lock files of editors and dangling links."""
    paths = sorted(folder.glob("*.py")) if folder.is_dir() else []
    return [path for path in paths if not path.name.startswith(".") and path.is_file()]


def text_of(path: Path) -> str:
    """The text of a plug-in's file. Raises ConfigError."""
    try:
        return regular.read_text(path, "replace")
    except OSError as exc:
        text = f"the plug-in cannot be read: {exc.strerror or exc}"
        raise ConfigError(text, hint="check its permissions, or remove it", where=Position(str(path))) from exc


def load(kind: str, name: str, folders: Sequence[Path] = (), dunders: Mapping[str, Any] | None = None) -> ModuleType:
    """The plug-in's module. Raises ConfigError, with a suggestion, if it is unknown, or if it cannot be loaded.

    With ``dunders`` (Salt's globals that differ by target) a user's file is loaded at each call, with these globals.
    """
    if name.isidentifier() and not name.startswith("_"):
        for folder in folders:
            if (folder / f"{name}.py").is_file():
                return _from_file(kind, folder / f"{name}.py", dunders)
        if KINDS[kind].installed_first and name in _entry_points(kind):
            return _from_entry_point(kind, name, dunders)
        if name in _own(kind):
            return importlib.import_module(f"{KINDS[kind].package}.{name}")
        if name in _entry_points(kind):
            return _from_entry_point(kind, name, dunders)
    available = names(kind, folders)
    near = nearest(name, available, n=3)
    raise ConfigError(
        f"there is no plug-in {name!r} of the kind {kind}",
        hint=f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(available) or 'none'}",
    )


def load_file(kind: str, path: Path, dunders: Mapping[str, Any] | None = None) -> ModuleType:
    """The plug-in in that file. Raises ConfigError when it cannot be loaded."""
    return _from_file(kind, path, dunders)


def own(kind: str) -> frozenset[str]:
    """The names of shipped plug-ins."""
    return _own(kind)


def installed(kind: str) -> list[str]:
    """The names of entry points."""
    return sorted(_entry_points(kind))


def installed_file(kind: str, name: str) -> Path | None:
    """The file of an entry point, whose package is imported, but not the module. None if it is not a Python file."""
    from importlib.util import find_spec

    try:
        spec = find_spec(_entry_points(kind)[name].module)
    except (Exception, SystemExit):  # loading it reports the error
        return None
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None


def place_of(module: ModuleType, exc: BaseException) -> Position | None:
    """The position in a plug-in's file at which an exception was raised; None if it was raised elsewhere."""
    path = Path(module.__file__ or "")
    line = _line_of(exc, path)
    return None if line is None else Position(str(path), line)


def blamed(exc: BaseException) -> str:
    """``" (path:line)"`` in the user's plug-in file that raised the exception; empty if none did."""
    place, trace = "", exc.__traceback__
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__") or "")
        if name.startswith("pushsalt_plugins.") or name in _installed_modules:
            place = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place


#: names of modules that were loaded by entry points
_installed_modules: set[str] = set()

_VIRTUAL_NAME: Final = re.compile(r"^__virtualname__\s*=\s*[\"'](\w+)[\"']", re.MULTILINE)


def own_files(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Users' files that may be this plug-in: by their ``__virtualname__``, else by the file's name."""
    for folder in folders if name.isidentifier() and not name.startswith("_") else ():
        yield from (path for path in files(folder) if virtual_name(path) == name)


def virtual_name(path: Path) -> str:
    """The ``__virtualname__`` of a file, else its own name."""
    virtual = _VIRTUAL_NAME.search(text_of(path))
    return virtual.group(1) if virtual else path.stem


def is_virtual(module: ModuleType, name: str) -> bool:
    """Whether a module's ``__virtual__`` allows this name. Raises ConfigError if it fails."""
    try:
        verdict = module.__virtual__() if hasattr(module, "__virtual__") else True
    except (Exception, SystemExit) as exc:  # a user's file may raise anything
        text = f"__virtual__ of the plug-in fails: {type(exc).__name__}: {exc}"
        where = place_of(module, exc) or Position(str(module.__file__))
        raise ConfigError(text, hint="correct the file", where=where) from exc
    if isinstance(verdict, tuple):
        verdict = verdict[0]
    return verdict is True or verdict == name


def load_virtual(kind: str, name: str, folders: Sequence[Path], dunders: Mapping[str, Any]) -> ModuleType | None:
    """As ``load``, but users' files whose ``__virtual__`` returns false are skipped, as by Salt's loader.

    None for an unknown name. Raises ConfigError if a file cannot be loaded.
    """
    for path in own_files(name, folders):
        module = _from_file(kind, path, dunders, whole=False)
        if is_virtual(module, name):  # otherwise required names are not checked
            _check(kind, module)
            return module
    return load(kind, name, dunders=dunders) if name in names(kind) else None


@cache
def _own(kind: str) -> frozenset[str]:
    package = importlib.import_module(KINDS[kind].package)
    modules = frozenset(module.name for module in pkgutil.iter_modules(package.__path__))
    if not KINDS[kind].mixed:
        return modules
    word = f"def {KINDS[kind].mixed}("
    files = {name: Path(folder, f"{name}.py") for folder in package.__path__ for name in modules}
    return frozenset(name for name, path in files.items() if path.is_file() and word in path.read_text("utf-8"))


@cache
def _entry_points(kind: str) -> Mapping[str, EntryPoint]:
    if not mentioned(f"pushsalt.{kind}"):
        return {}
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=f"pushsalt.{kind}")}


def forget_installed() -> None:
    """Clear the cached entry points: distributions may be installed before a fork of this process runs."""
    _entry_points.cache_clear()


def mentioned(*groups: str) -> bool:
    """Whether an installed distribution may have entry points of this group; ten times as fast as
    importlib.metadata.
    """
    for folder in dict.fromkeys(sys.path):
        installed = _groups(folder, _changed(folder))
        if installed is None or not installed.isdisjoint(groups):
            return True
    return False


_GROUP: Final = re.compile(rb"^\s*\[\s*([\w.]+)\s*\]", re.MULTILINE)


def _changed(folder: str) -> int:
    """The time of the last change of a folder, in nanoseconds: a distribution was installed or removed then."""
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - half the time
    except OSError:
        return 0


@cache
def _groups(folder: str, changed: int) -> frozenset[str] | None:
    """All groups of entry points in a folder, read once; None if only importlib.metadata can read them.

    ``changed``: the time of its last change.
    """
    groups: set[str] = set()
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 - half the time
    except NotADirectoryError:  # a zip
        return None
    except OSError:
        return frozenset()
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                text = regular.read_bytes(Path(folder, name, "entry_points.txt"))
            except OSError:
                continue
            groups.update(group.decode() for group in _GROUP.findall(text))
    return frozenset(groups)


def _from_entry_point(kind: str, name: str, dunders: Mapping[str, Any] | None = None) -> ModuleType:
    """The module of an entry point; with ``dunders`` its file is loaded at each call, like one in a folder."""
    point = _entry_points(kind)[name]
    file = installed_file(kind, name) if dunders is not None else None
    if file is not None:
        return _from_file(kind, file, dunders)
    try:
        module = point.load()
    except (Exception, SystemExit) as exc:  # an installed plug-in's import may raise anything
        file = installed_file(kind, name)
        line = _line_of(exc, file) if file is not None else None
        raise ConfigError(
            f"the plug-in {name!r} ({point.value}) cannot be loaded: {type(exc).__name__}: {exc}",
            hint="reinstall or remove the distribution that provides it",
            where=Position(str(file), line) if line is not None else None,
        ) from exc
    if not isinstance(module, ModuleType):
        raise ConfigError(f"the plug-in {name!r} ({point.value}) is not a module", hint="its entry point must be one")
    _check(kind, module)
    _installed_modules.add(module.__name__)
    return module


def _check(kind: str, module: ModuleType) -> None:
    missing = [name for name in KINDS[kind].needs if not hasattr(module, name)]
    if missing:
        raise ConfigError(
            f"the plug-in cannot be loaded: it has no `{missing[0]}`, which the kind {kind} requires",
            hint="docs/extending.md lists what each kind must define",
            where=Position(str(module.__file__)),
        )


_files: dict[tuple[Path, int, int], ModuleType] = {}


def _from_file(kind: str, path: Path, dunders: Mapping[str, Any] | None = None, *, whole: bool = True) -> ModuleType:
    """Load a file. ``whole``: check that it defines the names that its kind requires."""
    path = path.resolve()
    status = path.stat()
    key = (path, status.st_mtime_ns, status.st_size)
    if dunders is None and key in _files:
        return _files[key]
    from thin import compat

    compat.install()  # `salt.*`, unless real Salt is installed
    # the folder is a part of the name: two projects in one process may both have a plug-in of this name
    folder = hashlib.sha256(os.fsencode(path.parent)).hexdigest()[:12]
    module = ModuleType(f"pushsalt_plugins.{kind}.{folder}.{path.stem}")
    module.__file__ = str(path)
    module.__dict__.update(dunders or {})
    try:
        exec(compile(regular.read_bytes(path), str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except (Exception, SystemExit) as exc:  # a user's file may raise anything
        raise ConfigError(
            f"the plug-in cannot be loaded: {type(exc).__name__}: {exc}",
            hint="correct the file, or remove it from the plug-ins' folder",
            where=Position(str(path), _line_of(exc, path)),
        ) from exc
    for dunder, value in (dunders or {}).items():  # override those of the file; its __opts__ are defaults
        own = module.__dict__.get(dunder)
        both = dunder == "__opts__" and own is not value and isinstance(own, Mapping)
        module.__dict__[dunder] = {**own, **value} if both and own is not None else value
    if whole:
        _check(kind, module)
    if dunders is None:
        sys.modules[module.__name__] = module  # for pickle
        _files[key] = module
    return module


def _line_of(exc: BaseException, path: Path) -> int | None:
    """The line in this file at which the exception was raised."""
    if isinstance(exc, SyntaxError) and exc.filename == str(path):
        return exc.lineno
    line, trace = None, exc.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
