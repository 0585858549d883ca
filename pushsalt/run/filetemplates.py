"""Files with ``template:``, rendered for one target: beforehand where that can be, else in their turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.errors import PushsaltError, RenderError
from pushsalt.model import Chunk
from pushsalt.plan import split_url
from pushsalt.render import read_source, render_text
from pushsalt.run.known import FILE
from pushsalt.run.minion import Minion
from pushsalt.trust import Foreign, Template
from thin.utils.dictupdate import copy_containers
from thin.utils.files.diff import is_binary


def render_file(
    minion: Minion,
    url: str | None,
    text: Template | None,
    saltenv: str,
    engine: str,
    context: Any,
    defaults: Any,
    chunk: Chunk,
) -> bytes:
    """A file's template as this target renders it. Raises RenderError; TargetError when a call can't reach the target.

    Names: those of the state (name, source, user, group, mode, attrs), then ``defaults``, then ``context``. A file
    that is no text is left as it is.
    Salt: file.get_managed.
    """
    path = url or str(chunk.get("name") or "<text>")
    if url is not None:
        where = split_url(url, saltenv)
        found = minion.files.find(*where) if where else None
        if found is None or where is None:
            raise RenderError(f"Source file {url} not found in saltenv '{saltenv}'")
        path, saltenv = str(found.path), where[1]
        data = found.read()
        if _is_binary(data):
            return data
        text = read_source(found, sls="", saltenv=saltenv)
    variables = {name: chunk.get(name) for name in ("name", "user", "group", "mode", "attrs")}
    variables["source"] = url
    for more in (defaults, context):
        if isinstance(more, Mapping):
            variables.update(more)
    source = Foreign("", path) if text is None else text
    rendered = render_text(source, engine, path=path, saltenv=saltenv, context=minion.context, variables=variables)
    return rendered.encode("utf-8", "surrogateescape")


def _is_binary(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return bool(is_binary(data[:2048]))
    return False


def prerender(
    minion: Minion, url: str, saltenv: str, engine: str, context: Any, defaults: Any, chunk: Chunk
) -> bytes | None:
    """The template's text when it asks nothing of the target and nothing can change it before its turn, else None.

    A function asked of the target raises here; what fails for any reason is rendered again, and reported, in its turn.
    """
    if _has_slots(chunk):
        return None
    twin = minion.without_target
    twin.check_pillar()

    def render() -> bytes | None:
        try:
            own = copy_containers({"context": context, "defaults": defaults})
            return render_file(twin, url, None, saltenv, engine, own["context"], own["defaults"], chunk)
        except PushsaltError:
            return None

    names = [chunk.get(name) for name in ("name", "user", "group", "mode", "attrs")]
    text: bytes | None = twin.once(FILE, (url, saltenv, engine, context, defaults, names), render)
    return text


def _has_slots(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("__slot__:")
    if isinstance(value, dict):
        return any(_has_slots(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_has_slots(item) for item in value)
