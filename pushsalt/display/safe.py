"""Makes data and text of a target safe to show: no control character reaches a terminal or a document."""

from __future__ import annotations

import codecs
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Controls (C0 without tab and newline, DEL, C1), line separators, marks and overrides of writing direction,
#: invisible marks and tags, and lone surrogates.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HIDDEN = "\u2028\u2029\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}{_HIDDEN}\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CRLF = re.compile("\r+\n")

#: Commands that CI services execute when they are in a log: at the beginning of a line, or anywhere in it.
_COMMAND = re.compile(r"(?m)^([^\S\n]*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))")
_SERVICES = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")

#: Number of characters that are escaped at a time.
_PIECE = 64 * 1024

#: Deeper nested values are shown as text, so that no program that reads the output recurses without limit.
DEPTH_LIMIT = 200


def escape(text: str) -> str:
    """``text`` in which characters that control terminals are replaced by escape sequences (``\\x1b``); tabs and
    newlines stay.

    On a CI service, the beginnings of its log commands (``::set-output``, ``##vso[``) are escaped too.
    """
    if text.isascii() and text.isprintable():
        return without_commands(text)
    text = _CRLF.sub("\n", text)
    if len(text) <= _PIECE:
        return without_commands(UNSAFE.sub(_visible, text))
    pieces = (UNSAFE.sub(_visible, text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))
    return without_commands("".join(pieces))


def without_commands(text: str) -> str:
    """The text; on a CI service, its log commands are escaped, also one at its beginning."""
    if ("::" in text or "##" in text) and has_commands(text):
        return _COMMAND.sub(lambda match: f"{match[1] or ''}\\x{ord(match[0][-1]):02x}", text)
    return text


def has_commands(text: str) -> bool:
    """Whether the CI service that this process runs on would execute a log command in the text."""
    return any(map(os.environ.get, _SERVICES)) and _COMMAND.search(text) is not None


def one_line(text: str) -> str:
    """As ``escape``, with newlines escaped too: for names and ids."""
    return escape(text).replace("\n", "\\n").replace("\t", "\\t")


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, in the form of surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unicode_escape(text: str) -> str:
    """Escape unsafe characters of a complete JSON or YAML document as ``\\uXXXX``, which both read inside quotes."""
    text = UNSAFE.sub(lambda match: "".join(f"\\u{unit:04x}" for unit in _utf16_units(match[0])), text)
    return text.replace("##", "#\\u0023") if "##" in text and has_commands(text) else text


def _utf16_units(char: str) -> Iterable[int]:
    data = char.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))


def plain(value: Any, depth: int = 0) -> Any:
    """``value`` in the types of strict JSON: dict with text keys, list, valid Unicode, int, finite float, bool, None.

    Bytes are read as UTF-8 with replacement characters, and so are surrogates; NaN and infinities become the texts
    ``NaN``, ``Infinity``, ``-Infinity``. Keys that would become the same text stay different (``1`` and ``1 (int)``).
    """
    kind = type(value)  # the common types first; others, and subclasses, follow
    if kind is str:
        return value if value.isascii() else _text(value)
    if kind is dict and depth <= DEPTH_LIMIT and _is_simple(value):
        return {name: plain(item, depth + 1) for name, item in value.items()}
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int():
            return _int(value)
        case float():
            return float(value) if math.isfinite(value) else _not_finite(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "replace")
        case _ if depth > DEPTH_LIMIT:
            return _text(type(value).__name__)
        case Mapping():
            return _mapping(value, depth)
        case set() | frozenset():
            return sorted((plain(item, depth + 1) for item in value), key=repr)
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case Iterable():
            return [plain(item, depth + 1) for item in value]
        case _:
            return _text(str(value))


def _is_simple(value: dict[Any, Any]) -> bool:
    """Whether all keys are ASCII text, which needs no conversion."""
    try:
        return "".join(value).isascii()
    except TypeError:
        return False


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    return {name: plain(item, depth + 1) for name, item in named(value)}


def named(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The items, each with a unique text for its key."""
    names: set[str] = set()
    keys = {key for key in value if isinstance(key, str)}
    for key, item in value.items():
        name = _key(key)
        if name in names or (not isinstance(key, str) and name in keys):
            stem = f"{name} ({type(key).__name__})"
            name, number = stem, 1
            while name in names or name in keys:
                number += 1
                name = f"{stem} {number}"
        names.add(name)
        yield name, item


def is_heavy(value: Any, longest: int, most: int) -> bool:
    """Whether a value contains a text of more than ``longest`` characters, or more than ``most`` values."""
    waiting, seen = [value], 0
    while waiting:
        item = waiting.pop()
        seen += 1
        kind = type(item)
        if kind is bool or kind is int or item is None:
            continue
        if kind is str or isinstance(item, (str, bytes)):
            if len(item) > longest:
                return True
        elif kind is dict or isinstance(item, Mapping):
            waiting += item.values()
        elif isinstance(item, (list, tuple)):
            waiting += item
        if seen + len(waiting) > most:
            return True
    return False


def slices(text: str | bytes, size: int) -> Iterator[str]:
    """A long text, converted as by ``plain``, in pieces."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for at in range(0, len(text), size):
        piece = text[at : at + size]
        yield _text(piece) if isinstance(piece, str) else decode(piece, at + size >= len(text))


def _key(key: Any) -> str:
    """A key as JSON writes it: ``true``, ``null``, ``1.5``."""
    match key:
        case str():
            return _text(key)
        case None:
            return "null"
        case bool():
            return "true" if key else "false"
        case _:
            value = plain(key)
            return value if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    if text.isascii():
        return str(text)
    if _SURROGATE.search(text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str(text)


def _int(value: int) -> int | str:
    # Python refuses to write integers of more than some thousand digits in decimal.
    return int(value) if value.bit_length() <= 4096 else hex(value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
