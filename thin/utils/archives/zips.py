"""Reads and writes zip archives, as ``zipfile`` does, which a minimal Python lacks.

Supports stored and deflated members, zip64 for reading, and the traditional encryption. Other kinds raise ZipError.
"""

import os
import stat
import struct

_CHUNK = 1 << 18
_END, _END64, _LOCATOR, _ENTRY, _LOCAL = b"PK\5\6", b"PK\6\6", b"PK\6\7", b"PK\1\2", b"PK\3\4"


class ZipError(ValueError):
    """The file is no zip archive, is damaged or of an unsupported kind, or the password is wrong."""


class Member(object):
    """A file, directory or link: ``name``, ``mode`` (as in ``st_mode``, 0 if unknown), ``encrypted``."""

    def __init__(self, name, mode, flags, method, crc, packed, size, offset, time):
        self.name, self.mode, self.encrypted = name, mode, bool(flags & 1)
        self.flags, self.method, self.crc, self.packed, self.size = flags, method, crc, packed, size
        self.offset, self.time = offset, time

    @property
    def kind(self):
        if stat.S_ISLNK(self.mode):
            return "link"
        return "dir" if stat.S_ISDIR(self.mode) or self.name.endswith("/") else "file"

    @property
    def special(self):
        from thin.utils.archives.archivemembers import SPECIAL

        return SPECIAL.get(stat.S_IFMT(self.mode), "")

    target = ""


def members(stream):
    """The members of an archive, from its central directory. Raises ZipError."""
    stream.seek(0, 2)
    total = stream.tell()
    tail_at = max(0, total - 65557)
    stream.seek(tail_at)
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise ZipError("File is not a zip file")
    count, size, offset = struct.unpack("<HLL", tail[at + 10 : at + 20])
    end = tail_at + at
    if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR:
        end = struct.unpack("<Q", tail[at - 12 : at - 4])[0]
        stream.seek(end)
        record = stream.read(56)
        if record[:4] != _END64 or len(record) < 56:
            raise ZipError("Corrupt zip64 end of central directory record")
        count, size, offset = struct.unpack("<QQQ", record[32:56])
    before = end - size - offset  # the size of what precedes the archive, as in a self-extracting one
    if before < 0:
        raise ZipError("Bad offset for central directory")
    stream.seek(offset + before)
    directory = stream.read(size)
    members, at = [], 0
    for _ in range(count):
        if directory[at : at + 4] != _ENTRY:
            raise ZipError("Bad magic number for central directory")
        member, at = _entry(directory, at, before)
        members.append(member)
    return members


def _entry(data, at, before):
    flags, method, time, crc, packed, size, name_size, extra_size, comment_size, outer, offset = struct.unpack(
        "<4xHHHxxLLLHHH4xLL", data[at + 4 : at + 46]
    )
    at += 46
    name = data[at : at + name_size].decode("utf-8" if flags & 0x800 else "cp437", "replace")
    extra = data[at + name_size : at + name_size + extra_size]
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        if kind == 1:
            values = list(struct.unpack("<%dQ" % (length // 8), extra[4 : 4 + length // 8 * 8]))
            size = values.pop(0) if size == 0xFFFFFFFF and values else size
            packed = values.pop(0) if packed == 0xFFFFFFFF and values else packed
            offset = values.pop(0) if offset == 0xFFFFFFFF and values else offset
        extra = extra[4 + length :]
    member = Member(name.split("\0")[0], outer >> 16, flags, method, crc, packed, size, offset + before, time)
    return member, at + name_size + extra_size + comment_size


def pieces(stream, member, password=None):
    """Yield the member's content in pieces. Raises ZipError, also for a wrong checksum after the last piece."""
    import zlib

    stream.seek(member.offset)
    head = stream.read(30)
    if head[:4] != _LOCAL or len(head) < 30:
        raise ZipError("Bad magic number for file header")
    stream.seek(sum(struct.unpack("<HH", head[26:30])), 1)
    if member.method not in (0, 8):
        raise ZipError("That compression method is not supported: %d" % member.method)
    left, opened = member.packed, None
    if member.encrypted:
        if not password:
            raise ZipError("File '%s' is encrypted, password required for extraction" % member.name)
        opened = _decrypter(password)
        check = member.time >> 8 if member.flags & 8 else member.crc >> 24
        if opened(stream.read(12))[-1] != check & 0xFF:
            raise ZipError("Bad password for file %r" % member.name)
        left -= 12
    inner, crc = zlib.decompressobj(-15) if member.method else None, 0
    while left:
        data = stream.read(min(left, _CHUNK))
        if not data:
            raise ZipError("The archive ends within %r" % member.name)
        left -= len(data)
        data = opened(data) if opened else data
        try:
            data = inner.decompress(data) if inner else data
        except zlib.error as exc:
            raise ZipError(str(exc))
        crc = zlib.crc32(data, crc)
        yield data
    if inner:
        data = inner.flush()
        crc = zlib.crc32(data, crc)
        yield data
    if crc & 0xFFFFFFFF != member.crc:
        raise ZipError("Bad CRC-32 for file %r" % member.name)


def _decrypter(password):
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ 0xEDB88320 if number & 1 else number >> 1
        table.append(number)
    keys = [0x12345678, 0x23456789, 0x34567890]

    def turn(byte):
        keys[0] = keys[0] >> 8 ^ table[(keys[0] ^ byte) & 0xFF]
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = keys[2] >> 8 ^ table[(keys[2] ^ keys[1] >> 24) & 0xFF]

    def decrypt(data):
        out = bytearray()
        for byte in data:
            mask = keys[2] | 2
            byte ^= mask * (mask ^ 1) >> 8 & 0xFF
            turn(byte)
            out.append(byte)
        return bytes(out)

    for byte in password:
        turn(byte)
    return decrypt


def write(stream, entries):
    """Write an archive of ``(name in it, path)`` pairs: files are deflated, names of directories end with a slash.

    Raises OSError, and ZipError if the archive would need zip64.
    """
    import time
    import zlib

    directory = b""
    count = 0
    for name, path in entries:
        st = os.stat(path)
        clock = time.localtime(st.st_mtime)
        stamp = (
            clock.tm_hour << 11 | clock.tm_min << 5 | clock.tm_sec // 2,
            (max(clock.tm_year, 1980) - 1980) << 9 | clock.tm_mon << 5 | clock.tm_mday,
        )
        folder = stat.S_ISDIR(st.st_mode)
        raw, offset = name.encode("utf-8", "surrogateescape"), stream.tell()
        method, crc, packed, size = 0 if folder else 8, 0, 0, 0
        stream.write(b"\0" * 30 + raw)
        if not folder:
            packer = zlib.compressobj(-1, zlib.DEFLATED, -15)
            with open(path, "rb") as source:
                for data in iter(lambda source=source: source.read(_CHUNK), b""):
                    crc, size = zlib.crc32(data, crc), size + len(data)
                    packed += stream.write(packer.compress(data))
            packed += stream.write(packer.flush())
        end = stream.tell()
        if max(end, size) >= 0xFFFFFFFF or count >= 0xFFFF:
            raise ZipError("The archive would be too large without zip64")
        crc &= 0xFFFFFFFF
        shared = struct.pack("<HHHHLLLHH", 0x800, method, stamp[0], stamp[1], crc, packed, size, len(raw), 0)
        stream.seek(offset)
        stream.write(_LOCAL + struct.pack("<H", 20) + shared)
        stream.seek(end)
        outer = (st.st_mode & 0xFFFF) << 16 | (0x10 if folder else 0)
        directory += _ENTRY + struct.pack("<BBH", 20, 3, 20) + shared
        directory += struct.pack("<HHHLL", 0, 0, 0, outer, offset) + raw
        count += 1
    start = stream.tell()
    stream.write(directory)
    stream.write(_END + struct.pack("<HHHHLLH", 0, 0, count, count, len(directory), start, 0))
