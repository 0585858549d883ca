"""Messages between the command and its render processes: 4 bytes big-endian length, then msgpack.

Values keep their types: tuples, sets, integers of any size, dates and ``Explained`` texts are sent as extension types
of msgpack. Other types are sent as their text. Pickle is not used.

Requests of both directions have the same form: ``{"k": kind, "n": number, ...}``; answers are
``{"k": "ret"|"exc", "re": number, ...}``. Errors of pushsalt are sent with their class, others as FunctionError.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgpack

from pushsalt.errors import (
    CommandError,
    ConfigError,
    FunctionError,
    InventoryError,
    NoTargetError,
    Position,
    PushsaltError,
    RenderError,
    StateError,
    TargetError,
    UsageError,
)
from pushsalt.model import Explained

#: Asks the command: (kind of question, fields) -> answer. Raises the error that the command answers.
Ask = Callable[..., Any]

HEAD: Final = 4
#: Bytes of one message.
LIMIT: Final = 512 * 1024 * 1024

_TUPLE, _SET, _FROZENSET, _INT, _EXPLAINED, _DATE, _DATETIME, _TIME, _DECIMAL, _COMPLEX = range(1, 11)


def pack(message: Mapping[str, Any]) -> bytes:
    """The length and the message, as bytes. Raises ValueError if it is too large or nested too deeply."""
    try:
        data = _packed(message)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if len(data) > LIMIT:
        raise ValueError(f"more than {LIMIT} bytes")
    return len(data).to_bytes(HEAD, "big") + data


def unpack(data: bytes) -> dict[str, Any]:
    """The message in these bytes, which do not include the length. Raises ValueError."""
    try:
        message = _unpacked(data)
    except Exception as exc:
        raise ValueError(f"not a message: {exc}") from None
    if not isinstance(message, dict):
        raise ValueError("no message")
    return message


def _packed(value: Any) -> bytes:
    try:
        packed: bytes = msgpack.packb(
            value, default=_default, strict_types=True, use_bin_type=True, unicode_errors="surrogatepass"
        )
    except OverflowError:  # integers over 64 bits
        packed = msgpack.packb(
            _with_large(value), default=_default, strict_types=True, use_bin_type=True, unicode_errors="surrogatepass"
        )
    return packed


def _unpacked(data: bytes) -> Any:
    size = len(data)
    return msgpack.unpackb(
        data,
        raw=False,
        strict_map_key=False,
        unicode_errors="surrogatepass",
        ext_hook=_ext,
        max_str_len=size,
        max_bin_len=size,
        max_array_len=size,
        max_map_len=size,
        max_ext_len=size,
    )


def _default(value: Any) -> Any:
    """Encodes types that msgpack (with strict types) does not support."""
    if isinstance(value, Explained):
        return msgpack.ExtType(_EXPLAINED, _packed([str.__str__(value), value.explanation]))
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, dict):
        return dict(dict.items(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return msgpack.ExtType(_TUPLE, _packed(list(value)))
    if isinstance(value, list):
        return list(value)
    for kind, code, form in _FORMS:
        if isinstance(value, kind):
            return msgpack.ExtType(code, _packed(form(value)))
    return str(value)


_FORMS: Final[tuple[tuple[type, int, Callable[[Any], Any]], ...]] = (
    (frozenset, _FROZENSET, list),
    (set, _SET, list),
    (datetime.datetime, _DATETIME, lambda value: value.isoformat()),
    (datetime.date, _DATE, lambda value: value.isoformat()),
    (datetime.time, _TIME, lambda value: value.isoformat()),
    (Decimal, _DECIMAL, str),
    (complex, _COMPLEX, lambda value: [value.real, value.imag]),
)

_MADE: Final[Mapping[int, Callable[[Any], Any]]] = {
    _TUPLE: tuple,
    _SET: set,
    _FROZENSET: frozenset,
    _INT: lambda text: int(text, 16),
    _EXPLAINED: lambda pair: Explained(*pair),
    _DATE: datetime.date.fromisoformat,
    _DATETIME: datetime.datetime.fromisoformat,
    _TIME: datetime.time.fromisoformat,
    _DECIMAL: Decimal,
    _COMPLEX: lambda pair: complex(*pair),
}


def _ext(code: int, data: bytes) -> Any:
    return _MADE[code](_unpacked(bytes(data)))


def _with_large(value: Any) -> Any:
    """A copy in which too large integers are extension types."""
    if isinstance(value, dict):
        return {_with_large(key): _with_large(item) for key, item in dict.items(value)}
    if type(value) is tuple:
        return tuple(_with_large(item) for item in value)
    if isinstance(value, list):
        return [_with_large(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return msgpack.ExtType(_INT, _packed(hex(value)))
    return value


# --- errors ------------------------------------------------------------------------------------------------------

_STATE: Final = {"StateError": StateError, "RenderError": RenderError}
_COMMAND: Final = {
    "CommandError": CommandError,
    "UsageError": UsageError,
    "ConfigError": ConfigError,
    "InventoryError": InventoryError,
    "NoTargetError": NoTargetError,
}


def error_fields(exc: BaseException) -> dict[str, Any]:
    """An exception as fields of a message. ``salt_function``: the function that raised it, if known."""
    fields: dict[str, Any] = {"class": type(exc).__name__, "function": getattr(exc, "salt_function", None)}
    if isinstance(exc, TargetError):
        return {**fields, "family": "target", "args": [exc.kind, exc.message, exc.hint]}
    if isinstance(exc, FunctionError):
        return {**fields, "family": "function", "args": [exc.kind, exc.message, exc.hint, exc.exception]}
    if isinstance(exc, StateError):
        where = [exc.where.path, exc.where.line, exc.where.column] if exc.where else None
        name = "RenderError" if isinstance(exc, RenderError) else "StateError"
        return {**fields, "family": "state", "class": name, "args": [list(exc.errors), exc.hint], "where": where}
    if isinstance(exc, PushsaltError):
        return {**fields, "family": "command", "args": [str(exc), exc.hint]}
    if isinstance(exc, SystemExit):
        from pushsalt.render.problems import reason  # imported late: the command does not need the rest of that package

        return {**fields, "family": "other", "args": [reason(exc)]}
    return {**fields, "family": "other", "args": [str(exc)]}


def error_of(fields: Mapping[str, Any]) -> PushsaltError:
    """The exception from these fields."""
    family, name, args = fields.get("family"), str(fields.get("class")), list(fields.get("args") or [""])
    exc: PushsaltError
    try:
        if family == "target":
            exc = TargetError(*map(str, args))
        elif family == "function":
            exc = FunctionError(*map(str, args))
        elif family == "state":
            where = fields.get("where")
            exc = _STATE.get(name, StateError)(list(args[0]), str(args[1]), Position(*where) if where else None)
        elif family == "command":
            exc = _COMMAND.get(name, CommandError)(str(args[0]), str(args[1]))
        else:
            hint = "see the message; -l debug shows where it was raised"
            exc = FunctionError("exception", str(args[0]) or name, hint, name)
    except (TypeError, AssertionError, IndexError):
        exc = FunctionError(
            "exception", f"a render process sent an invalid error: {name}", "run again with -l debug", name
        )
    if fields.get("function"):
        exc.salt_function = str(fields["function"])  # type: ignore[attr-defined]
    return exc
