"""msgpack of plain values in pure Python, for targets: a third of the time of msgpack's own pure implementation.

A message of a run has thousands of short texts and small numbers, and a target has no compiled msgpack. ``packed`` and
``unpacked`` support the types that nearly all messages consist of; for others they raise Unusual, and ``thin.wire``
uses msgpack. The bytes are the same as msgpack's (https://github.com/msgpack/msgpack/blob/master/spec.md).
"""

import _struct as struct  # as in thin.wire

_F64 = struct.Struct(">d")
_BYTES = [bytes((number,)) for number in range(256)]
#: text of a key or a short value -> its bytes; limited to about the number of different keys of a message
_TEXTS = {}
_TEXTS_MOST = 4096


class Unusual(Exception):
    """A value or bytes that this fast implementation does not support."""


def packed(value):
    """The value as msgpack bytes. Raises Unusual."""
    out = []
    try:
        _pack(value, out.append, 0)
    except UnicodeError:
        raise Unusual("text that cannot be encoded")
    return b"".join(out)


def _pack(value, add, depth):
    kind = value.__class__
    if kind is str:
        add(_TEXTS.get(value) or _text(value))
    elif kind is dict:
        size = len(value)
        if depth > 100:
            raise Unusual("nested too deeply")
        add(_BYTES[0x80 | size] if size < 16 else _size(size, b"", b"\xde", b"\xdf"))
        depth += 1
        for key, item in value.items():
            if key.__class__ is str:
                add(_TEXTS.get(key) or _text(key))
            else:
                _pack(key, add, depth)
            if item.__class__ is str:
                add(_TEXTS.get(item) or _text(item))
            else:
                _pack(item, add, depth)
    elif value is None:
        add(b"\xc0")
    elif value is True:
        add(b"\xc3")
    elif value is False:
        add(b"\xc2")
    elif kind is int:
        add(_integer(value))
    elif kind is list or kind is tuple:
        size = len(value)
        if depth > 100:
            raise Unusual("nested too deeply")
        add(_BYTES[0x90 | size] if size < 16 else _size(size, b"", b"\xdc", b"\xdd"))
        depth += 1
        for item in value:
            _pack(item, add, depth)
    elif kind is float:
        add(b"\xcb" + _F64.pack(value))
    elif kind is bytes:
        add(_size(len(value), b"\xc4", b"\xc5", b"\xc6") + value)
    else:
        raise Unusual(kind)


def _text(value):
    data = value.encode("utf-8", "surrogateescape")
    size = len(data)
    if size < 32:
        data = _BYTES[0xA0 | size] + data
        if len(_TEXTS) < _TEXTS_MOST:
            _TEXTS[value] = data
        return data
    return _size(size, b"\xd9", b"\xda", b"\xdb") + data


def _size(size, one, two, four):
    """The header of a value of this length; ``one``, ``two``, ``four``: first byte for a length of so many bytes."""
    if one and size < 0x100:
        return one + _BYTES[size]
    if size < 0x10000:
        return two + size.to_bytes(2, "big")
    if size < 0x100000000:
        return four + size.to_bytes(4, "big")
    raise Unusual("too long")


def _integer(value):
    if 0 <= value < 0x80 or -0x20 <= value < 0:
        return _BYTES[value & 0xFF]
    if value > 0:
        for first, size in ((b"\xcc", 1), (b"\xcd", 2), (b"\xce", 4), (b"\xcf", 8)):
            if value < 1 << 8 * size:
                return first + value.to_bytes(size, "big")
    for first, size in ((b"\xd0", 1), (b"\xd1", 2), (b"\xd2", 4), (b"\xd3", 8)):
        if -1 << 8 * size - 1 <= value < 0:
            return first + value.to_bytes(size, "big", signed=True)
    raise Unusual("an integer of more than 64 bits")


def unpacked(data):
    """The value that exactly these bytes encode. Raises Unusual."""
    try:
        value, end = _unpack(data, 0, 0)
    except (IndexError, UnicodeError, TypeError, struct.error):
        raise Unusual("not the bytes of a plain value")
    if end != len(data):
        raise Unusual("%d bytes for a value of %d" % (len(data), end))
    return value


def _unpack(data, at, depth):
    """(value, end position)"""
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first >= 0xA0 and first < 0xC0:
        end = at + (first & 0x1F)
    elif first < 0x90:
        return _mapping(data, at, first & 0x0F, depth)
    elif first < 0xA0:
        return _items(data, at, first & 0x0F, depth)
    elif first == 0xC0:
        return None, at
    elif first == 0xC3:
        return True, at
    elif first == 0xC2:
        return False, at
    elif first <= 0xC6:  # bytes
        at, end = _range(data, at, first - 0xC4)
        return bytes(data[at:end]), end
    elif first == 0xCB:
        return _F64.unpack_from(data, at)[0], at + 8
    elif 0xCC <= first <= 0xD3:
        end = at + (1 << (first & 3))
        if end > len(data):
            raise IndexError(end)
        return int.from_bytes(data[at:end], "big", signed=first >= 0xD0), end
    elif 0xD9 <= first <= 0xDB:
        at, end = _range(data, at, first - 0xD9)
    elif 0xDC <= first <= 0xDF:
        begin, size = at, 2 << (first & 1)
        at += size
        length = int.from_bytes(data[begin:at], "big")
        return (_items if first < 0xDE else _mapping)(data, at, length, depth)
    else:
        raise Unusual("a value of type %#x" % first)
    if end > len(data):
        raise IndexError(end)
    return data[at:end].decode("utf-8", "surrogateescape"), end


def _range(data, at, power):
    """(start, end) of the bytes of a value whose length is encoded in 1, 2 or 4 bytes."""
    if power < 0:
        raise Unusual("a value of an unused type")
    begin = at + (1 << power)
    end = begin + int.from_bytes(data[at:begin], "big")
    if end > len(data):
        raise IndexError(end)
    return begin, end


def _mapping(data, at, length, depth):
    if length > len(data) - at or depth > 100:
        raise Unusual("more items than bytes, or nested too deeply")
    result, depth = {}, depth + 1
    for _ in range(length):
        first = data[at]
        if 0xA0 <= first < 0xC0:
            end = at + 1 + (first & 0x1F)
            if end > len(data):
                raise IndexError(end)
            key = data[at + 1 : end].decode("utf-8", "surrogateescape")
            at = end
        else:
            key, at = _unpack(data, at, depth)
        first = data[at]
        if 0xA0 <= first < 0xC0:
            end = at + 1 + (first & 0x1F)
            if end > len(data):
                raise IndexError(end)
            result[key] = data[at + 1 : end].decode("utf-8", "surrogateescape")
            at = end
        else:
            result[key], at = _unpack(data, at, depth)
    return result, at


def _items(data, at, length, depth):
    if length > len(data) - at or depth > 100:
        raise Unusual("more items than bytes, or nested too deeply")
    items, depth = [], depth + 1
    for _ in range(length):
        item, at = _unpack(data, at, depth)
        items.append(item)
    return items, at
