"""The sealed image of a bank of pillar: what was in its entries, by value, so that target terms need not open each.

It is made when a term is asked of many; from then on only entries that changed are opened. It is one more sealed entry,
in a bank of its own. Its value, rows in the order of ids::

    {"folder": ns, "built": ns, "ids": text, "files": 20 bytes each, "times": u64 each (ns), "inodes": u64 each,
     "digests": 32 bytes each, "columns": [[key, msgpack of a column (pushsalt.index.columns)], ...]}

An entry is the same while its file has the same inode and time, or else the same checksum in its head. Where nothing
was put into the folder, or taken from it, since the image was made, files need not be looked at: entries are replaced
by rename, which changes the time of the folder. A folder that changed within the clock's grain of that is not trusted.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pushsalt.cache.store import HEAD
from pushsalt.errors import IndexCorrupt
from pushsalt.index import part
from pushsalt.index.columns import Column
from pushsalt.index.format import Damage, decode, encode, join, split
from pushsalt.index.part import Entry, Part
from pushsalt.index.view import View

if TYPE_CHECKING:
    from pushsalt.cache.pillar import PillarBank

#: From so many changed entries on, and such a part of all, the image is made anew.
_CHANGED: Final = 200
_PART: Final = 20
#: Two changes that are nearer to each other may show the same time.
_GRAIN_NS: Final = 2_000_000_000
_DIGEST: Final = slice(HEAD - 32, HEAD)


class File(NamedTuple):
    """Which file an entry was read from; ``name`` is its own, ``digest`` the checksum in its head."""

    name: str
    time: int
    inode: int
    digest: bytes


class Image(NamedTuple):
    """What the entries were; ``files`` gives them by row."""

    folder: int
    built: int
    part: Part
    files: Callable[[], list[File]]


def view(bank: PillarBank, look: bool) -> View | None:
    """What ``PillarBank.view`` says; None where the image, or the folder, cannot be used."""
    try:
        return _view(bank, look)
    except FileNotFoundError:
        return _view_of(part.build(()), set(), [])
    except (Damage, OSError, LookupError, TypeError, ValueError):
        bank.forget_image()
        return None


def _view(bank: PillarBank, look: bool) -> View:
    image = _read(bank)
    now, folder = time.time_ns(), bank.path.stat().st_mtime_ns
    if image is not None and not look and image.folder == folder and image.built - folder > _GRAIN_NS:
        return _view_of(image.part, set(), [])
    known = {file.name: (row, file) for row, file in enumerate(image.files())} if image is not None else {}
    same: dict[int, File] = {}
    touched = 0
    changed: list[File] = []
    for found in _files(bank.path):
        row, before = known.get(found.name, (0, None))
        if before is not None and (before.time, before.inode) == (found.time, found.inode):
            same[row] = before
        elif before is not None and _head(bank.path / found.name)[_DIGEST] == before.digest:
            same[row] = found._replace(digest=before.digest)
            touched += 1
        else:
            changed.append(found)
    old = image.part if image is not None else part.build(())
    gone = set(range(old.rows)) - same.keys()
    entries, files = _opened(bank, changed)
    if len(entries) + len(gone) + touched <= max(_CHANGED, old.rows // _PART):
        if touched:
            old = _seen_at(old, {row: file.time for row, file in same.items()})
        return _view_of(old, gone, entries)
    merged = part.merge([old, part.build(entries)], [_flags(gone, old.rows), bytes(len(entries))]).part
    by_id = {old.ids[row]: file for row, file in same.items()} | files
    merged = _seen_at(merged, {row: by_id[id].time for row, id in enumerate(merged.ids.all())})
    _keep(bank, Image(folder, now, merged, lambda: [by_id[id] for id in merged.ids.all()]))
    return _view_of(merged, set(), [])


def _opened(bank: PillarBank, files: list[File]) -> tuple[list[Entry], dict[str, File]]:
    """The entries of these files, and the file of each; files that are none are left out."""
    entries, found = [], {}
    for file in files:
        key, value, head = bank.open_file(bank.path / file.name)
        if isinstance(value, dict):
            found[key] = file._replace(digest=head[_DIGEST])
            entries.append(Entry(key, file.time / 1e9, part.pack(value)))
    return entries, found


def _keep(bank: PillarBank, image: Image) -> None:
    columns = []
    for key in image.part.grains:
        column = image.part.column(key)
        assert column is not None
        columns.append([key, part.pack(column.packed())])
    files = image.files()
    kept = {
        "folder": image.folder,
        "built": image.built,
        "ids": encode(join(image.part.ids.all())),
        "files": b"".join(bytes.fromhex(file.name) for file in files),
        "times": array("Q", [file.time for file in files]).tobytes(),
        "inodes": array("Q", [file.inode for file in files]).tobytes(),
        "digests": b"".join(file.digest for file in files),
        "columns": columns,
    }
    bank.images.put("", kept)


def _read(bank: PillarBank) -> Image | None:
    kept = bank.images.get("")
    if not isinstance(kept, dict):
        return None
    times = array("Q", kept["times"])

    def files() -> list[File]:
        names, digests = kept["files"].hex(), kept["digests"]
        return [
            File(names[row * 40 : row * 40 + 40], at, inode, digests[row * 32 : row * 32 + 32])
            for row, (at, inode) in enumerate(zip(times, array("Q", kept["inodes"]), strict=True))
        ]

    ids = split(decode(kept["ids"])) if times else []
    return Image(kept["folder"], kept["built"], _Kept(ids, [at / 1e9 for at in times], kept["columns"]), files)


class _Kept(Part):
    """A part whose columns are unpacked when asked for."""

    def __init__(self, ids: list[str], seen: list[float], columns: list[list[Any]]) -> None:
        super().__init__(ids, seen, {})
        self._packed = dict(columns)

    @property
    def grains(self) -> list[Any]:
        return list(self._packed)

    def column(self, grain: Any) -> Column | None:
        if grain not in self._columns and grain in self._packed:
            self._columns[grain] = Column.unpacked(part.unpack(self._packed[grain]), self.rows)
        return self._columns.get(grain)


def _seen_at(one: Part, times: Mapping[int, int]) -> Part:
    """The same with other times (ns), by row."""
    seen = list(one.seen)
    for row, at in times.items():
        seen[row] = at / 1e9
    return Part(one.ids.all(), seen, {key: column for key in one.grains if (column := one.column(key)) is not None})


def _view_of(one: Part, gone: set[int], entries: list[Entry]) -> View:
    dead = {one.name: _flags(gone, one.rows)} if gone else {}
    return View([one], dead, {entry.id: entry for entry in entries}, IndexCorrupt)


def _flags(rows: set[int], count: int) -> bytes:
    flags = bytearray(count)
    for row in rows:
        flags[row] = 1
    return bytes(flags)


def _files(folder: Path) -> Iterator[File]:
    """The files of a bank, without their checksums."""
    with os.scandir(folder) as found:
        for entry in found:
            if not entry.name.startswith("."):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                yield File(entry.name, status.st_mtime_ns, status.st_ino, b"")


def _head(path: Path) -> bytes:
    """The beginning of an entry, up to its checksum; nothing where it is gone."""
    try:
        with path.open("rb", buffering=0) as stream:
            return stream.read(HEAD)
    except OSError:
        return b""
