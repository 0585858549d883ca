"""The byte layout of both indexes: frames of the log, names in tables. All integers are little-endian.

Files of an index folder::

    log            what the index is: which segments, and every write since; replaced only as a whole, by rename
    lock           flock of the writers; holds the number of the last write (``mark``)
    compact.lock   flock of who puts another log in place
    merge.lock     flock of who merges segments of resources, and their names (``claims``)
    seg-*          immutable segments (``segment`` for resources, ``columns`` for grains)
    *.new, seg-* that the log does not name: left over by a killed process, removed by a later rewrite
    intent-*       not of the index but of the cache around it (``pushsalt.cache.intents``)

Log::

    16 bytes  b"pushsalt index\\0\\1"
    frame 0   meta: texts separated by NUL: kind, generation, then the names of the segments (oldest first)
    frame 1…  one write each (a batch is one write), numbered without gaps

Every frame stands there twice, one copy after the other, so that one damaged copy loses nothing::

    4 bytes   b"\\xf5PSf"        4 bytes  length of the payload
    8 bytes   number            4 bytes  CRC-32 of the 16 bytes before and the payload
    payload   empty: the log may have been replaced, look (written before the rename)
              resources: b"P" type NUL id NUL manager …, b"D" type NUL id          grains: see ``grains``
              b"\xf5C" …: a checkpoint: all that the writes before it in this log come to; who reads the log from
              its beginning goes on from the last one, and who has read these writes passes over it

A write is one ``write()`` under the lock: it survives SIGKILL once it has returned, and readers see it whole or not.
A frame that is cut off at the end (power loss, SIGKILL in the middle of ``write()``) was never acknowledged, or is lost
with the power: readers stop before it, the next writer cuts it off. Nothing syncs a single write; segments and
a new log are synced before the log names them, so a power loss costs at most the last seconds of writes.

Mark (in ``lock``), twice: 8 bytes generation, 8 bytes number of the last write, 8 bytes of the machine's boot id,
4 bytes CRC-32 of these. It tells a log that lost its end from one that never had more: in the same boot that is damage.

Text: UTF-8, where what is no valid text passes as surrogates. NUL separates, so NUL, \\1 and \\2 in a name are written
as \\2a, \\2b, \\2c.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

MAGIC: Final = b"pushsalt index\0\1"
MARK: Final = b"\xf5PSf"
HINT: Final = b""
#: how the payload of a checkpoint begins; no text has this byte
CHECKPOINT: Final = b"\xf5C"

_HEAD: Final = struct.Struct("<4sIQ")
_CRC: Final = struct.Struct("<I")
_BOTH: Final = struct.Struct("<4sIQI")
HEAD_SIZE: Final = _BOTH.size
_STAMP: Final = struct.Struct("<QQ8s")
STAMP_SIZE: Final = _STAMP.size + _CRC.size


class Damage(Exception):
    """Bytes that are not what was written. Never leaves the package: it is mended, or becomes IndexCorrupt."""


class Scan(NamedTuple):
    """What a piece of the log says: payloads in order, where the next frame begins, and what was wrong."""

    payloads: list[bytes]
    end: int
    notes: list[str]


def frame(number: int, payload: bytes) -> bytes:
    """Both copies."""
    head = _HEAD.pack(MARK, len(payload), number)
    return (head + _CRC.pack(crc32(payload, crc32(head))) + payload) * 2


def _frame_at(data: bytes, at: int) -> tuple[int, bytes] | None:
    """Number and payload of the copy that begins here, when all of it is there and sound."""
    if not data.startswith(MARK, at) or at + HEAD_SIZE > len(data):
        return None
    _, length, number = _HEAD.unpack_from(data, at)
    body = at + HEAD_SIZE
    if body + length > len(data):
        return None
    payload = data[body : body + length]
    (crc,) = _CRC.unpack_from(data, at + _HEAD.size)
    return (number, payload) if crc32(payload, crc32(data[at : at + _HEAD.size])) == crc else None


def last_checkpoint(data: bytes) -> tuple[int, int]:
    """Place and number of the last checkpoint's frame in ``data``; zeros when there is none, or a copy is damaged."""
    second = data.rfind(CHECKPOINT) - HEAD_SIZE
    found = _frame_at(data, second) if second >= 0 else None
    if found is None:
        return 0, 0
    first = second - HEAD_SIZE - len(found[1])
    return (first, found[0]) if first >= 0 and _frame_at(data, first) == found else (0, 0)


def scan(data: bytes, number: int, *, at: int = 0, most: int = sys.maxsize, thorough: bool = False) -> Scan:
    """The frames in ``data`` from ``at`` on, of which the first has this number; ``most`` of them.

    ``end`` is relative to ``data``. It may lie beyond the data when the last frame's second copy is not all there.
    ``thorough`` looks at both copies of every frame. Raises Damage when a frame is lost and a later one is there.
    """
    payloads: list[bytes] = []
    notes: list[str] = []
    end = len(data) - HEAD_SIZE
    while at < len(data) and len(payloads) < most:
        # The one hot path of whoever opens an index: a sound frame is taken without further calls.
        mark, length, found_number, crc = _BOTH.unpack_from(data, at) if at <= end else (b"", 0, 0, 0)
        size = HEAD_SIZE + length
        payload = data[at + HEAD_SIZE : at + size]
        if found_number == number and mark == MARK and crc32(payload, crc32(data[at : at + _HEAD.size])) == crc:
            if thorough and _frame_at(data, at + size) != (number, payload):
                notes.append(f"the second copy of write {number} is damaged")
            at += 2 * size
        else:
            later = _next(data, at + 1, number)
            if later is None:
                notes.append(f"{len(data) - at} bytes at the end are no whole write")
                break
            at, found = later
            if found[0] != number:
                raise Damage(f"write {number} of the log is damaged, both copies of it")
            notes.append(f"the first copy of write {number} is damaged")
            payload = found[1]
            at += HEAD_SIZE + len(payload)
        payloads.append(payload)
        number += 1
    return Scan(payloads, at, notes)


def _next(data: bytes, at: int, number: int) -> tuple[int, tuple[int, bytes]] | None:
    """Place and content of the next sound copy of this write or of a later one."""
    while (at := data.find(MARK, at)) >= 0:
        found = _frame_at(data, at)
        if found is not None and found[0] >= number:
            return at, found
        at += 1
    return None


def stamp(generation: int, number: int, boot: bytes) -> bytes:
    """The mark, both copies."""
    body = _STAMP.pack(generation, number, boot)
    return (body + _CRC.pack(crc32(body))) * 2


def read_stamp(data: bytes) -> tuple[int, int, bytes] | None:
    """Generation, number and boot, or None when there is no sound copy."""
    return _stamp_at(data, 0) or _stamp_at(data, STAMP_SIZE)


def stamps(data: bytes) -> list[tuple[int, int, bytes] | None]:
    """The same of each copy."""
    return [_stamp_at(data, 0), _stamp_at(data, STAMP_SIZE)]


def _stamp_at(data: bytes, at: int) -> tuple[int, int, bytes] | None:
    body = data[at : at + _STAMP.size]
    crc = data[at + _STAMP.size : at + STAMP_SIZE]
    return _STAMP.unpack(body) if len(crc) == _CRC.size and _CRC.unpack(crc)[0] == crc32(body) else None


# --- text ------------------------------------------------------------------------------------------------------------

SEPARATORS: Final = "\0\1\2"


def escape(name: str) -> str:
    """The name without the characters that separate names. Most names are themselves."""
    if name.isprintable():
        return name
    return name.replace("\2", "\2c").replace("\1", "\2b").replace("\0", "\2a")


def unescape(name: str) -> str:
    return name.replace("\2a", "\0").replace("\2b", "\1").replace("\2c", "\2") if "\2" in name else name


def join(names: Iterable[str]) -> str:
    """Names with NUL between. Raises TypeError for what is no str."""
    names = names if isinstance(names, list | tuple) else list(names)
    text = "\0".join(names)
    if text.count("\0") >= max(len(names), 1) or "\1" in text or "\2" in text:
        text = "\0".join(map(escape, names))
    return text


def split(text: str) -> list[str]:
    """What ``join`` was given, which was not empty."""
    names = text.split("\0")
    return [unescape(name) for name in names] if "\2" in text else names


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes | bytearray | memoryview) -> str:
    """Raises Damage for what is no text: checksums have been looked at before, so nothing but luck gets here."""
    try:
        return str(data, "utf-8", "surrogatepass")
    except UnicodeDecodeError as exc:
        raise Damage(f"bytes that are no text: {exc.reason}") from None
