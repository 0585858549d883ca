"""Checks everything that a target sends: its shape, size and rate.

The cost of a message is computed from its bytes before it is decoded: nesting depth, number of values, and the memory
that its texts need in Python. Then its fields are checked by the tables of ``thin.wire``. ``Intake`` has the budgets of
one session; a target that exceeds one gets the error kind ``excess``, and other targets are not affected.

All grains pass through ``own_grains``: it sets the id and the grains of the inventory over those that the target sent,
and rejects control characters, by which a grain could become structure of a YAML text.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pushsalt.errors import TargetError
from thin import wire
from thin.utils import dictupdate

if TYPE_CHECKING:
    from pushsalt.model import Target

log = logging.getLogger(__name__)

Message = dict[str, Any]

#: Limits in bytes of memory for a target's data as Python objects: one message, and all returns that are kept.
WEIGHT_LIMIT: Final = 72 * 1024 * 1024
#: Values in one message, keys of mappings included.
VALUES_LIMIT: Final = 500_000
#: Bytes that one target may send in a session, and on stderr.
SESSION_LIMIT: Final = 256 * 1024 * 1024
STDERR_LIMIT: Final = 16 * 1024 * 1024
#: Limits of the grains of a target: values, and characters of all texts.
GRAINS_VALUES: Final = 50_000
GRAINS_CHARS: Final = 4 * 1024 * 1024
#: Bytes that a value takes at most, without its text (a map of one entry takes more, but counts as three values).
_EACH: Final = 128
#: Characters of a log line, characters of a warning, and the number of warnings that are kept.
LOG_CHARS: Final = 16 * 1024
WARNINGS: Final = 200

#: Characters that are not allowed in a grain, a key of grains or an id: control characters except tab, line breaks of
#: YAML and Unicode, bidirectional control characters, lone surrogates, and characters that YAML does not allow.
UNFIT: Final = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)

#: Functions that return grains: a mapping of them, or one value.
_GRAINS: Final = frozenset({"grains.items", "grains.item", "grains.get", "grains.fetch"})

# --- bytes ------------------------------------------------------------------------------------------------------------

#: The first bytes of the characters above U+FFFF in UTF-8.
_FOUR_BYTES: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
#: Bytes that are scanned at a time.
_PIECE: Final = 1024 * 1024

#: Size of a value by its first byte, where that is enough; 0: see _LONG and _fixed; -1: a type that is not used.
_SIZES: Final = [1] * 0x80 + [0] * 0x20 + [1 + size for size in range(32)] + [1] * 0x40
_SIZES[0xC1] = -1
_SIZES[0xC4:0xCA] = [0, 0, 0, -1, -1, -1]
_SIZES[0xCA:0xD4] = [5, 9, 2, 3, 5, 9, 2, 3, 5, 9]
_SIZES[0xD4:0xE0] = [-1] * 5 + [0] * 7
#: first byte -> (bytes of the length field, values for each unit of length; 0 if the length is in bytes)
_LONG: Final = {
    0xC4: (1, 0),
    0xC5: (2, 0),
    0xC6: (4, 0),
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),
    0xDC: (2, 1),
    0xDD: (4, 1),
    0xDE: (2, 2),
    0xDF: (4, 2),
}


def weigh(data: bytes | bytearray, room: int = WEIGHT_LIMIT, most: int = VALUES_LIMIT) -> int:
    """An upper bound, in bytes, of the memory that a msgpack value takes when it is decoded; it is not decoded here.

    Raises ValueError unless ``data`` is exactly one msgpack value, and wire.Excess for more than ``room`` bytes,
    DEPTH_LIMIT levels or ``most`` values.
    """
    sizes, end = _SIZES, len(data)
    at, left, values, texts = 0, 1, 1, 0
    outer: list[int] = []
    try:
        while True:
            if not left:
                if not outer:
                    break
                left = outer.pop()
                continue
            left -= 1
            code = data[at]
            size = sizes[code]
            if size > 0:
                at += size
                continue
            if size < 0:
                raise ValueError(f"not a msgpack message: the byte 0x{code:02x}")
            if code < 0xA0:
                width, per = 0, 2 if code < 0x90 else 1
                count = code & 0x0F
            else:
                width, per = _LONG[code]
                count = int.from_bytes(data[at + 1 : at + 1 + width], "big")
            at += 1 + width
            if not per:
                if at + count > end:
                    raise IndexError
                ascii = code < 0xD9 or (count <= _PIECE and data[at : at + count].isascii())
                texts += count if ascii else _text_size(data, at, at + count)
                at += count
                if values * _EACH + texts > room:
                    raise wire.Excess(_too_much(room))
            elif count:
                count *= per
                if at + count > end:
                    raise IndexError
                values += count
                if values > most:
                    raise wire.Excess(f"more than {most} values in one message")
                if values * _EACH + texts > room:
                    raise wire.Excess(_too_much(room))
                outer.append(left)
                if len(outer) > wire.DEPTH_LIMIT:
                    raise wire.Excess(f"more than {wire.DEPTH_LIMIT} lists and mappings within each other")
                left = count
    except IndexError:
        raise ValueError("not a msgpack message: it ends too early") from None
    if at != end:
        raise ValueError("not a msgpack message: there is more, or less, than one value")
    return values * _EACH + texts


def _text_size(data: bytes | bytearray, begin: int, end: int) -> int:
    """Upper bound of the memory of a text: its widest character decides how many bytes each character takes."""
    if all(data[at : min(end, at + _PIECE)].isascii() for at in range(begin, end, _PIECE)):
        return end - begin
    wide = any(data.find(byte, begin, end) >= 0 for byte in _FOUR_BYTES)
    return (4 if wide else 2) * (end - begin)


def _too_much(room: int) -> str:
    limit = WEIGHT_LIMIT // 1024 // 1024
    if room >= WEIGHT_LIMIT:
        return f"a message that takes more than {limit} MiB of memory"
    return f"all that it returned takes more than {limit} MiB of memory"


# --- messages ---------------------------------------------------------------------------------------------------------

#: kind of message -> field -> allowed types
_SHAPES: Final[dict[str, dict[str, Any]]] = {
    **cast("dict[str, dict[str, Any]]", wire.UP),
    **{kind: {"n": int, **fields} for kind, fields in cast("dict[str, dict[str, Any]]", wire.QUESTIONS).items()},
}


class Bucket:
    """A token bucket: ``burst`` events at once, then ``rate`` events per second."""

    def __init__(self, burst: int, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._there, self._seen = float(burst), clock()

    def take(self) -> bool:
        """Take a token; whether there was one."""
        now = self._clock()
        self._there = min(self._burst, self._there + (now - self._seen) * self._rate)
        self._seen = now
        if self._there < 1:
            return False
        self._there -= 1
        return True


class Intake:
    """Budgets of what a target sends in one session. Raises wire.Excess over a budget, ValueError for invalid data."""

    def __init__(self, target: Target, clock: Callable[[], float] = time.monotonic) -> None:
        self._target = target
        self._received = self._stderr = 0
        self._most = SESSION_LIMIT
        self._kept = 0
        self._frames = Bucket(100_000, 10_000, clock)
        self._events = Bucket(5_000, 1_000, clock)
        self._logs = Bucket(20_000, 1_000, clock)
        self._warned = 0
        #: log lines that were left out
        self.left_out = 0

    def received(self, size: int) -> None:
        """Count bytes that were received."""
        self._received += size
        if self._received > self._most:
            raise wire.Excess(f"more than {SESSION_LIMIT // 1024 // 1024} MiB in one session")

    def wanted(self, size: int) -> None:
        """Raise the budget by ``size`` bytes, which the controller has asked for."""
        self._most += size

    def heard(self, size: int) -> None:
        """Count bytes that were received outside of frames."""
        self._stderr += size
        if self._stderr > STDERR_LIMIT:
            raise wire.Excess(f"more than {STDERR_LIMIT // 1024 // 1024} MiB on stderr")

    def frame(self) -> None:
        """Count a frame."""
        if not self._frames.take():
            raise wire.Excess("too many frames per second")

    def message(self, payload: bytes | bytearray) -> Message | None:
        """The message in a frame, with the fields of its kind; None for a log line over the rate or an unknown kind."""
        weight = weigh(payload, WEIGHT_LIMIT - self._kept)
        message = wire.unpack(payload)
        kind = message.get("k")
        if not isinstance(kind, str):
            raise ValueError(f"a message without a kind ({type(kind).__name__})")
        if kind not in _SHAPES:
            return None
        taken: Message = {"k": kind}
        for name, types in _SHAPES[kind].items():
            value = message.get(name)
            if not isinstance(value, types) or (isinstance(value, bool) and not _takes_bool(types)):
                raise ValueError(f"{kind}: {name} cannot be {_article(value)}")
            if name in message:
                taken[name] = value
        return self._accounted(str(kind), taken, weight)

    def _accounted(self, kind: str, message: Message, weight: int) -> Message | None:
        if kind == "event":
            if not self._events.take():
                raise wire.Excess("more than a thousand events per second")
            if "tag" not in message and not isinstance(message.get("ret"), dict):
                raise ValueError("event: neither tag nor ret")
        if kind in ("state", "event"):
            self._kept += weight
        elif kind == "log":
            if not self._logs.take():
                self.left_out += 1
                return None
            message["text"] = message["text"][:LOG_CHARS]
        return message

    def warnings(self, lines: list[str]) -> list[str]:
        """The warnings that are kept, each cut to its limit."""
        room = max(0, WARNINGS - self._warned)
        self._warned += len(lines)
        return lines[:room]

    def grains(self, claimed: Any, deep: bool = False) -> dict[str, Any]:
        """The grains of the target, from what it sent. Raises wire.Excess, ValueError."""
        return own_grains(self._target, claimed, deep)


def excess(id: str, exc: Exception) -> TargetError:
    """The error of a target that exceeded a budget."""
    return TargetError(
        "excess",
        f"{id}: it sent too much: {exc}",
        "have it return less at a time; if it should not send so much, find out what answers there",
    )


def _takes_bool(types: Any) -> bool:
    return types is object or types is bool or (isinstance(types, tuple) and bool in types)


def _article(value: Any) -> str:
    return "missing" if value is None else f"a value of type {type(value).__name__}"


# --- grains -----------------------------------------------------------------------------------------------------------


def own_grains(
    target: Target, claimed: Any, deep: bool = False, warn: Callable[..., None] = log.warning
) -> dict[str, Any]:
    """The grains of a target: the valid ones of those it sent, then the inventory's and the id over them.

    Texts and keys with control characters, bytes, NaN and infinity are left out, with a warning; the rest of such a
    grain is kept. Line breaks at the end of a text are cut off. ``deep``: the option ``grains_deep_merge``. Raises
    ValueError for anything but a mapping, and wire.Excess over the limits of grains.
    """
    if not isinstance(claimed, Mapping):
        raise ValueError("its grains are no mapping")
    cleaning = _Cleaning()
    found = cleaning.mapping(claimed, "")
    if cleaning.left_out:
        warn(
            "%s: grains are left out: they contain control characters or line breaks, or are no text, number, list "
            "or mapping: %s%s",
            target.id,
            ", ".join(cleaning.left_out[:10]),
            f" and {len(cleaning.left_out) - 10} more" if len(cleaning.left_out) > 10 else "",
        )
    return imposed(target, found, deep)


def imposed(target: Target, grains: Mapping[Any, Any], deep: bool = False) -> dict[str, Any]:
    """The grains with those of the inventory, and the id, set over them."""
    fixed = dictupdate.copy_containers(dict(target.grains)) if target.grains else {}
    merged: dict[str, Any] = dictupdate.update(dict(grains), fixed) if deep else {**grains, **fixed}
    merged["id"] = target.id
    return merged


def returned_grains(target: Target, fun: str, args: list[Any], value: Any, deep: bool = False) -> Any:
    """The return of a function of grains, with the id and the inventory's grains set over those in it."""
    if fun not in _GRAINS:
        return value
    if fun == "grains.items":
        return imposed(target, value, deep) if isinstance(value, dict) else value
    ours = imposed(target, {})
    if fun == "grains.item":
        return {key: ours.get(key, item) for key, item in value.items()} if isinstance(value, dict) else value
    return ours.get(str(args[0]), value) if args else value


def fit(text: str) -> bool:
    """Whether a text is allowed as an id or a grain."""
    return text.isprintable() or UNFIT.search(text) is None


class _Cleaning:
    """Removes invalid parts of grains. ``left_out``: their paths, from the outermost grain on."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._values = self._chars = 0

    def mapping(self, value: Mapping[Any, Any], where: str) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in value.items():
            self._count(key)
            is_valid = fit(key) if isinstance(key, str) else isinstance(key, int | float | None)
            if not is_valid:
                self._leave_out(f"{where}:{key}" if where else str(key))
                continue
            if type(item) is str and item.isprintable():  # most are
                self._count(item)
                found[key] = item
                continue
            kept = self._value(item, f"{where}:{key}" if where else str(key))
            if kept is not _NOTHING:
                found[key] = kept
        return found

    def _value(self, value: Any, where: str) -> Any:
        self._count(value)
        if isinstance(value, str):
            if fit(value):
                return value
            value = value.rstrip("\r\n")
            if fit(value):
                return value
        elif isinstance(value, Mapping):
            return self.mapping(value, where)
        elif isinstance(value, list | tuple):
            texts = _printable(value)
            if texts is not None:
                self._values += len(value)
                self._chars += len(texts)
                self._check()
                return list(value)
            return [kept for item in value if (kept := self._value(item, where)) is not _NOTHING]
        elif isinstance(value, bool | int | None) or (isinstance(value, float) and math.isfinite(value)):
            return value
        self._leave_out(where)
        return _NOTHING

    def _leave_out(self, where: str) -> None:
        name = UNFIT.sub(lambda match: f"\\u{ord(match[0]):04x}", where if len(where) <= 60 else f"{where[:57]}...")
        if not self.left_out or self.left_out[-1] != name:
            self.left_out.append(name)

    def _count(self, value: Any) -> None:
        self._values += 1
        if isinstance(value, str | bytes):
            self._chars += len(value)
        self._check()

    def _check(self) -> None:
        if self._values > GRAINS_VALUES or self._chars > GRAINS_CHARS:
            raise wire.Excess(
                f"grains of more than {GRAINS_VALUES} values, or {GRAINS_CHARS // 1024 // 1024} MiB of text"
            )


def _printable(values: Sequence[Any]) -> str | None:
    """The joined items of a list that has only printable texts, which are valid; None for any other list."""
    try:
        texts = "".join(values)
    except TypeError:
        return None
    return texts if texts.isprintable() else None


_NOTHING: Final = object()
