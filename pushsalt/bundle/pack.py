"""The runtime archives: the package ``thin`` as reproducible tars.

A target gets the first archive of its family, and a pack when it first needs one of its files (pushsalt.bundle.contents
decides which file is where). It keeps both.

Plain ustar: files only, in a fixed order, without owners or times. The first member of a first archive is
``thin/store.py``: the first stage reads it from its fixed place to access the others. Two files are made here:
``thin/_index.py`` has the virtual names of all modules (see ``thin.folder.index``), so that a target need not read all
files, and the defaults of options, which need not be sent; ``thin/_packs.py`` has the packs with the names of their
files.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from pushsalt.bundle.contents import FAMILIES, LOADED, Contents, Tree
from pushsalt.options import TARGET_DEFAULTS
from thin import folder, runtime

#: The folder of the ``thin`` package that is sent.
THIN = Path(runtime.__file__).resolve().parent
FIRST = "thin/store.py"
#: Not in the archive: the program of the first stage, and what only the controller uses.
_APART = {"thin/warmstart.py", "thin/coldstart.py", "thin/folder.py"}
_EXTRA = ("COPYING",)


@dataclass(frozen=True)
class Archive:
    """``data``: the archive as it travels, zlib-compressed; ``sha`` and ``size`` of the tar."""

    sha: str
    size: int
    data: bytes


@dataclass(frozen=True)
class Built:
    """The first archives by family; the packs by the SHA-256 of their data."""

    firsts: Mapping[str, Archive]
    packs: Mapping[str, bytes]


def members(root: Path = THIN) -> list[tuple[str, Path]]:
    """(name in the archive, path) of each file that is sent, in the archive's order."""
    files = ((name, Path(entry.path)) for name, entry in _travelling(str(root), "thin/") if name not in _APART)
    return sorted(files, key=lambda item: (item[0] != FIRST, item[0]))


def fingerprint(root: Path = THIN) -> str:
    """A text that changes whenever a file that is sent, the program that starts it, or a default of an option may have
    changed. Needs one ``stat`` per file.
    """
    lines = [str(root), repr(TARGET_DEFAULTS)]
    for name, entry in sorted(_travelling(str(root), "thin/"), key=itemgetter(0)):
        status = entry.stat()
        lines.append(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}")
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


def build(root: Path = THIN) -> Built:
    """All archives. Every first archive names the packs by their digests."""
    from pushsalt.bundle.shorten import shortened  # this is done once per version of the runtime

    contents = {name: path.read_bytes() for name, path in members(root)}
    tree = Tree(contents)
    firsts = {family: tree.first(grains) for family, grains in FAMILIES.items()}
    common = set.intersection(*firsts.values())
    sent = {
        name: shortened(name, data.decode()).encode() if name.endswith(".py") else data
        for name, data in contents.items()
    }
    packs, tables = {}, []
    for names in tree.packs(common).values():
        data = zlib.compress(archive((name, sent[name]) for name in sorted(names)), 9)
        digest = hashlib.sha256(data).hexdigest()
        packs[digest] = data
        tables.append((digest, len(data), " ".join(sorted(map(_dotted, names)))))
    tables.sort(key=itemgetter(1))  # a file that is in several packs comes with the smallest
    archives = {
        "thin/_index.py": _index(contents, tree.usual),
        "thin/_packs.py": _module(PACKS=tables, PACKAGES=sorted(_packages(set(contents) - common))),
    }
    return Built(_firsts({**sent, **archives}, firsts, [*(name for name in sent if name in common), *archives]), packs)


def _firsts(sent: Contents, firsts: Mapping[str, set[str]], common: list[str]) -> dict[str, Archive]:
    """The first archives. All begin with the ``common`` files, which are compressed once."""
    tar = _blocks((name, sent[name]) for name in common)
    compressing, hashing = zlib.compressobj(9), hashlib.sha256(tar)
    begin = compressing.compress(tar)
    by_family = {}
    for family, names in firsts.items():
        rest = archive((name, sent[name]) for name in sorted(names.difference(common)))
        end, sha = compressing.copy(), hashing.copy()
        sha.update(rest)
        data = b"".join((begin, end.compress(rest), end.flush()))
        by_family[family] = Archive(sha.hexdigest(), len(tar) + len(rest), data)
    return by_family


def _dotted(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _packages(names: Iterable[str]) -> Iterator[str]:
    return (_dotted(name) for name in names if name.endswith("/__init__.py"))


def archive(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive of these files (name, content), in their order. Raises ValueError for a name that is too long."""
    import tarfile  # imported late: needed once per version of the runtime, or of users' modules

    return _blocks(files) + bytes(2 * tarfile.BLOCKSIZE)


def _blocks(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive without the two empty blocks at its end."""
    import tarfile

    pieces = []
    for name, data in files:
        if len(name) > tarfile.LENGTH_NAME:  # the target does not support ustar's prefix field
            raise ValueError(f"{name}: the name is too long for the archive")
        member = tarfile.TarInfo(name)
        member.size = len(data)
        pieces += [member.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict"), data, bytes(-len(data) % tarfile.BLOCKSIZE)]
    return b"".join(pieces)


def _index(contents: Contents, usual: set[str]) -> bytes:
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name in contents:
        path = name.split("/")[1:]
        depth = 3 if path[0] == "resources" and len(path) > 3 else 1  # resources/TYPE/modules is a separate kind
        module = [part.removesuffix(".py") for part in path[depth:] if part != "__init__.py"]
        if len(module) == 1 and (path[-1] == "__init__.py" or len(path) == depth + 1):
            kinds.setdefault(".".join(path[:depth]), []).append((module[0], contents[name].decode()))
    table = {
        kind: {virtual: _by_use(stems, kind, usual) for virtual, stems in folder.index(modules).items()}
        for kind, modules in sorted(kinds.items())
        if kind != "vendor"
    }
    fits = {kind: folder.fit_index(modules) for kind, modules in sorted(kinds.items()) if kind in LOADED}
    return _module(INDEX=table, FITS=fits, DEFAULTS=dict(TARGET_DEFAULTS))


def _by_use(stems: list[str], kind: str, usual: set[str]) -> list[str]:
    """File names sorted, those that every target gets before the others."""
    return sorted(stems, key=lambda stem: (f"thin/{kind}/{stem}.py" not in usual, stem))


def _module(**values: Any) -> bytes:
    """The text of a module with these values."""
    return "".join(f"{word} = {value!r}\n" for word, value in values.items()).encode()
