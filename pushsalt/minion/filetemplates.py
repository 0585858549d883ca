"""Renders files with ``template:`` for one target: before the run if possible, else when the state runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pushsalt.errors import PushsaltError, RenderError
from pushsalt.minion.memoized import FILE
from pushsalt.minion.minion import Minion
from pushsalt.model import Chunk
from pushsalt.modules.signatures import StateFunctions
from pushsalt.render import read_source, render_text
from pushsalt.salturl import split_url
from pushsalt.trust import Foreign, Template
from thin.call_state import INTERNAL
from thin.utils.dictupdate import copy_containers, in_order
from thin.utils.files.diff import is_binary
from thin.utils.files.names import template_names
from thin.utils.files.states import user_of


def render_file(
    minion: Minion,
    url: str | None,
    text: Template | None,
    saltenv: str,
    engine: str,
    context: Any,
    defaults: Any,
    chunk: Chunk,
    names: Mapping[str, Any] | None = None,
) -> bytes:
    """Render a file's template for this target. Raises RenderError; TargetError if a call needs a missing connection.

    Its variables: ``names`` of the state, or else name, user, group, mode and attrs of the chunk; ``defaults`` override
    these, and ``context`` overrides both. A binary file is returned unchanged. Salt: file.get_managed.
    """
    path = url or str(chunk.get("name") or "<text>")
    if url is not None:
        where = split_url(url, saltenv)
        file = minion.files.find(*where) if where else None
        if file is None or where is None:
            raise RenderError(f"Source file {url} not found in saltenv '{saltenv}'")
        path, saltenv = str(file.path), where[1]
        data = file.read()
        if _is_binary(data):
            return data
        text = read_source(file, sls="", saltenv=saltenv)
    variables = dict(_own_names(chunk, url) if names is None else names)
    for more in (defaults, context):
        if isinstance(more, Mapping):
            variables.update(in_order(more))  # they come from an SLS
    source = Foreign("", path) if text is None else text
    rendered = render_text(source, engine, path=path, saltenv=saltenv, context=minion.context, variables=variables)
    return rendered.encode("utf-8", "surrogateescape")


def _own_names(chunk: Chunk, url: str | None) -> dict[str, Any]:
    return {"source": url, **{name: chunk.get(name) for name in ("name", "user", "group", "mode", "attrs")}}


def names_of(chunk: Chunk, url: str) -> dict[str, Any] | None:
    """The variables that file.managed passes to the template of ``url``; None for other state functions.

    They are part of the key under which the target looks for the rendered text: with other variables it asks again.
    Raises ValueError for arguments that the state rejects.
    """
    if chunk["fun"] != "managed":
        return None
    declared = _arguments_of_managed()
    extra = {name: value for name, value in chunk.items() if name not in declared and name not in INTERNAL}
    given = {name: chunk.get(name) for name in ("user", "group", "mode", "attrs")}
    given["user"] = user_of(extra, given["user"])
    names: dict[str, Any] = template_names(chunk.get("name"), url, extra=extra, **given)
    return names


@cache
def _arguments_of_managed() -> frozenset[str]:
    spec = StateFunctions().spec("file.managed")
    return frozenset(spec.args if spec else ())


def _is_binary(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return bool(is_binary(data[:2048]))
    return False


def prerender(
    minion: Minion, url: str, saltenv: str, engine: str, context: Any, defaults: Any, chunk: Chunk
) -> tuple[dict[str, Any] | None, bytes] | None:
    """(variables of the state, rendered text); None if the template calls the target, or its variables may change.

    Calls on the target raise here. A template that fails for any reason is rendered again when the state runs, which
    reports the error.
    """
    if _has_slots(chunk):
        return None
    try:
        names = names_of(chunk, url)
    except ValueError:
        return None
    twin = minion.without_target
    twin.check_pillar()

    def render() -> bytes | None:
        try:
            own = copy_containers({"context": context, "defaults": defaults, "names": names})
            more = (own["context"], own["defaults"], chunk, own["names"])
            return render_file(twin, url, None, saltenv, engine, *more)
        except PushsaltError:
            return None

    seen = _own_names(chunk, url) if names is None else names
    text: bytes | None = twin.once(FILE, (url, saltenv, engine, context, defaults, seen), render)
    return None if text is None else (names, text)


def _has_slots(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("__slot__:")
    if isinstance(value, dict):
        return any(_has_slots(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_has_slots(item) for item in value)
