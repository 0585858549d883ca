"""The byte layout of both indexes: frames of the log, names in tables. All integers are little-endian.

Files of an index folder::

    log            the names of the segments, and all later writes; replaced only as a whole, by rename
    lock           flock of the writers; contains the number of the last write (``mark``)
    compact.lock   flock of the process that replaces the log
    merge.lock     flock of the process that merges segments of resources, and their names (``claims``)
    seg-*          immutable segments (``segment`` for resources, ``columns`` for grains)
    *.new, and seg-* that the log does not name, are left by killed processes and removed by a later rewrite
    intent-*       belongs to the cache around the index (``pushsalt.cache.intents``)

Log::

    16 bytes  b"pushsalt index\\0\\1"
    frame 0   meta: texts separated by NUL: kind, generation, then the names of the segments (oldest first)
    frame 1…  one write each (a batch is one write), numbered consecutively

Every frame is stored twice, one copy after the other, so that one damaged copy loses nothing::

    4 bytes   b"\\xf5PSf"        4 bytes  length of the payload
    8 bytes   number            4 bytes  CRC-32 of the 16 bytes before and the payload
    payload   empty: readers must check whether the log was replaced (written before the rename)
              resources: b"P" type NUL id NUL manager …, b"D" type NUL id          grains: see ``grains``
              b"\xf5C" …: a checkpoint, the combined result of all writes before it in this log; a process that opens
              the log begins at the last one, a process that has read these writes skips it

A write is one ``write()`` under the lock: when it has returned it survives SIGKILL, and readers see all or nothing of
it. A truncated frame at the end (power loss, SIGKILL during ``write()``) was never acknowledged, or is lost by the
power loss: readers stop before it, the next writer removes it. Single writes are not synced; segments and a new log
are synced before the log names them, so a power loss costs at most the last seconds of writes.

Mark (in ``lock``), twice: 8 bytes generation, 8 bytes number of the last write, 8 bytes of the machine's boot id,
4 bytes CRC-32 of these. It detects a log that has lost its end: if that happens within one boot, it is damage.

Text: UTF-8; lone surrogates are allowed. NUL is the separator, so NUL, \\1 and \\2 in a name are written as \\2a, \\2b,
\\2c.
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
#: the first bytes of a checkpoint's payload; the first of them is not valid in UTF-8
CHECKPOINT: Final = b"\xf5C"

_HEAD: Final = struct.Struct("<4sIQ")
_CRC: Final = struct.Struct("<I")
_BOTH: Final = struct.Struct("<4sIQI")
HEAD_SIZE: Final = _BOTH.size
_STAMP: Final = struct.Struct("<QQ8s")
STAMP_SIZE: Final = _STAMP.size + _CRC.size


class Damage(Exception):
    """Damaged bytes. Internal to the package: the damage is repaired, or IndexCorrupt is raised."""


class Scan(NamedTuple):
    """The content of a part of the log: payloads in order, offset of the next frame, and damage as texts."""

    payloads: list[bytes]
    end: int
    notes: list[str]


def frame(number: int, payload: bytes) -> bytes:
    """Both copies of a frame."""
    head = _HEAD.pack(MARK, len(payload), number)
    return (head + _CRC.pack(crc32(payload, crc32(head))) + payload) * 2


def _frame_at(data: bytes, at: int) -> tuple[int, bytes] | None:
    """(number, payload) of the copy at this offset; None if it is incomplete or damaged."""
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
    """Offset and number of the last checkpoint's frame in ``data``; zeros without one, or if a copy is damaged."""
    second = data.rfind(CHECKPOINT) - HEAD_SIZE
    frame = _frame_at(data, second) if second >= 0 else None
    if frame is None:
        return 0, 0
    first = second - HEAD_SIZE - len(frame[1])
    return (first, frame[0]) if first >= 0 and _frame_at(data, first) == frame else (0, 0)


def scan(data: bytes, number: int, *, at: int = 0, most: int = sys.maxsize, thorough: bool = False) -> Scan:
    """Up to ``most`` frames in ``data`` from offset ``at`` on; the first one must have this number.

    ``end`` is relative to ``data``. It may be beyond the data if the last frame's second copy is incomplete.
    ``thorough`` checks both copies of every frame. Raises Damage if a frame is lost and a later one exists.
    """
    payloads: list[bytes] = []
    notes: list[str] = []
    end = len(data) - HEAD_SIZE
    while at < len(data) and len(payloads) < most:
        # The hot path of opening an index: an undamaged frame is read without further calls.
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
                notes.append(f"{len(data) - at} bytes at the end are no complete write")
                break
            at, frame = later
            if frame[0] != number:
                raise Damage(f"write {number} of the log is damaged, both copies of it")
            notes.append(f"the first copy of write {number} is damaged")
            payload = frame[1]
            at += HEAD_SIZE + len(payload)
        payloads.append(payload)
        number += 1
    return Scan(payloads, at, notes)


def _next(data: bytes, at: int, number: int) -> tuple[int, tuple[int, bytes]] | None:
    """Offset and content of the next undamaged copy of this write or a later one."""
    while (at := data.find(MARK, at)) >= 0:
        frame = _frame_at(data, at)
        if frame is not None and frame[0] >= number:
            return at, frame
        at += 1
    return None


def stamp(generation: int, number: int, boot: bytes) -> bytes:
    """Both copies of the mark."""
    body = _STAMP.pack(generation, number, boot)
    return (body + _CRC.pack(crc32(body))) * 2


def read_stamp(data: bytes) -> tuple[int, int, bytes] | None:
    """(generation, number, boot) of an undamaged copy, or None."""
    return _stamp_at(data, 0) or _stamp_at(data, STAMP_SIZE)


def stamps(data: bytes) -> list[tuple[int, int, bytes] | None]:
    """As ``read_stamp``, for each copy."""
    return [_stamp_at(data, 0), _stamp_at(data, STAMP_SIZE)]


def _stamp_at(data: bytes, at: int) -> tuple[int, int, bytes] | None:
    body = data[at : at + _STAMP.size]
    crc = data[at + _STAMP.size : at + STAMP_SIZE]
    return _STAMP.unpack(body) if len(crc) == _CRC.size and _CRC.unpack(crc)[0] == crc32(body) else None


# --- text ------------------------------------------------------------------------------------------------------------

SEPARATORS: Final = "\0\1\2"


def escape(name: str) -> str:
    """The name with escaped separators. Most names have none and are returned unchanged."""
    if name.isprintable():
        return name
    return name.replace("\2", "\2c").replace("\1", "\2b").replace("\0", "\2a")


def unescape(name: str) -> str:
    return name.replace("\2a", "\0").replace("\2b", "\1").replace("\2c", "\2") if "\2" in name else name


def join(names: Iterable[str]) -> str:
    """Escaped names, joined by NUL. Raises TypeError for anything but str."""
    names = names if isinstance(names, list | tuple) else list(names)
    text = "\0".join(names)
    if text.count("\0") >= max(len(names), 1) or "\1" in text or "\2" in text:
        text = "\0".join(map(escape, names))
    return text


def split(text: str) -> list[str]:
    """The inverse of ``join`` for a non-empty list."""
    names = text.split("\0")
    return [unescape(name) for name in names] if "\2" in text else names


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes | bytearray | memoryview) -> str:
    """Decode UTF-8. Raises Damage for invalid bytes, which is unlikely since checksums were verified before."""
    try:
        return str(data, "utf-8", "surrogatepass")
    except UnicodeDecodeError as exc:
        raise Damage(f"invalid text: {exc.reason}") from None
