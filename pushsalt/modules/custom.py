"""Users' own modules, states, grains, utilities and resource types, which are sent with every job, by digest.

They are in ``_modules``, ``_states``, ``_grains`` and ``_utils`` of the file roots and of each of ``module_dirs``
(there also without the underscore). Precedence: ``module_dirs``, the job's saltenv, base, other saltenvs. A folder with
an ``__init__.py`` is a module with all its files. Resource types are in ``_resources`` likewise, and in installed
distributions; see ``pushsalt.modules.resourcetypes``.
Salt: ``saltutil.sync_all`` and ``salt.loader``.
"""

from __future__ import annotations

import hashlib
import logging
import pprint
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import decode_source
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from pushsalt.bundle import pack
from pushsalt.files.found import FileServerError, disk_file
from pushsalt.model import Blob
from pushsalt.modules import effects, resourcetypes
from pushsalt.modules.declared import marked
from pushsalt.modules.effects import Effect
from pushsalt.trust import may_run_on_controller
from thin.custom import TAGS
from thin.folder import index as index_of

if TYPE_CHECKING:
    from pushsalt.files.found import FoundFile
    from pushsalt.fileserver import FileServer

log = logging.getLogger(__name__)

KINDS = ("modules", "states", "beacons", "grains", "utils", "resources")
#: The source of ``__virtual__``, and the names in its ``return`` statements.
_VIRTUAL = re.compile(r"^def __virtual__\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_RETURNED = re.compile(r"""\breturn\s+["'](\w+)["']""")
_FUNCTION = re.compile(r"^def ([a-zA-Z]\w*)\(", re.MULTILINE)
_PACKAGE = "__init__"
#: Limit of the archive for the characters of a path below the kind's folder.
_LONGEST = 80


@dataclass(frozen=True)
class CustomModule:
    """One file, or one package. ``parts``: path in the archive, below the kind -> content; the module itself first.

    ``virtual`` are the names under which its functions may be called; ``where`` is the file's name for messages.
    """

    kind: str
    name: str
    where: str
    text: str
    parts: Mapping[str, bytes]
    #: whether it has no ``__init__.py``: its files extend a shipped resource type
    extends: bool = False
    #: whether it may run on the controller: false for files of a git remote that may not use the renderer py
    may_run: bool = True

    @cached_property
    def virtual(self) -> list[str]:
        names = list(index_of([(self.name, self.text)]))
        for body in _VIRTUAL.findall(self.text):
            names += _RETURNED.findall(body)
        return list(dict.fromkeys(names))

    @cached_property
    def controller(self) -> frozenset[str]:
        """Names of the functions that it marks with ``__controller__``; none if it may not run on the controller."""
        if not self.may_run:
            return frozenset()
        try:
            return frozenset(marked(self.text))
        except (SyntaxError, ValueError):  # the target reports the error
            return frozenset()

    def of_type(self, kind: str) -> dict[str, str]:
        """File name -> text of a resource type's own files of a kind."""
        texts = {}
        for path, data in self.parts.items():
            words = path.removesuffix(".py").split("/")
            words = words[:-1] if words[-1] == _PACKAGE else words
            if len(words) == 3 and words[1] == kind:
                texts[words[2]] = _text(data)
        return texts

    def mentions(self, word: str) -> bool:
        """Whether the source contains a word: names that are defined at run time cannot be found otherwise."""
        return re.search(rf"\b{re.escape(word)}\b", self.text) is not None


class CustomModules:
    """Users' modules for one saltenv, searched on first use.

    It implements a runtime for ``thin.loader`` too, for functions that run on the controller.
    """

    def __init__(self, files: FileServer, opts: Mapping[str, Any], saltenv: str = "base") -> None:
        self._files = files
        self._opts = opts
        self._saltenv = saltenv
        self._said: set[tuple[str, str]] = set()

    @cached_property
    def by_kind(self) -> Mapping[str, Mapping[str, CustomModule]]:
        """kind -> file name -> module."""
        return {kind: self._of(kind) for kind in KINDS}

    @cached_property
    def _virtual(self) -> Mapping[tuple[str, str], list[CustomModule]]:
        by_name: dict[tuple[str, str], list[CustomModule]] = {}
        for kind, modules in self.by_kind.items():
            for module in modules.values():
                for name in module.virtual:
                    by_name.setdefault((kind, name), []).append(module)
        return by_name

    def called(self, kind: str, virtual: str) -> list[CustomModule]:
        """The modules that may have this virtual name."""
        return self._virtual.get((kind, virtual), [])

    def virtual_names(self, kind: str) -> list[str]:
        return sorted(name for module_kind, name in self._virtual if module_kind == kind)

    def has(self, name: str) -> bool:
        """Whether ``module.function`` may be an execution function of theirs."""
        virtual, _, function = name.partition(".")
        return any(module.mentions(function) for module in self.called("modules", virtual))

    def functions(self, kind: str) -> Iterator[str]:
        """Names of their functions that are defined with ``def``, for suggestions."""
        for module in self.by_kind[kind].values():
            for virtual in module.virtual:
                yield from (f"{virtual}.{name}" for name in _FUNCTION.findall(module.text))

    def on_controller(self, name: str) -> bool:
        """Whether ``module.function`` is a user's function that is marked to run on the controller."""
        virtual, _, function = name.partition(".")
        return any(function in module.controller for module in self.called("modules", virtual))

    def effect(self, name: str) -> Effect | None:
        """The declared effect of ``module.function``, which may be unknown; None if it is no function of users."""
        virtual, _, function = name.partition(".")
        files = self.called("modules", virtual)
        return effects.theirs(((module.where, module.text) for module in files), function)

    @cached_property
    def archive(self) -> Blob | None:
        """The reproducible archive that is sent (see thin/custom.py); None if there are no modules."""
        files, index = [], {}
        for kind, modules in sorted(self.by_kind.items()):
            virtual: dict[str, list[str]] = {}
            for name, module in sorted(modules.items()):
                files += [(f"thin/{kind}/{part}", data) for part, data in sorted(module.parts.items())]
                for virtual_name in module.virtual if not module.extends else ():
                    virtual.setdefault(virtual_name, []).append(name)
                for inner in resourcetypes.INNER if kind == "resources" else ():
                    members = index_of(module.of_type(inner).items())
                    index.update({f"resources.{name}.{inner}": members} if members else {})
            index[kind] = virtual
        if not files:
            return None
        table = f"INDEX = {pprint.pformat(index, width=120)}\n".encode()
        data = pack.archive([("thin/users.py", table), *files])
        return Blob(hashlib.sha256(data).hexdigest(), len(data), data=data)

    # --- the interface of a runtime (``thin.loader``)

    def virtual_index(self, kind: str) -> dict[str, list[str]]:
        """The virtual names of modules for the controller, and of utilities; others are not run here."""
        index: dict[str, list[str]] = {}
        for name, module in sorted(self.by_kind.get(kind, {}).items()):
            for virtual in module.virtual if module.controller or (kind == "utils" and module.may_run) else ():
                index.setdefault(virtual, []).append(name)
        return index

    def names(self, prefix: str) -> list[str]:
        return [f"{prefix}.{name}" for name in sorted(self.by_kind.get(prefix.rpartition(".")[2], ()))]

    def source(self, full: str) -> str:
        return self._named(full).text

    def code(self, full: str) -> CodeType:
        compiled: CodeType = compile(self.source(full), self.path(full), "exec", dont_inherit=True)
        return compiled

    def path(self, full: str) -> str:
        return self._named(full).where

    def is_package(self, full: str) -> bool:
        return len(self._named(full).parts) > 1

    def module_name(self, full: str) -> str:
        _, kind, name = full.split(".", 2)
        return f"salt.loaded.ext.{TAGS.get(kind, kind)}.{name}"

    def _named(self, full: str) -> CustomModule:
        """Load a module that runs on the controller. Raises ImportError."""
        _, kind, name = full.split(".", 2)
        module = self.by_kind[kind].get(name)
        if module is None:
            raise ImportError(f"no module named {full!r}", name=full)
        if not module.may_run:
            raise ImportError(
                f"{module.where} does not run on the controller: its git remote may not use py", name=full
            )
        return module

    # --- files

    def _of(self, kind: str) -> dict[str, CustomModule]:
        allowed = (self._opts.get("extmod_whitelist") or {}).get(kind)
        refused = (self._opts.get("extmod_blacklist") or {}).get(kind) or ()
        modules: dict[str, CustomModule] = {}
        for name, parts in self._candidates(kind):
            if name in modules or not _is_name(name) or (allowed and name not in allowed) or name in refused:
                continue
            first = next(iter(parts.values()))
            if max(map(len, parts)) > _LONGEST:
                log.warning("the module %s is left out: the path of one of its files is too long", first.path)
                continue
            try:
                contents = {path: file.read() for path, file in parts.items()}
                extends = kind == "resources" and f"{name}/{_PACKAGE}.py" not in parts
                text = "" if extends else decode_source(next(iter(contents.values())))
                may_run = all(map(may_run_on_controller, parts.values()))
                modules[name] = CustomModule(kind, name, str(first.path), text, contents, extends, may_run)
            except (FileServerError, SyntaxError, UnicodeDecodeError) as exc:
                log.warning("the module %s is left out: %s", first.path, exc)
        return modules

    def _candidates(self, kind: str) -> Iterator[tuple[str, Mapping[str, FoundFile]]]:
        """(name, files by path below the kind's folder, the module itself first), in the order of precedence."""
        if kind == "resources":
            yield from resourcetypes.in_folders(self._opts.get("module_dirs") or ())
            yield from resourcetypes.in_roots(self._files, self._saltenvs(), self._left_out)
            yield from resourcetypes.installed()
            return
        for top in self._opts.get("module_dirs") or ():
            for folder in (Path(top) / f"_{kind}", Path(top) / kind):
                for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                    inner = sorted(path.rglob("*.py")) if (path / "__init__.py").is_file() else [path]
                    files = ((one.relative_to(folder).as_posix(), disk_file(str(one), one.name)) for one in inner)
                    yield from _module({rel: file for rel, file in files if file is not None})
        for saltenv in self._saltenvs():
            try:
                entries = self._files.list_folder(f"_{kind}", saltenv)
            except FileServerError as exc:
                self._left_out(saltenv, exc)
                continue
            for entry in entries:
                inner_names = [entry] if entry.endswith(".py") else list(self._package(entry, saltenv))
                candidates = ((name, self._files.find(name, saltenv)) for name in inner_names)
                yield from _module({name[len(kind) + 2 :]: file for name, file in candidates if file is not None})

    def _left_out(self, saltenv: str, exc: FileServerError) -> None:
        """Log an unreadable saltenv once, since the reason usually applies to all kinds."""
        if (saltenv, exc.message) not in self._said:
            self._said.add((saltenv, exc.message))
            log.warning("modules and types of users' own in the saltenv %s are left out: %s", saltenv, exc.message)

    def _package(self, folder: str, saltenv: str) -> Iterator[str]:
        """The files of a package of the file roots; none if the folder is not a package."""
        if self._files.find(f"{folder}/{_PACKAGE}.py", saltenv) is None:
            return
        for entry in self._files.list_folder(folder, saltenv):
            if entry.endswith(".py"):
                yield entry
            else:
                yield from self._package(entry, saltenv)

    def _saltenvs(self) -> Iterable[str]:
        # Without saltenvs that only exist as branches of remotes, and are not configured.
        envs = self._files.configured_envs()
        return dict.fromkeys([self._saltenv, "base", *(env for env in envs if env != "__env__")])


def _text(data: bytes) -> str:
    try:
        return decode_source(data)
    except (SyntaxError, UnicodeDecodeError):  # the target reports the error
        return ""


def _is_name(name: str) -> bool:
    return name.isidentifier() and name.isascii() and name != _PACKAGE


def _module(parts: dict[str, FoundFile]) -> Iterator[tuple[str, dict[str, FoundFile]]]:
    """One module from its files by path: ``x.py``, or ``x/__init__.py`` and the other files of the folder."""
    valid = {path: file for path, file in parts.items() if all(map(_part, path.removesuffix(".py").split("/")))}
    valid = {path: file for path, file in valid.items() if path.endswith(".py")}
    if not valid:
        return
    name = next(iter(valid)).split("/")[0].removesuffix(".py")
    head = f"{name}/{_PACKAGE}.py" if f"{name}/{_PACKAGE}.py" in valid else f"{name}.py"
    if head in valid:
        yield name, {head: valid[head], **valid}


def _part(word: str) -> bool:
    return word.isidentifier() and word.isascii()
