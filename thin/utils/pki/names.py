"""Distinguished names: built from text (RFC 4514), a list or a dict, encoded as DER, shown as text.

A ``Name`` has relative names, tuples of (object identifier, text). Names are equal if these are equal.
"""

import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import der, oids

_SHORT = {number: name for name, number in oids.RFC4514.items()}
_PRINTABLE = ("2.5.4.6", "2.5.4.5", "2.5.4.46", "1.3.6.1.4.1.311.60.2.1.3")
_IA5 = ("1.2.840.113549.1.9.1", "0.9.2342.19200300.100.1.25")
_LIMITS = {"2.5.4.6": (2, 2), "1.3.6.1.4.1.311.60.2.1.3": (2, 2), "2.5.4.3": (1, 64)}
_ATTRIBUTE = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)\s*=")
_VALUE = re.compile(r"((?:[^\\\"+,;<>\0]|\\(?:[\\ \"#+,;<=>]|[0-9A-Fa-f]{2}))*)")


class Name(object):
    """``rdns``: ((object identifier, text), …) of each relative name, in the order of the DER; ``raw``: the DER."""

    def __init__(self, rdns, raw=None):
        self.rdns = tuple(tuple(rdn) for rdn in rdns)
        self._raw = raw

    def __eq__(self, other):
        return isinstance(other, Name) and [set(rdn) for rdn in self.rdns] == [set(rdn) for rdn in other.rdns]

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(tuple(frozenset(rdn) for rdn in self.rdns))

    @property
    def raw(self):
        if self._raw is None:
            self._raw = der.sequence(*[relative(rdn) for rdn in self.rdns])
        return self._raw

    def text(self):
        """The text of RFC 4514, with the last relative name first."""
        return ",".join(relative_text(rdn) for rdn in reversed(self.rdns))

    def first(self, number):
        """The first value of an attribute, or None."""
        return next((value for rdn in self.rdns for other, value in rdn if other == number), None)

    def parts(self):
        """{C, ST, …: first value} of the attributes with a short name in Salt's arguments."""
        parts = {}
        for short in oids.NAME_ORDER:
            value = self.first(oids.NAME_ATTRS[short])
            if value is not None:
                parts[short] = value
        return parts

    def hash(self):
        """openssl's hash of a name: four octets."""
        import hashlib
        import sys

        digest = hashlib.sha1(self.raw).digest()[:4]  # noqa: S324 - that is how it is defined
        return digest[::-1] if sys.byteorder == "little" else digest


def read(item):
    """The Name in an Item. Raises ValueError."""
    return Name([read_relative(rdn) for rdn in item.items()], item.raw)


def read_relative(item, tag=der.SET):
    result = []
    for attribute in item.items(tag):
        number, value = attribute.items()
        result.append((number.expect(der.OID).oid(), value.text()))
    return tuple(result)


def relative(rdn):
    """The DER of one relative name."""
    return der.set_of(*attributes(rdn))


def attributes(rdn):
    return [der.sequence(der.oid(number), der.text(value, _type(number))) for number, value in rdn]


def _type(number):
    return der.PRINTABLE if number in _PRINTABLE else der.IA5 if number in _IA5 else der.UTF8


def relative_text(rdn):
    return "+".join("%s=%s" % (_SHORT.get(number, number), _escaped(value)) for number, value in rdn)


def _escaped(value):
    value = re.sub(r'([\\"+,;<>])', r"\\\1", value).replace("\0", "\\00")
    if value[:1] in ("#", " "):
        value = "\\" + value
    if len(value) > 1 and value[-1] == " ":
        value = value[:-1] + "\\ "
    return value


def build(given):
    """A Name from text, a list of relative names, or a dict with short names of attributes.

    Raises SaltInvocationError, CommandExecutionError.
    """
    if isinstance(given, str):
        try:
            return Name(reversed(_parse(given)) if given else ())
        except ValueError:
            raise CommandExecutionError("Failed parsing rfc4514 dirName string")
    if isinstance(given, list):
        return Name([build_relative(rdn) for rdn in given])
    if isinstance(given, dict):
        return Name([[_checked(oids.NAME_ATTRS[key], given[key])] for key in oids.NAME_ORDER if key in given])
    raise SaltInvocationError("Need string, list or dict to parse distinguished names")


def build_relative(text):
    """One relative name from its text. Raises CommandExecutionError, SaltInvocationError."""
    try:
        names = _parse(text)
    except (TypeError, ValueError):
        raise CommandExecutionError("Failed parsing rdn string: %s" % (text,))
    if len(names) != 1:
        raise SaltInvocationError("Specified string is not a Relative Distinguished Name, but a Distinguished Name.")
    return names[0]


def _checked(number, value):
    if not isinstance(value, str):
        raise SaltInvocationError("A name's value must be text, not %r" % (value,))
    low, high = _LIMITS.get(number, (1, None))
    size = len(value.encode("utf-8"))
    if size < low or (high and size > high):
        raise SaltInvocationError(
            "Attribute's length must be >= %d and <= %s, but it was %d: %s=%s"
            % (low, high or "any", size, _SHORT.get(number, number), value)
        )
    try:
        der.text(value, _type(number))
    except ValueError:
        raise SaltInvocationError("%s=%s: this attribute is written in ASCII" % (_SHORT.get(number, number), value))
    return number, value


def _parse(text):
    """The relative names of a text of RFC 4514, in its order. Raises ValueError."""
    parsed, at = [], 0
    while True:
        rdn = []
        while True:
            match = _ATTRIBUTE.match(text, at)
            if not match:
                raise ValueError(text)
            key = match.group(1)
            number = key if key[0].isdigit() else oids.RFC4514.get(key)
            if number is None:
                raise ValueError(text)
            match = _VALUE.match(text, match.end())
            value = match.group(1)
            if value.startswith("#"):
                value = der.read(bytes.fromhex(value[1:])).text()
            else:
                value = _unescaped(value)
            rdn.append(_checked(number, value))
            at = match.end()
            if text[at : at + 1] != "+":
                break
            at += 1
        parsed.append(tuple(rdn))
        if at == len(text):
            return parsed
        if text[at] != ",":
            raise ValueError(text)
        at += 1


def _unescaped(value):
    """The value without escapes; hexadecimal ones are octets of UTF-8."""
    data = re.sub(
        rb"\\([0-9A-Fa-f]{2}|.)",
        lambda match: bytes.fromhex(match.group(1).decode("ascii")) if len(match.group(1)) == 2 else match.group(1),
        value.encode("utf-8"),
    )
    return data.decode("utf-8")
