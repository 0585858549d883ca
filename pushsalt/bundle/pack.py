"""The runtime archive: everything of ``thin`` as one tar, the same bytes for the same inputs on any controller.

Plain ustar, written by hand: files only, in a fixed order, without owners or times. The first member is
``thin/store.py``: the first stage reads it from its known place to get at the others. ``thin/_index.py`` is made here;
it holds the virtual names of every kind of module (see ``thin.runtime.index``), so that a target need not read all.
"""

from __future__ import annotations

import hashlib
import os
import pprint
from collections.abc import Iterable, Iterator
from pathlib import Path

from thin import runtime

#: The folder of the ``thin`` package that travels.
THIN = Path(runtime.__file__).resolve().parent
FIRST = "thin/store.py"
#: Sent as the program of the first stage, not as a part of the archive.
_APART = {"thin/boot.py", "thin/cold.py"}
_EXTRA = ("COPYING",)
_BLOCK = 512


def members(root: Path = THIN) -> list[tuple[str, Path]]:
    """(name in the archive, path) of each file that travels, in the archive's order."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name.isidentifier() and name != "__pycache__"]
        place = Path(folder)
        for name in files:
            if (name.endswith(".py") and name[:-3].isidentifier()) or name in _EXTRA:
                path = place / name
                found.append((f"thin/{path.relative_to(root).as_posix()}", path))
    return sorted((item for item in found if item[0] not in _APART), key=lambda item: (item[0] != FIRST, item[0]))


def fingerprint(root: Path = THIN) -> str:
    """Changes whenever a file that travels, or the program that starts it, may have changed. Costs one stat a file."""
    digest = hashlib.sha256()
    for name, path in [*members(root), *((name, root.parent / name) for name in sorted(_APART))]:
        found = path.stat()
        digest.update(f"{name}\0{path}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}\n".encode())
    return digest.hexdigest()


def build(root: Path = THIN) -> bytes:
    """The archive's bytes; their SHA-256 is the runtime's name."""
    files = [(name, path.read_bytes()) for name, path in members(root)]
    index = _index([name for name, _ in files], dict(files))
    files.append(("thin/_index.py", index))
    return archive(files)


def archive(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive of these files (name, content), in their order. Raises ValueError for a name that has no place."""
    return b"".join(_ustar(files))


def _index(names: list[str], contents: dict[str, bytes]) -> bytes:
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        parts = name.split("/")
        stem = parts[2][:-3] if len(parts) == 3 else parts[2] if len(parts) == 4 and parts[3] == "__init__.py" else ""
        if stem and stem != "__init__":
            kinds.setdefault(parts[1], []).append((stem, contents[name].decode()))
    table = {kind: runtime.index(found) for kind, found in sorted(kinds.items()) if kind != "vendor"}
    return f'"""Made by pushsalt.bundle.pack."""\n\nINDEX = {pprint.pformat(table, width=120)}\n'.encode()


def _ustar(files: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    for name, data in files:
        yield _header(name, len(data))
        yield data
        yield bytes(-len(data) % _BLOCK)
    yield bytes(2 * _BLOCK)


def _header(name: str, size: int) -> bytes:
    encoded = name.encode("ascii")
    if len(encoded) > 100:
        raise ValueError(f"{name}: the name is too long for the archive")
    fields = [
        encoded.ljust(100, b"\0"), b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size, b"00000000000\0",
        b" " * 8, b"0", bytes(100), b"ustar\x0000", bytes(32), bytes(32), b"0000000\0", b"0000000\0", bytes(155 + 12),
    ]  # fmt: skip
    checksum = sum(b"".join(fields))
    fields[6] = b"%06o\0 " % checksum
    return b"".join(fields)
