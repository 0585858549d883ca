"""The encrypted image of the pillar bank: the values of all its entries, so that a term need not decrypt every entry.

It is made when a term is evaluated for many targets. After that only changed entries are decrypted, and stored
separately until there are many of them. Both are entries of a separate encrypted bank, with the keys ``all`` and
``since``. Rows are sorted by id, times are in ns::

    all     {"made": time, "ids": text, "files": 20 bytes each, "times": u64 each, "inodes": u64 each,
             "digests": 32 bytes each, "columns": [[key, msgpack of a column (pushsalt.index.columns)], ...]}
    since   {"of": ``made`` of its image, "folder": time, "looked": time, "gone": [row, ...],
             "touched": {row: [time, inode]}, "fresh": {file: [time, inode, digest, id, pillar as msgpack]}}

An entry is unchanged if its file has the same inode and time, or else the same checksum in its head. If the folder's
time is unchanged since the last check, the files are not checked: entries are replaced by rename, which changes that
time. A folder that changed within the clock's resolution of the check is checked again.
"""

from __future__ import annotations

import os
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from pushsalt import regular
from pushsalt.cache.sealed import SealedBank
from pushsalt.cache.store import HEAD
from pushsalt.errors import IndexCorrupt
from pushsalt.index import part
from pushsalt.index.columns import Column
from pushsalt.index.format import Damage, decode, encode, join, split
from pushsalt.index.part import Entry, Part
from pushsalt.index.view import View

#: The image is made again if the changes exceed both this number and this fraction (1/n) of all entries.
_CHANGED: Final = 200
_PART: Final = 20
#: Resolution of file times: two changes within it may have the same time.
_GRAIN_NS: Final = 2_000_000_000
_DIGEST: Final = slice(HEAD - 32, HEAD)


class Entries(Protocol):
    """The bank of an image: ``pushsalt.cache.pillar.PillarBank``."""

    @property
    def path(self) -> Path: ...
    @property
    def images(self) -> SealedBank: ...
    def open_file(self, path: Path) -> tuple[str, Any, bytes]: ...
    def forget_image(self) -> None: ...


class Fresh(NamedTuple):
    """An entry that is newer than the image."""

    time: int
    inode: int
    digest: bytes
    id: str
    pillar: bytes


@dataclass
class Image:
    """The image with the changes of entries since it was made."""

    part: Part
    #: by row: the entry's file, its time and inode, and the checksums concatenated
    files: list[str] = field(default_factory=list)
    times: array[int] = field(default_factory=lambda: array("Q"))
    inodes: array[int] = field(default_factory=lambda: array("Q"))
    digests: bytes = b""
    made: int = 0
    folder: int = 0
    looked: int = 0
    #: rows whose entries have changed or were removed
    gone: set[int] = field(default_factory=set)
    #: row -> new time and inode of a file with unchanged content
    touched: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: file -> its entry
    fresh: dict[str, Fresh] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        return len(self.gone) + len(self.touched) + len(self.fresh)

    def view(self) -> View:
        seen = [at / 1e9 for at in self.times]
        for row, (at, _) in self.touched.items():
            seen[row] = at / 1e9
        one = _Lazy(self.part, seen)
        entries = {new.id: Entry(new.id, new.time / 1e9, new.pillar) for new in self.fresh.values()}
        return View([one], {one.name: _flags(self.gone, one.rows)} if self.gone else {}, entries, IndexCorrupt)


def view(bank: Entries, look: bool) -> View | None:
    """The view for ``PillarBank.view``; None if the image, or the folder, cannot be used."""
    try:
        return _current(bank, look).view()
    except FileNotFoundError:
        return Image(part.build(())).view()
    except (Damage, OSError, LookupError, TypeError, ValueError):
        bank.forget_image()
        return None


def _current(bank: Entries, look: bool) -> Image:
    image = _read(bank)
    now, folder = time.time_ns(), bank.path.stat().st_mtime_ns
    if image.looked - image.folder > _GRAIN_NS and image.folder == folder and not look:
        return image
    _look(bank, image)
    image.folder, image.looked = folder, now
    if image.changes > max(_CHANGED, image.part.rows // _PART):
        image = _rewritten(image)
        bank.images.put("all", _packed(image))
    bank.images.put(
        "since",
        {
            "of": image.made,
            "folder": image.folder,
            "looked": image.looked,
            "gone": list(image.gone),
            "touched": image.touched,
            "fresh": image.fresh,
        },
    )
    return image


def _look(bank: Entries, image: Image) -> None:
    """Update the image from the files of the bank."""
    rows = dict(zip(image.files, range(len(image.files)), strict=True))
    fresh: dict[str, Fresh] = {}
    with os.scandir(bank.path) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            at, inode = status.st_mtime_ns, status.st_ino
            row = rows.pop(name, None)
            changed = image.fresh.get(name)
            if changed is None and row is not None and row not in image.gone:
                if image.times[row] == at and image.inodes[row] == inode:
                    image.touched.pop(row, None)
                    continue
                if image.touched.get(row) == (at, inode):
                    continue
                if _head(bank.path / name)[_DIGEST] == image.digests[row * 32 : row * 32 + 32]:
                    image.touched[row] = (at, inode)
                    continue
            if row is not None:
                image.gone.add(row)
                image.touched.pop(row, None)
            if changed is not None and (changed.time, changed.inode) == (at, inode):
                fresh[name] = changed
                continue
            key, value, head = bank.open_file(bank.path / name)
            if isinstance(value, dict):
                fresh[name] = Fresh(at, inode, head[_DIGEST], key, part.pack(value))
    image.fresh = fresh
    for row in rows.values():  # rows without a file
        image.gone.add(row)
        image.touched.pop(row, None)


def _rewritten(image: Image) -> Image:
    """A new image that includes the changes."""
    entries = [Entry(new.id, 0.0, new.pillar) for new in image.fresh.values()]
    dead = [_flags(image.gone, image.part.rows), bytes(len(entries))]
    merged = part.merge([_Lazy(image.part, [0.0] * image.part.rows), part.build(entries)], dead).part
    of = {new.id: (name, new.time, new.inode, new.digest) for name, new in image.fresh.items()}
    for row, id in enumerate(image.part.ids.all()):
        if row not in image.gone:
            at, inode = image.touched.get(row) or (image.times[row], image.inodes[row])
            of[id] = (image.files[row], at, inode, image.digests[row * 32 : row * 32 + 32])
    files = [of[id] for id in merged.ids.all()]
    return Image(
        merged,
        [file[0] for file in files],
        array("Q", [file[1] for file in files]),
        array("Q", [file[2] for file in files]),
        b"".join(file[3] for file in files),
        time.time_ns(),
        image.folder,
        image.looked,
    )


def _packed(image: Image) -> dict[str, Any]:
    columns = [
        [key, part.pack(column.packed())] for key in image.part.grains if (column := image.part.column(key)) is not None
    ]
    return {
        "made": image.made,
        "ids": encode(join(image.part.ids.all())),
        "files": bytes.fromhex("".join(image.files)),
        "times": image.times.tobytes(),
        "inodes": image.inodes.tobytes(),
        "digests": image.digests,
        "columns": columns,
    }


def _read(bank: Entries) -> Image:
    """The stored image, or an empty one."""
    kept = bank.images.get("all")
    if not isinstance(kept, dict):
        return Image(part.build(()))
    times, names = array("Q", kept["times"]), kept["files"].hex()
    image = Image(
        _Kept(split(decode(kept["ids"])) if times else [], kept["columns"]),
        [names[at : at + 40] for at in range(0, len(names), 40)],
        times,
        array("Q", kept["inodes"]),
        kept["digests"],
        kept["made"],
    )
    since = bank.images.get("since")
    if isinstance(since, dict) and since["of"] == image.made:
        image.folder, image.looked = since["folder"], since["looked"]
        image.gone = set(since["gone"])
        image.touched = {row: (at, inode) for row, (at, inode) in since["touched"].items()}
        image.fresh = {name: Fresh(*new) for name, new in since["fresh"].items()}
    return image


class _Kept(Part):
    """A part of the view whose columns are unpacked on demand."""

    def __init__(self, ids: list[str], columns: list[list[Any]]) -> None:
        super().__init__(ids, (), {})
        self._packed = dict(columns)

    @property
    def grains(self) -> list[Any]:
        return list(self._packed)

    def column(self, grain: Any) -> Column | None:
        if grain not in self._columns and grain in self._packed:
            self._columns[grain] = Column.unpacked(part.unpack(self._packed[grain]), self.rows)
        return self._columns.get(grain)


class _Lazy(Part):
    """A part of the view with the columns of another part, and other times."""

    def __init__(self, of: Part, seen: list[float]) -> None:
        super().__init__(of.ids.all(), seen, {})
        self._of = of

    @property
    def grains(self) -> list[Any]:
        return self._of.grains

    def column(self, grain: Any) -> Column | None:
        return self._of.column(grain)


def _flags(rows: set[int], count: int) -> bytes:
    flags = bytearray(count)
    for row in rows:
        flags[row] = 1
    return bytes(flags)


def _head(path: Path) -> bytes:
    """The beginning of an entry, up to its checksum; empty for a missing file."""
    try:
        with regular.opened(path) as stream:
            return stream.read(HEAD)
    except OSError:
        return b""
