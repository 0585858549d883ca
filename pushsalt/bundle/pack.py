"""The runtime archives: the package ``thin`` as two reproducible tars.

Every target gets the first: the code that runs modules, and the modules that most runs need (marked ``__usual__ =
True``), with their imports. The other has the rest; a target asks for it when it first needs one of its files, and
stores it like the first.

Plain ustar: files only, in a fixed order, without owners or times. The first member is
``thin/store.py``: the first stage reads it from its fixed place to access the others. ``thin/_index.py`` is made here;
it has the virtual names of all modules (see ``thin.runtime.index``), so that a target need not read all files, and the
names of the files in the other archive.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path

from thin import runtime

#: The folder of the ``thin`` package that is sent.
THIN = Path(runtime.__file__).resolve().parent
FIRST = "thin/store.py"
#: Sent as the program of the first stage, not as a part of the archive.
_APART = {"thin/boot.py", "thin/coldstart.py"}
_EXTRA = ("COPYING",)
#: Folders whose files are divided between the two archives.
APART = ("modules", "states", "beacons", "utils", "resources")
#: Kinds of modules that the loader executes, and that may declare their systems (``__fits__``).
LOADED = ("modules", "states")
_IMPORT = re.compile(r"^ *from (thin[\w.]*) import +(\([^)]*\)|[^\n#]+)|^ *import (thin[\w.]+)", re.MULTILINE)
_USUAL = re.compile(r"^__usual__ = True$", re.MULTILINE)


def members(root: Path = THIN) -> list[tuple[str, Path]]:
    """(name in the archive, path) of each file that is sent, in the archive's order."""
    found = ((name, Path(entry.path)) for name, entry in _travelling(str(root), "thin/") if name not in _APART)
    return sorted(found, key=lambda item: (item[0] != FIRST, item[0]))


def fingerprint(root: Path = THIN) -> str:
    """A text that changes whenever a file that is sent, or the program that starts it, may have changed. Needs one
    ``stat`` per file.
    """
    lines = [str(root)]
    for name, entry in sorted(_travelling(str(root), "thin/"), key=itemgetter(0)):
        found = entry.stat()
        lines.append(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _travelling(folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """(name, entry) of the files below a folder that are code or that code needs."""
    with os.scandir(folder) as entries:
        for entry in entries:
            stem, dot, kind = entry.name.partition(".")
            if (
                not dot
                and entry.name.isidentifier()
                and entry.name != "__pycache__"
                and entry.is_dir(follow_symlinks=False)
            ):
                yield from _travelling(entry.path, f"{prefix}{entry.name}/")
            elif (kind == "py" and stem.isidentifier()) or entry.name in _EXTRA:
                yield f"{prefix}{entry.name}", entry


def build(root: Path = THIN) -> tuple[bytes, bytes]:
    """The bytes of both archives. Their names are their SHA-256; the first archive contains the name of the other."""
    from pushsalt.bundle.shorten import shortened  # imported late: needed once per version of the runtime

    contents = {name: path.read_bytes() for name, path in members(root)}
    first = usual(contents)
    contents = {
        name: shortened(name, data.decode()).encode() if name.endswith(".py") else data
        for name, data in contents.items()
    }
    more = archive((name, data) for name, data in contents.items() if name not in first)
    travelling = zlib.compress(more, 9)
    apart = sorted(_dotted(name) for name in contents if name.endswith(".py") and name not in first)
    packages = [name.removesuffix(".__init__") for name in apart if name.endswith(".__init__")]
    table = {
        "sha": hashlib.sha256(more).hexdigest(),
        "size": len(more),
        "digest": hashlib.sha256(travelling).hexdigest(),
        "names": " ".join(name.removesuffix(".__init__") for name in apart),
        "packages": " ".join(packages),
    }
    index = _index(contents, first) + f"MORE = {_literal(table)}\n".encode()
    files = [(name, data) for name, data in contents.items() if name in first]
    return archive([*files, ("thin/_index.py", index)]), travelling


def usual(contents: Mapping[str, bytes]) -> set[str]:
    """The names of the files that every target gets."""
    first = {name for name in contents if name.split("/")[1] not in APART}
    first |= {name for name in contents if name.split("/")[1] in LOADED and _USUAL.search(contents[name].decode())}
    first |= {name for name in contents if name.startswith("thin/") and name.endswith("/__init__.py")}
    first -= {name for name in first if name.startswith("thin/resources/") and name.count("/") > 2}
    todo = sorted(first & contents.keys())
    first = set(todo)
    while todo:
        name = todo.pop()
        if name.endswith(".py"):
            found = {one for one in imports(contents[name].decode()) if one in contents} - first
            first |= found
            todo += found
    return first


def imports(text: str) -> Iterator[str]:
    """Names of files that a source text may import, also inside functions."""
    for package, words, module in _IMPORT.findall(text):
        base = (package or module).replace(".", "/")
        yield f"{base}.py"
        yield from (f"{base}/{word}.py" for word in re.findall(r"\w+", words))


def _dotted(name: str) -> str:
    return name.removesuffix(".py").replace("/", ".")


def archive(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive of these files (name, content), in their order. Raises ValueError for a name that is too long."""
    import tarfile  # imported late: needed once per version of the runtime, or of users' modules

    pieces = []
    for name, data in files:
        if len(name) > tarfile.LENGTH_NAME:  # the target does not support ustar's prefix field
            raise ValueError(f"{name}: the name is too long for the archive")
        member = tarfile.TarInfo(name)
        member.size = len(data)
        pieces += [member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict"), data, bytes(-len(data) % tarfile.BLOCKSIZE)]
    return b"".join([*pieces, bytes(2 * tarfile.BLOCKSIZE)])


def _index(contents: Mapping[str, bytes], first: set[str]) -> bytes:
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name in contents:
        path = name.split("/")[1:]
        depth = 3 if path[0] == "resources" and len(path) > 3 else 1  # resources/TYPE/modules is a separate kind
        module = [part.removesuffix(".py") for part in path[depth:] if part != "__init__.py"]
        if len(module) == 1 and (path[-1] == "__init__.py" or len(path) == depth + 1):
            kinds.setdefault(".".join(path[:depth]), []).append((module[0], contents[name].decode()))
    table = {
        kind: {virtual: _by_use(stems, kind, first) for virtual, stems in runtime.index(found).items()}
        for kind, found in sorted(kinds.items())
        if kind != "vendor"
    }
    fits = {kind: runtime.fit_index(found) for kind, found in sorted(kinds.items()) if kind in LOADED}
    text = '"""Made by pushsalt.bundle.pack."""\n\n'
    for word, value in (("INDEX", table), ("FITS", fits)):
        text += f"{word} = {_literal(value)}\n"
    return text.encode()


def _by_use(stems: list[str], kind: str, first: set[str]) -> list[str]:
    """File names sorted, those that every target gets before the others."""
    return sorted(stems, key=lambda stem: (f"thin/{kind}/{stem}.py" not in first, stem))


def _literal(value: object) -> str:
    from pprint import pformat

    return pformat(value, width=120)
