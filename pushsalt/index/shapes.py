"""Splits values into a shape, which many values share, and their texts.

A shape is a value in which every text and number is replaced by its kind; it is hashable:

    "s" text, "i" integer, "f" float, "T" true, "F" false, "N" null
    ("[", shape, …)                    a list
    ("{", key, shape, key, shape, …)   a dict, in its order
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, Final

Shape = Any  # str | tuple of Shape, recursively

#: values that are nested deeper, or have more texts, are stored unsplit
MOST_DEEP: Final = 20
MOST_TEXTS: Final = 256

_CONSTANT: Final = {"T": True, "F": False, "N": None}
_NUMBER: Final[dict[str, Callable[[str], Any]]] = {"i": int, "f": float}


class Odd(Exception):
    """Raised for a value without a shape."""


class Slot:
    """The place of a text in a shape."""

    __slots__ = ("kind", "number")

    def __init__(self, number: int, kind: str) -> None:
        self.number = number
        self.kind = kind


def take_apart(value: Any) -> tuple[Shape, list[str]]:
    """The shape and texts of a value. Raises Odd."""
    texts: list[str] = []
    shape = _shape(value, texts, 0)
    if len(texts) > MOST_TEXTS:
        raise Odd
    return shape, texts


def _shape(value: Any, texts: list[str], depth: int) -> Shape:
    kind = type(value)
    if kind is str:
        texts.append(value)
        return "s"
    if value is None:
        return "N"
    if kind is bool:
        return "T" if value else "F"
    if kind is int:
        texts.append(str(value))
        return "i"
    if kind is float:
        texts.append(repr(value))
        return "f"
    if depth >= MOST_DEEP:
        raise Odd
    if kind is list:
        return ("[", *[_shape(item, texts, depth + 1) for item in value])
    if kind is dict:
        parts: list[Shape] = ["{"]
        for key, item in value.items():
            if type(key) not in (str, int):
                raise Odd
            parts += (key, _shape(item, texts, depth + 1))
        return tuple(parts)
    raise Odd


def frozen(shape: Any) -> Shape:
    """A shape that was read from disk as lists."""
    if not isinstance(shape, list):
        return shape
    if shape[:1] == ["["]:
        return ("[", *map(frozen, shape[1:]))
    return tuple(part if at % 2 else frozen(part) for at, part in enumerate(shape))


def slots(shape: Shape) -> int:
    """The number of texts in a value of this shape."""
    if isinstance(shape, str):
        return int(shape in "sif")
    return sum(map(slots, shape[1:] if shape[0] == "[" else shape[2::2]))


def outline(shape: Shape) -> Any:
    """A value of this shape with a Slot for each text."""
    numbers = count()

    def build(part: Shape) -> Any:
        if isinstance(part, str):
            return _CONSTANT[part] if part in _CONSTANT else Slot(next(numbers), part)
        if part[0] == "[":
            return [build(item) for item in part[1:]]
        return {part[at]: build(part[at + 1]) for at in range(1, len(part), 2)}

    return build(shape)


def put_together(shape: Shape, texts: Sequence[str]) -> Any:
    """The value of a shape and its texts."""

    def fill(part: Any) -> Any:
        if isinstance(part, Slot):
            text = texts[part.number]
            return _NUMBER[part.kind](text) if part.kind in _NUMBER else text
        if isinstance(part, list):
            return [fill(item) for item in part]
        return {key: fill(item) for key, item in part.items()} if isinstance(part, dict) else part

    return fill(outline(shape))


def open_in(part: Any) -> list[Slot]:
    """The slots in a part of an outline, in the order in which ``str()`` prints them."""
    if isinstance(part, Slot):
        return [part]
    if isinstance(part, list):
        return [slot for item in part for slot in open_in(item)]
    if isinstance(part, dict):
        return [slot for item in part.values() for slot in open_in(item)]
    return []


def printed(part: Any, texts: Sequence[Iterable[str]]) -> Iterable[str]:
    """``str()`` of this part of an outline for each value; ``texts`` has, by slot, each value's text."""
    if isinstance(part, Slot):
        return texts[part.number]
    value = open_in(part)
    columns = [map(repr, texts[slot.number]) if slot.kind == "s" else texts[slot.number] for slot in value]
    return map(_format(part).__mod__, zip(*columns, strict=True))


def _format(part: Any) -> str:
    if isinstance(part, Slot):
        return "%s"
    if isinstance(part, list):
        return f"[{', '.join(map(_format, part))}]"
    if isinstance(part, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_format(item)}" for key, item in part.items()) + "}"
    return _literal(part)


def _literal(value: Any) -> str:
    return repr(value).replace("%", "%%")
