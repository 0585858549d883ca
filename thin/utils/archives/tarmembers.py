"""Reads the members of a tar archive from its headers, as ``tarfile`` does, which a minimal Python lacks.

Supports v7, ustar, GNU (long names, sparse files) and pax headers, in plain and gzip-compressed files and in an
iterator of bytes.
"""

BLOCK = 512
PIECE = 1 << 18
#: The maximum of bytes that names and other attributes of one member may have.
HEADER = 1 << 24
_KINDS = {b"5": "dir", b"D": "dir", b"2": "link", b"1": "hardlink"}
_SPECIAL = {b"3": "a character device", b"4": "a block device", b"6": "a FIFO"}


class NotTar(ValueError):
    """The bytes are not a tar archive."""


class Member(object):
    """A member. ``name`` has no slash at its end; ``kind`` is dir, link, hardlink or file; ``target`` is that of a
    link; ``mode`` are its permission bits; ``special`` is the kind of a special file ("a FIFO"), else ""."""

    def __init__(self, name, kind, target, mode=0, special=""):
        self.name = name
        self.kind = kind
        self.target = target
        self.mode = mode
        self.special = special


def members(path):
    """All members of the archive file. Raises NotTar, OSError."""
    with open(path, "rb") as stream:
        magic = stream.read(2)
        stream.seek(0)
        source = _Gzip(stream) if magic == b"\x1f\x8b" else _Plain(stream)
        return list(_walk(source))


def passing(pieces):
    """Parse an archive from an iterator of bytes and yield all its bytes: (Member, its header) and (None, other bytes).

    The bytes after the end of the archive are yielded, too. Raises NotTar if it is no tar archive.
    """
    source = _Coming(pieces)
    for member in _walk(source):
        if isinstance(member, Member):
            yield member, source.passed()
        else:
            yield None, member
    rest = source.passed()
    if rest:
        yield None, rest
    for piece in source.rest():
        yield None, piece


class _Plain(object):
    def __init__(self, stream):
        self.stream = stream

    def read(self, count):
        return self.stream.read(count)

    def skip(self, count):
        self.stream.seek(count, 1)
        return ()


class _Coming(object):
    """A reader of an iterator of bytes. What ``read`` returns is also kept, until ``passed`` returns it."""

    def __init__(self, pieces):
        self.pieces = iter(pieces)
        self.data = memoryview(b"")
        self.kept = []

    def read(self, count):
        data = b"".join(self._next(count))
        self.kept.append(data)
        return data

    def skip(self, count):
        for piece in self._next(count):
            yield piece

    def passed(self):
        data, self.kept = b"".join(self.kept), []
        return data

    def _next(self, count):
        while count > 0:
            self.data = self.data or memoryview(next(self.pieces, b""))
            if not self.data:
                return
            piece, self.data = self.data[:count], self.data[count:]
            count -= len(piece)
            yield bytes(piece)

    def rest(self):
        if self.data:
            yield bytes(self.data)
        for piece in self.pieces:
            yield piece


class _Gzip(object):
    """A reader of the decompressed bytes of a gzip file, which may have several concatenated members."""

    def __init__(self, stream):
        self.stream = stream
        self.data = b""
        self.inner = None

    def read(self, count):
        import zlib

        pieces, have = [self.data], len(self.data)
        while have < count:
            if self.inner is None or self.inner.eof:
                rest = self.inner.unused_data.lstrip(b"\0") if self.inner else b""
                rest = rest or self.stream.read(PIECE)
                if not rest.startswith(b"\x1f\x8b"):
                    break
                self.inner = zlib.decompressobj(31)
            else:
                rest = self.stream.read(PIECE)
                if not rest:
                    break
            try:
                pieces.append(self.inner.decompress(rest))
            except zlib.error as exc:
                raise NotTar(str(exc))
            have += len(pieces[-1])
        data = b"".join(pieces)
        self.data = data[count:]
        return data[:count]

    def skip(self, count):
        while count > 0:
            got = len(self.read(min(count, PIECE)))
            if not got:
                break
            count -= got
        return ()


def _walk(source):
    """Yield each Member after its header was read, before its content, and the pieces that ``source.skip`` yields."""
    first, common, own, headers = True, {}, {}, 0
    while True:
        block = source.read(BLOCK)
        if len(block) < BLOCK or not block.strip(b"\0"):
            if first and not block:
                raise NotTar("empty file")
            if first and block.strip(b"\0"):
                raise NotTar("too short")
            return
        if not _sound(block):
            if first:
                raise NotTar("no header")
            return
        first = False
        kind, size = block[156:157], _number(block[124:136])
        if kind in (b"L", b"K", b"x", b"X", b"g"):
            headers += size + BLOCK
            if headers > HEADER:
                raise NotTar("a header is too large")
            data = source.read(-(-size // BLOCK) * BLOCK)[:size]
            if kind == b"g":
                common.update(_records(data))
            elif kind in (b"x", b"X"):
                own.update(_records(data))
            else:
                own["path" if kind == b"L" else "linkpath"] = _text(data)
            continue
        fields = dict(common, **own)
        own = {}
        if kind == b"S":
            more = block[482:483]
            while more.strip(b"\0"):
                headers += BLOCK
                if headers > HEADER:
                    raise NotTar("a header is too large")
                more = source.read(BLOCK)[504:505]
        name = fields.get("GNU.sparse.name") or fields.get("path") or _name(block)
        target = fields.get("linkpath") or _text(block[157:257])
        word = "dir" if kind in (b"0", b"\0") and name.endswith("/") else _KINDS.get(kind, "file")
        mode, length, headers = _number(block[100:108]) & 0o7777, int(fields.get("size", size)), 0
        if length < 0:
            raise NotTar("a size is negative")
        yield Member(name.rstrip("/") or name[:1], word, target, mode, _SPECIAL.get(kind, ""))
        if kind not in (b"1", b"2", b"3", b"4", b"5", b"6"):
            for piece in source.skip(-(-length // BLOCK) * BLOCK):
                yield piece


def _sound(block):
    try:
        checksum = _number(block[148:156])
    except ValueError:
        return False
    rest = block[:148] + b" " * 8 + block[156:]
    return checksum in (sum(rest), sum(byte - 256 if byte > 127 else byte for byte in rest))


def _number(field):
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    return int(field.split(b"\0")[0].strip() or b"0", 8)


def _text(field):
    return field.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _name(block):
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
    return prefix + "/" + name if prefix else name


def _records(data):
    """``(key, value)`` pairs of a pax header."""
    records = {}
    while data:
        length = data.split(b" ", 1)[0]
        if not length.isdigit() or not int(length):
            break
        record = data[len(length) + 1 : int(length) - 1]
        data = data[int(length) :]
        key, _, value = record.decode("utf-8", "surrogateescape").partition("=")
        records[key] = value
    return records
