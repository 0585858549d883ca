"""Writes plain data as YAML, in block style with sorted keys, as PyYAML's safe_dump, but without line breaks in text.

Supports mappings, lists, text, numbers, booleans and None; other values are written as text.
"""

import re

#: Text that needs no quotes: words of these characters that YAML does not read as another type.
_PLAIN = re.compile(r"[A-Za-z_/.][A-Za-z0-9_/.@+%()'-]*(?:(?: +|[:,](?=[^ ,:]))[A-Za-z0-9_/.@+%()'-]+)*\Z")
_TYPED = re.compile(r"(?:yes|no|on|off|true|false|null|~|\.nan|[-+]?\.inf|[-+.]?[0-9][0-9a-fx_.:+-]*)?\Z", re.I)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_SIMPLE = re.compile(r"[\x20-\x7e]*\Z")


def dump(data):
    """The YAML of a mapping or list, with a newline at its end."""
    if data == {} or data == []:
        return "%r\n" % data
    return "\n".join(_lines(data, "")) + "\n"


def _lines(data, indent):
    if isinstance(data, dict):
        for key in sorted(data, key=str):
            for line in _entry(indent + scalar(key) + ":", data[key], indent, indent + "  "):
                yield line
        return
    for value in data:
        if value and isinstance(value, (dict, list, tuple)):
            inner = list(_lines(value, indent + "  "))
            yield indent + "- " + inner[0][len(indent) + 2 :]
            for line in inner[1:]:
                yield line
        else:
            yield indent + "- " + scalar(value)


def _entry(head, value, indent, deeper):
    if value and isinstance(value, dict):
        return [head] + list(_lines(value, deeper))
    if value and isinstance(value, (list, tuple)):
        return [head] + list(_lines(value, indent))
    return [head + " " + scalar(value)]


def scalar(value):
    """A scalar on one line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (dict, list, tuple)):  # an empty one
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(text) or (
            text if "." in text or "e" not in text else text.replace("e", ".0e")
        )
    text = str(value)
    if not _SIMPLE.match(text):
        return '"%s"' % "".join(_escaped(char) for char in text)
    if _PLAIN.match(text) and not _TYPED.match(text) and not _DATE.match(text):
        return text
    return "'%s'" % text.replace("'", "''")


def _escaped(char):
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}.get(char)
    if short or " " <= char <= "~":
        return short or char
    code = ord(char)
    return "\\x%02X" % code if code < 256 else "\\u%04X" % code if code < 65536 else "\\U%08X" % code
