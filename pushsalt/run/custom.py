"""Users' own execution modules, states, grains and utilities: they travel with every job, by digest.

They lie in ``_modules``, ``_states``, ``_grains`` and ``_utils`` of the file roots and of each of ``module_dirs``
(there also without the underscore). ``module_dirs`` come first, then the job's saltenv, then base, then the others;
the first file of a name is the one. Salt: ``saltutil.sync_all`` and ``salt.loader``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.fileserver import FileServerError, disk_file
from pushsalt.model import Blob
from thin import runtime

if TYPE_CHECKING:
    from pushsalt.fileserver import FileServer, FoundFile

log = logging.getLogger(__name__)

KINDS = ("modules", "states", "grains", "utils")
#: What stands in ``__virtual__``, to its end; and the names that it can return.
_VIRTUAL = re.compile(r"^def __virtual__\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_RETURNED = re.compile(r"""\breturn\s+["'](\w+)["']""")


@dataclass(frozen=True)
class CustomModule:
    """One file. ``virtual`` are the names that its functions may be called by."""

    kind: str
    name: str
    file: FoundFile
    text: str

    @property
    def virtual(self) -> list[str]:
        names = list(runtime.index([(self.name, self.text)]))
        for body in _VIRTUAL.findall(self.text):
            names += _RETURNED.findall(body)
        return list(dict.fromkeys(names))

    def mentions(self, word: str) -> bool:
        """Whether a word stands in the file at all: whoever wants to know more has to run it."""
        return re.search(rf"\b{re.escape(word)}\b", self.text) is not None


class CustomModules:
    """All of them for one saltenv. What lies there is looked at when it is first asked for."""

    def __init__(self, files: FileServer, opts: Mapping[str, Any], saltenv: str = "base") -> None:
        self._files = files
        self._opts = opts
        self._saltenv = saltenv

    @cached_property
    def by_kind(self) -> Mapping[str, Mapping[str, CustomModule]]:
        """kind -> file name -> module."""
        return {kind: self._of(kind) for kind in KINDS}

    @cached_property
    def _virtual(self) -> Mapping[tuple[str, str], list[CustomModule]]:
        found: dict[tuple[str, str], list[CustomModule]] = {}
        for kind, modules in self.by_kind.items():
            for module in modules.values():
                for name in module.virtual:
                    found.setdefault((kind, name), []).append(module)
        return found

    def called(self, kind: str, virtual: str) -> list[CustomModule]:
        """The modules that may have this virtual name."""
        return self._virtual.get((kind, virtual), [])

    def virtual_names(self, kind: str) -> list[str]:
        return sorted(name for known, name in self._virtual if known == kind)

    def has(self, name: str) -> bool:
        """Whether ``module.function`` may be an execution function of theirs."""
        virtual, _, function = name.partition(".")
        return any(module.mentions(function) for module in self.called("modules", virtual))

    def index(self) -> dict[str, dict[str, Any]]:
        """What a target is told of them; see thin/custom.py."""
        return {
            kind: {name: {"digest": one.file.digest(), "virtual": one.virtual} for name, one in modules.items()}
            for kind, modules in self.by_kind.items()
            if modules
        }

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a target that wants one file; what it may ask for stands in the index."""
        modules = self.by_kind.get(str(question.get("kind")), {})
        one = modules.get(str(question.get("name")))
        if one is None:
            return {"error": "there is no such module", "exception": "ImportError"}
        digest = one.file.digest()
        return {"digest": digest, "blob": Blob(digest, one.file.size, path=one.file.path)}

    def _of(self, kind: str) -> dict[str, CustomModule]:
        allowed = (self._opts.get("extmod_whitelist") or {}).get(kind)
        found: dict[str, CustomModule] = {}
        for name, file in self._candidates(kind):
            if name in found or not name.isidentifier() or (allowed and name not in allowed):
                continue
            try:
                found[name] = CustomModule(kind, name, file, file.read().decode("utf-8"))
            except (FileServerError, UnicodeDecodeError) as exc:
                log.warning("the module %s is left out: %s", file.path, exc)
        return found

    def _candidates(self, kind: str) -> Iterator[tuple[str, FoundFile]]:
        for top in self._opts.get("module_dirs") or ():
            for folder in (Path(top) / f"_{kind}", Path(top) / kind):
                for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
                    file = disk_file(str(path), path.name)
                    if file is not None:
                        yield path.stem, file
        for saltenv in self._saltenvs():
            for path_in_tree in self._files.list_folder(f"_{kind}", saltenv):
                if path_in_tree.endswith(".py"):
                    found = self._files.find(path_in_tree, saltenv)
                    if found is not None:
                        yield path_in_tree.rpartition("/")[2].removesuffix(".py"), found

    def _saltenvs(self) -> Iterable[str]:
        return dict.fromkeys([self._saltenv, "base", *(env for env in self._files.envs() if env != "__env__")])
