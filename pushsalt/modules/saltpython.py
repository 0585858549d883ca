"""Salt's own modules, for functions that pushsalt lacks: the option ``salt_python`` names a Python with real Salt.

On the controller that Python only runs a small program, which prints the folders of Salt, its extensions
(``saltext.*``) and required distributions. Their files are read as text, to find functions, arguments and imports. A
target gets the files of a module and of its imports, each by its digest, and runs it with its own Python; see
thin/saltown.py.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import regular
from pushsalt.errors import ConfigError
from pushsalt.model import Blob
from pushsalt.modules import pysource
from pushsalt.modules.custom import CustomModule
from pushsalt.modules.definitions import ANYTHING, defined

if TYPE_CHECKING:
    from pushsalt.cache.store import Bank
    from pushsalt.compile.source import ArgSpec

log = logging.getLogger(__name__)

#: Kinds of modules that are used, and Salt's folders of them.
KINDS: Final = ("modules", "states", "utils")
#: Modules that are replaced on targets: the loaders of thin.loader are used instead of LazyLoaders.
REPLACED: Final = ("salt.loader",)
_TIMEOUT: Final = 60

#: The small program, for any Python that Salt supports; prints its result as JSON.
_PROBE: Final = r"""
import importlib.metadata as metadata, importlib.util as util, json, os, re, sys

def place(name):
    spec = util.find_spec(name)
    if spec is None:
        return None
    return list(spec.submodule_search_locations)[0] if spec.submodule_search_locations else spec.origin

def least(dist):
    found = re.search(r">=\s*(\d+)\.(\d+)", dist.metadata.get("Requires-Python") or "")
    return [int(part) for part in found.groups()] if found else [3, 6]

salt = place("salt")
if salt is None:
    print(json.dumps({}))
    sys.exit()
points = metadata.entry_points()
points = points.select(group="salt.loader") if hasattr(points, "select") else points.get("salt.loader", [])
dists, todo = {}, ["salt"] + [point.dist.metadata["Name"] for point in points if getattr(point, "dist", None)]
while todo:
    name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
    if name in dists:
        continue
    try:
        dist = dists[name] = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        continue
    todo += [re.match(r"[\w.-]+", text).group() for text in dist.requires or () if "extra ==" not in text]
tops = {}
for dist in dists.values():
    for file in dist.files or ():
        first = file.parts[0]
        native = file.suffix in (".so", ".pyd")
        top = first.partition(".")[0] if len(file.parts) == 1 else first
        if not top.isidentifier() or (len(file.parts) == 1 and not (native or first.endswith(".py"))):
            continue
        known = tops.setdefault(top, [str(dist.locate_file(first)), False, least(dist)])
        known[1] = known[1] or native
tops["salt"] = [salt, False, least(dists["salt"]) if "salt" in dists else [3, 6]]
more = []
for point in points:
    base = point.value.partition(":")[0]
    while base:
        found = place(base)
        if found and os.path.isdir(found):
            more.append([base, found])
            break
        base = base.rpartition(".")[0]
version = dists["salt"].version if "salt" in dists else ""
print(json.dumps({"version": version, "prefix": sys.prefix, "python": list(sys.version_info[:2]), "tops": tops,
                  "more": more}))
"""


@dataclass(frozen=True)
class File:
    """A Python file: ``name`` is its dotted name, ``package`` whether it is an ``__init__.py``."""

    name: str
    path: str
    package: bool


class SaltPython:
    """The real Salt of one Python, read on first use.

    The first method that is called raises ConfigError if it is no Python, has no Salt, or is pushsalt's own Python.
    """

    def __init__(self, python: str, bank: Bank) -> None:
        self.python = python
        self._bank = bank
        self._files: dict[str, File | None] = {}
        self._digests: dict[str, Blob] = {}
        self._lock = threading.RLock()

    @cached_property
    def probed(self) -> dict[str, Any]:
        """The output of the probe, a program that this Python runs."""
        try:
            status = os.stat(self.python)  # noqa: PTH116
            mark = f"probe {self.python} {status.st_ino} {status.st_mtime_ns} {_newest(self.python)}"
        except OSError as exc:
            raise self._unusable(exc.strerror or str(exc)) from None
        kept = self._bank.get(mark)
        if isinstance(kept, dict):
            return kept
        try:
            done = subprocess.run(
                [self.python, "-I", "-c", _PROBE],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                check=False,
            )
            data: dict[str, Any] = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired) as exc:
            raise self._unusable(f"it does not run as a Python: {exc}") from exc
        if not data:
            raise self._unusable("it has no Salt")
        if data["prefix"] == sys.prefix:
            raise self._unusable("it is pushsalt's own")
        self._bank.put(mark, data)
        return data

    def _unusable(self, why: str) -> ConfigError:
        return ConfigError(
            f"salt_python: {self.python}: {why}",
            hint="name the Python of a virtual environment of its own that has Salt: /opt/salt/bin/python",
        )

    @property
    def version(self) -> str:
        return str(self.probed["version"])

    def start_fields(self) -> dict[str, Any]:
        """The fields for a target at the start of a session."""
        return {"version": self.version, "python": self.probed["tops"]["salt"][2]}

    # --- functions

    def files(self, kind: str, virtual: str) -> list[CustomModule]:
        """Salt's modules that may have this virtual name."""
        return [self._read(kind, File(*entry)) for entry in self._index.get(kind, {}).get(virtual, ())]

    def spec(self, kind: str, name: str) -> ArgSpec | None:
        """The signature of ``module.function``, or None for an unknown one."""
        virtual, _, function = name.partition(".")
        for one in self.files(kind, virtual):
            functions = defined(one.text)
            spec = functions.get(function) or functions.get(function + "_")
            if spec is not None or _is_assigned(one.text, function):
                return spec or ANYTHING
        return None

    def has(self, name: str) -> bool:
        """Whether ``module.function`` is an execution function of Salt's."""
        function = name.partition(".")[2]
        return bool(function) and not function.startswith("_") and self.spec("modules", name) is not None

    def names(self, kind: str) -> Iterator[str]:
        """The virtual names of all its modules."""
        yield from self._index.get(kind, ())

    @cached_property
    def _index(self) -> Mapping[str, Mapping[str, list[list[Any]]]]:
        """kind -> virtual name -> [name, path, package] of the files."""
        places = [("salt", self.probed["tops"]["salt"][0]), *((base, path) for base, path in self.probed["more"])]
        stamps = [f"{path}/{kind} {_mtime(f'{path}/{kind}')}" for _, path in places for kind in KINDS]
        key = f"index {self.version} {stamps!r}"
        kept = self._bank.get(key)
        if isinstance(kept, dict):
            return kept
        index: dict[str, dict[str, list[list[Any]]]] = {kind: {} for kind in KINDS}
        for base, path in places:
            for kind in KINDS:
                for file in _files_in(Path(path) / kind, f"{base}.{kind}"):
                    for virtual in self._read(kind, file).virtual:
                        index[kind].setdefault(virtual, []).append([file.name, file.path, file.package])
        self._bank.put(key, index)
        return index

    def _read(self, kind: str, file: File) -> CustomModule:
        text = regular.read_text(file.path, "replace")
        return CustomModule(kind, file.name.rpartition(".")[2], file.path, text, {})

    # --- answers to targets

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the answer to a target's question of the kind ``salt`` (see thin/wire.py)."""
        with self._lock:
            match question:
                case {"module": [str(kind), str(virtual)]}:
                    return self._module(kind, virtual)
                case {"import": str(name)}:
                    return {"files": self._closure([name]), "native": self._is_native(name)}
                case {"digests": list(wanted)}:
                    blobs = [(self._digests[digest], part) for digest, part in wanted if digest in self._digests]
                    return {"digests": [blob.digest for blob, _ in blobs], "blobs": blobs}
        return {"error": "not a question about Salt's modules", "exception": "SaltException"}

    def _module(self, kind: str, virtual: str) -> dict[str, Any]:
        files = [File(*entry) for entry in self._index.get(kind, {}).get(virtual, ())]
        functions = set()
        for file in files:
            text = self._read(kind, file).text
            functions |= {name.rstrip("_") for name in defined(text)} | set(_ASSIGNED.findall(text))
        return {
            "modules": [file.name for file in files],
            "functions": sorted(name for name in functions if not name.startswith("_")),
            "files": self._closure([file.name for file in files]),
            "tops": {name: [native, least] for name, (_, native, least) in self.probed["tops"].items()},
        }

    def _closure(self, names: Iterable[str]) -> list[list[Any]]:
        """``[name, package, digest, bytes]`` of these modules and of all that they import when they are loaded."""
        seen: dict[str, File] = {}
        todo = list(names)
        while todo:
            name = todo.pop()
            parts = name.split(".")
            for count in range(1, len(parts) + 1):
                part = ".".join(parts[:count])
                file = self._file(part)
                if file is None:
                    break
                if part not in seen and not part.startswith(REPLACED):
                    seen[part] = file
                    todo += self._imports(file)
        entries = []
        for name, file in seen.items():
            data = regular.read_bytes(file.path) if file.path else b""
            digest = hashlib.sha256(data).hexdigest()
            self._digests.setdefault(digest, Blob(digest, len(data), data=data))
            entries.append([name, file.package, digest, len(data)])
        return entries

    def _file(self, name: str) -> File | None:
        """The file of a dotted module name within Salt and its requirements; a namespace package has no path."""
        if name not in self._files:
            self._files[name] = self._look(name)
        return self._files[name]

    def _look(self, name: str) -> File | None:
        parts = name.split(".")
        top = self.probed["tops"].get(parts[0])
        if top is None or not all(part.isidentifier() for part in parts):
            return None
        if len(parts) == 1 and top[0].endswith(".py"):
            return File(name, top[0], False)
        base = Path(top[0], *parts[1:])
        if (base / "__init__.py").is_file():
            return File(name, str(base / "__init__.py"), True)
        if len(parts) > 1 and base.with_name(base.name + ".py").is_file():
            return File(name, str(base) + ".py", False)
        return File(name, "", True) if base.is_dir() else None

    def _is_native(self, name: str) -> bool:
        """Whether this module exists only as a C extension."""
        parts = name.split(".")
        top = self.probed["tops"].get(parts[0])
        if top is None or self._file(name) is not None or not all(part.isidentifier() for part in parts):
            return False
        base = Path(top[0], *parts[1:])
        return any(base.parent.glob(f"{base.name}.*so"))

    def _imports(self, file: File) -> list[str]:
        if not file.path:
            return []
        status = os.stat(file.path)  # noqa: PTH116
        key = f"imports {file.path} {status.st_size} {status.st_mtime_ns}"
        kept = self._bank.get(key)
        if isinstance(kept, list):
            return [str(name) for name in kept]
        try:
            tree = pysource.parse(regular.read_text(file.path, "replace"))
        except (SyntaxError, ValueError):
            return []
        package = file.name if file.package else file.name.rpartition(".")[0]
        imports = list(dict.fromkeys(_imported(tree.body, package)))
        self._bank.put(key, imports)
        return imports


_ASSIGNED: Final = re.compile(r"^([a-zA-Z]\w*) = [\w.]+\(", re.MULTILINE)


def _is_assigned(text: str, name: str) -> bool:
    return not name.startswith("_") and name in _ASSIGNED.findall(text)


def _imported(body: Iterable[ast.stmt], package: str) -> Iterator[str]:
    """The names in imports that run when the file is loaded; they may be modules."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Try):
            for part in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                yield from _imported(part, package)
        elif isinstance(node, ast.If | ast.With):
            yield from _imported([*node.body, *getattr(node, "orelse", ())], package)


def _files_in(folder: Path, base: str) -> Iterator[File]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix == ".py" and path.stem != "__init__" and path.stem.isidentifier():
            yield File(f"{base}.{path.stem}", str(path), False)
        elif path.name.isidentifier() and (path / "__init__.py").is_file():
            yield File(f"{base}.{path.name}", str(path / "__init__.py"), True)


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0


def _newest(python: str) -> int:
    """The time of the last installation into this Python."""
    libs = Path(python).parent.parent.glob("lib/python3*/site-packages")
    return max((_mtime(str(path)) for path in libs), default=0)
