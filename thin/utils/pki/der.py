"""DER, the encoding of certificates and keys: values to bytes and back.

``read(data)`` returns an ``Item``: ``tag`` (the first octet), ``body`` (its content), ``raw`` (all its bytes);
iteration yields the items in it. Only tags of one octet are supported, as X.509 has no others. Raises ValueError for
invalid data.
"""

BOOLEAN, INTEGER, BIT_STRING, OCTET_STRING, NULL, OID, ENUMERATED = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0A
UTF8, PRINTABLE, T61, IA5, VISIBLE, UNIVERSAL, BMP = 0x0C, 0x13, 0x14, 0x16, 0x1A, 0x1C, 0x1E
UTC_TIME, GENERALIZED_TIME, SEQUENCE, SET = 0x17, 0x18, 0x30, 0x31

#: The encoding of each type of text.
TEXTS = {
    UTF8: "utf-8",
    PRINTABLE: "latin-1",
    T61: "latin-1",
    IA5: "latin-1",
    VISIBLE: "latin-1",
    UNIVERSAL: "utf-32-be",
    BMP: "utf-16-be",
}


class Item(object):
    """One DER value: ``tag``, ``body`` and ``raw`` bytes."""

    __slots__ = ("body", "raw", "tag")

    def __init__(self, tag, body, raw):
        self.tag, self.body, self.raw = tag, body, raw

    def __iter__(self):
        """The elements of a constructed value."""
        rest = self.body
        while rest:
            item, rest = _next(rest)
            yield item

    def items(self, *tags):
        """The elements as a list. ``tags``: allowed tags of the value itself. Raises ValueError."""
        self.expect(*tags or (SEQUENCE,))
        return list(self)

    def expect(self, *tags):
        if self.tag not in tags:
            raise ValueError("bad DER: tag 0x%02x where 0x%02x belongs" % (self.tag, tags[0]))
        return self

    def inner(self):
        """The single Item in this one."""
        items = list(self)
        if len(items) != 1:
            raise ValueError("bad DER: one value belongs here, not %d" % len(items))
        return items[0]

    def number(self):
        if self.tag not in (INTEGER, ENUMERATED) and self.tag & 0xC0 != 0x80:
            raise ValueError("bad DER: no number")
        if not self.body:
            raise ValueError("bad DER: an empty number")
        return int.from_bytes(self.body, "big", signed=True)

    def oid(self):
        """The dotted text of an object identifier, with a universal or implicit tag."""
        numbers, value = [], 0
        if not self.body or self.body[-1] & 0x80:
            raise ValueError("bad DER: object identifier")
        for octet in self.body:
            value = value << 7 | octet & 0x7F
            if not octet & 0x80:
                numbers.append(value)
                value = 0
        first = min(numbers[0] // 40, 2)
        return ".".join(str(number) for number in [first, numbers[0] - 40 * first] + numbers[1:])

    def text(self):
        return self.body.decode(TEXTS.get(self.tag, "latin-1"))

    def bits(self):
        """The octets of a bit string, whose length must be a multiple of 8 bits."""
        self.expect(BIT_STRING)
        if not self.body or self.body[0]:
            raise ValueError("bad DER: bit string")
        return self.body[1:]

    def flags(self):
        """The numbers of the set bits of a bit string."""
        if not self.body:
            raise ValueError("bad DER: bit string")
        return {index * 8 + bit for index, octet in enumerate(self.body[1:]) for bit in range(8) if octet & 0x80 >> bit}

    def time(self):
        """A datetime in UTC, without a time zone."""
        import datetime

        self.expect(UTC_TIME, GENERALIZED_TIME)
        text = self.body.decode("ascii")
        if self.tag == UTC_TIME:
            text = ("19" if text[:2] >= "50" else "20") + text
        return datetime.datetime.strptime(text, "%Y%m%d%H%M%SZ")


def _next(data):
    """(first Item, the bytes after it)."""
    if len(data) < 2 or data[0] & 0x1F == 0x1F:
        raise ValueError("bad DER")
    size, start = data[1], 2
    if size & 0x80:
        start += size & 0x7F
        if not 2 < start <= 8 or len(data) < start:
            raise ValueError("bad DER: length")
        size = int.from_bytes(data[2:start], "big")
    if len(data) < start + size:
        raise ValueError("bad DER: it ends too early")
    return Item(data[0], data[start : start + size], data[: start + size]), data[start + size :]


def read(data):
    """The single Item in the bytes. Raises ValueError, also if bytes follow it."""
    item, rest = _next(bytes(data))
    if rest:
        raise ValueError("bad DER: there is something after it")
    return item


def tlv(tag, *parts):
    """The bytes of a value with this tag and content."""
    body = b"".join(parts)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def sequence(*parts):
    return tlv(SEQUENCE, *parts)


def set_of(*parts):
    return tlv(SET, *sorted(parts))


def context(number, *parts):
    """A constructed value with a context tag: EXPLICIT, or an IMPLICIT sequence."""
    return tlv(0xA0 | number, *parts)


def implicit(number, value):
    """A primitive value with its tag replaced."""
    return bytes([0x80 | number]) + value[1:]


def integer(value, tag=INTEGER):
    return tlv(tag, value.to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True))


def boolean(value):
    return tlv(BOOLEAN, b"\xff" if value else b"\0")


def octets(data):
    return tlv(OCTET_STRING, data)


def bits(data):
    return tlv(BIT_STRING, b"\0", data)


def flags(numbers):
    """A bit string with these bits set, without trailing zeros."""
    if not numbers:
        return tlv(BIT_STRING, b"\0")
    last = max(numbers)
    value = sum(1 << (last - number) for number in set(numbers))
    unused = 7 - last % 8
    return tlv(BIT_STRING, bytes([unused]), (value << unused).to_bytes(last // 8 + 1, "big"))


def oid(dotted):
    """The bytes of a dotted object identifier. Raises ValueError for an invalid one."""
    numbers = [int(part) for part in dotted.split(".")]
    if len(numbers) < 2 or numbers[0] > 2 or min(numbers) < 0 or (numbers[0] < 2 and numbers[1] > 39):
        raise ValueError("no object identifier: %s" % dotted)
    body = b""
    for number in [numbers[0] * 40 + numbers[1]] + numbers[2:]:
        piece = [number & 0x7F]
        while number > 0x7F:
            number >>= 7
            piece.insert(0, 0x80 | number & 0x7F)
        body += bytes(piece)
    return tlv(OID, body)


def text(value, tag=UTF8):
    """The bytes of a text. Raises ValueError if the type cannot contain it."""
    return tlv(tag, value.encode("ascii" if tag in (PRINTABLE, IA5, VISIBLE) else TEXTS[tag]))


def generalized(moment):
    return tlv(GENERALIZED_TIME, moment.strftime("%Y%m%d%H%M%SZ").zfill(15).encode("ascii"))


def time(moment):
    """A time in a certificate: until 2049 with a year of two digits."""
    if moment.year >= 2050:
        return generalized(moment)
    return tlv(UTC_TIME, moment.strftime("%y%m%d%H%M%SZ").encode("ascii"))
