"""Reads bodies of requests within limits, and converts them to lowstate. Salt: ``hypermedia_in``, ``lowdata_fmt``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect

from pushsalt import yamlio
from pushsalt.cliargs import parse_args, parse_value
from pushsalt.serve.answers import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

#: Time limit in seconds for a body to arrive.
PATIENCE: Final = 20.0
#: Maximum number of fields of a form, and of entries of a lowstate.
_FIELDS: Final = 1000
_ENTRIES: Final = 100
#: Bytes beyond the limit that are read and discarded, since a client that is still sending may not read the answer.
_DISCARDED: Final = 4 << 20
_CLOSE: Final = {"Connection": "close"}


async def read(request: Request, most: int) -> bytes:
    """The body, which has at most ``most`` bytes. Raises Refused."""
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most + _DISCARDED:
        raise _too_large(most)
    try:
        return await asyncio.wait_for(_read(request, most), PATIENCE)
    except asyncio.TimeoutError:
        raise Refused(408, f"the body did not arrive within {PATIENCE:.0f} seconds", _CLOSE) from None
    except ClientDisconnect:
        raise Refused(400, "the body is not complete", _CLOSE) from None


async def _read(request: Request, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most + _DISCARDED:
            break
        if size > most:
            pieces.clear()
        else:
            pieces.append(piece)
    if size > most:
        raise _too_large(most)
    return b"".join(pieces)


def _too_large(most: int) -> Refused:
    return Refused(413, f"a body has at most {most} bytes (max_request_body_size)", _CLOSE)


def parsed(request: Request, body: bytes) -> Any:
    """The data of a body, decoded by its content type; None for an empty body. Raises Refused."""
    if not body:
        return None
    kind = request.headers.get("content-type", "application/x-www-form-urlencoded").partition(";")[0].strip().lower()
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(400, "the body is not UTF-8") from None
    if kind == "application/x-www-form-urlencoded":
        return _form(text)
    if kind == "application/json":
        return _json(text)
    if kind in ("application/x-yaml", "text/yaml", "application/yaml"):
        try:
            return yamlio.load_yaml(text, "<body>")
        except yamlio.YamlError as exc:
            raise Refused(400, f"Invalid YAML document: {exc.message}") from None
    if kind == "text/plain":
        try:
            return _json(text)
        except Refused:
            return text
    raise Refused(406, "Content type not supported")


def lowstate(data: Any) -> list[dict[str, Any]]:
    """The entries of a lowstate. Raises Refused for data of another shape."""
    entries = [data] if isinstance(data, Mapping) else data
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise Refused(400, "Lowstates must be a list")
    if len(entries) > _ENTRIES:
        raise Refused(400, f"a lowstate has at most {_ENTRIES} entries")
    return [{str(key): value for key, value in entry.items()} for entry in entries]


def _json(text: str) -> Any:
    def no_constant(name: str) -> None:
        raise ValueError(name)

    try:
        return json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "Invalid JSON document") from None


def _form(text: str) -> dict[str, Any]:
    """The fields of a form. Repeated fields become lists, and ``arg`` and ``kwarg`` are parsed as YAML, as in Salt."""
    try:
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise Refused(400, f"a form has at most {_FIELDS} fields") from None
    form: dict[str, Any] = {}
    for name, value in fields:
        form.setdefault(name, []).append(value)
    for name, values in form.items():
        if name == "arg":
            args, kwargs = parse_args(values)
            form[name] = [*args, *([{**kwargs, "__kwarg__": True}] if kwargs else [])]
        else:
            form[name] = values if len(values) > 1 else values[0]
    if isinstance(form.get("kwarg"), str):
        form["kwarg"] = parse_value(form["kwarg"])
    return form
