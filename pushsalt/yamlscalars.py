"""Plain values of YAML 1.1, as Salt reads them: the tag of a text without quotes, and the value of each tag."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, Final

import yaml

TAG: Final = "tag:yaml.org,2002:"
MERGE: Final = TAG + "merge"
VALUE: Final = TAG + "value"
STR: Final = TAG + "str"

#: first character -> [(tag, pattern)] of plain scalars that are not text
_IMPLICIT: Final[dict[str, list[tuple[str, re.Pattern[str]]]]] = yaml.SafeLoader.yaml_implicit_resolvers


def implicit_tag(text: str) -> str:
    """The tag of a plain scalar."""
    for tag, pattern in _IMPLICIT.get(text[:1], ()):
        if pattern.match(text):
            return tag
    return STR


def _int(text: str) -> int:
    if text.startswith("0") and not text.startswith(("0b", "0x")):
        text = text.lstrip("0") or "0"  # as in Salt: decimal, with any leading zeros
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.removeprefix("-") if sign < 0 else digits.removeprefix("+")
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits.startswith("0") and digits != "0":  # only after a sign
        return sign * int(digits, 8)
    if ":" in digits:
        return sign * int(_sexagesimal(digits, int))
    return sign * int(digits)


def _float(text: str) -> float:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-") if digits[:1] in "+-" else digits
    if digits == ".inf":
        return sign * float("inf")
    if digits == ".nan":
        return float("nan")
    if ":" in digits:
        return sign * float(_sexagesimal(digits, float))
    return sign * float(digits)


def _sexagesimal(digits: str, part: Callable[[str], float]) -> float:
    total: float = 0
    for piece in digits.split(":"):
        total = total * 60 + part(piece)
    return total


def _binary(text: str) -> bytes:
    data = text.encode("ascii")
    if missing := len(data) % 4:
        data += b"=" * (4 - missing)
    return base64.decodebytes(data)


SCALARS: Final[dict[str, Callable[[str], Any]]] = {
    TAG + "null": lambda text: None,
    TAG + "bool": lambda text: yaml.SafeLoader.bool_values[text.lower()],
    TAG + "int": _int,
    TAG + "float": _float,
    TAG + "binary": _binary,
    TAG + "timestamp": str,
    TAG + "python/unicode": str,
}
