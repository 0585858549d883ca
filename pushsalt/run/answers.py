"""Answers to what a target asks while its chunks run: source files, trees, templates, pillar (thin.wire: questions)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from pushsalt.errors import PushsaltError, RenderError, StateError
from pushsalt.fileserver.tree import tree
from pushsalt.functions import function_named
from pushsalt.model import Blob, Chunk
from pushsalt.plan import split_url
from pushsalt.render import read_source, render_text
from pushsalt.run.minion import Minion

log = logging.getLogger(__name__)

Result = TypeVar("Result")
#: Runs a function in a worker thread.
InThread = Callable[[Callable[[], Result]], Awaitable[Result]]


def render_file(
    minion: Minion,
    url: str | None,
    text: str | None,
    saltenv: str,
    engine: str,
    context: Any,
    defaults: Any,
    chunk: Chunk,
) -> bytes:
    """A file's template as this target renders it. Raises RenderError; TargetError when a call could not reach the target.

    Names: those of the state (name, source, user, group, mode, attrs), then ``defaults``, then ``context``. Salt: file.get_managed.
    """
    path = url or str(chunk.get("name") or "<text>")
    if url is not None:
        where = split_url(url, saltenv)
        found = minion.files.find(*where) if where else None
        if found is None or where is None:
            raise RenderError(f"Source file {url} not found in saltenv '{saltenv}'")
        path, saltenv = str(found.path), where[1]
        text = read_source(found, sls="", saltenv=saltenv)
    variables = {name: chunk.get(name) for name in ("name", "user", "group", "mode", "attrs")}
    variables["source"] = url
    for more in (defaults, context):
        if isinstance(more, Mapping):
            variables.update(more)
    rendered = render_text(text or "", engine, path=path, saltenv=saltenv, context=minion.context, variables=variables)
    return rendered.encode("utf-8", "surrogateescape")


def prerender(
    minion: Minion, url: str, saltenv: str, engine: str, context: Any, defaults: Any, chunk: Chunk
) -> bytes | None:
    """The template's text when it asks nothing of the target and nothing can change it before its chunk runs, else None.

    A function asked of the target raises here; what fails for any reason is rendered again, and reported, in its turn.
    """
    if _has_slots(chunk):
        return None
    try:
        return render_file(minion.without_target, url, None, saltenv, engine, context, defaults, chunk)
    except PushsaltError:
        return None


def _has_slots(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("__slot__:")
    if isinstance(value, dict):
        return any(_has_slots(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_has_slots(item) for item in value)


class Answers:
    """Serves one target's questions; each method of ``k`` gives the fields of its answer."""

    def __init__(self, minion: Callable[[], Awaitable[Minion]], in_thread: InThread[Any]) -> None:
        self._minion = minion
        self._in_thread = in_thread
        self.chunks: dict[str, Chunk] = {}

    async def __call__(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer's fields, or ``error`` and ``exception``. Never raises, except when it is cancelled."""
        handler = getattr(self, f"_{question.get('k')}", None)
        if handler is None:
            return {"error": f"unknown question {question.get('k')!r}", "exception": "SaltException"}
        try:
            minion = await self._minion()
            answer: dict[str, Any] = await self._in_thread(lambda: handler(minion, question))
            return answer
        except StateError as exc:
            return {"error": "\n".join(exc.errors), "exception": "SaltRenderError"}
        except PushsaltError as exc:
            return {"error": exc.message, "exception": getattr(exc, "exception", "CommandExecutionError")}
        except asyncio.CancelledError:
            raise
        except Exception as exc:
            log.debug("a question failed: %r", question.get("k"), exc_info=True)
            return {"error": f"{type(exc).__name__}: {exc}", "exception": type(exc).__name__}

    def _file(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        where = split_url(str(question["url"]), str(question.get("saltenv") or "base"))
        found = minion.files.find(*where) if where else None
        if found is None:
            return {"missing": True}
        digest = found.digest()
        if question.get("stat") or digest in (question.get("have") or ()):
            return {"digest": digest, "size": found.size, "have": True}
        return {"digest": digest, "size": found.size, "blob": Blob(digest, found.size, path=found.path)}

    def _tree(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        where = split_url(str(question["url"]), str(question.get("saltenv") or "base"))
        entries = tree(minion.files, *where) if where else None
        return {"missing": True} if entries is None else {"entries": entries}

    def _template(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        chunk = self.chunks.get(str(question.get("tag")), {})
        url = question.get("url")
        text = render_file(
            minion,
            None if url is None else str(url),
            question.get("text"),
            str(question.get("saltenv") or "base"),
            str(question.get("engine") or "jinja"),
            question.get("context"),
            question.get("defaults"),
            chunk,
        )
        return {"text": text}

    def _pillar(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        return {"pillar": minion.pillar}

    def _ask(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        name = str(question.get("fun"))
        own = function_named(name)
        if own is None:
            return {"error": f"'{name}' is not available.", "exception": "CommandExecutionError"}
        return {
            "ret": own(minion.derive(rendering=True), *(question.get("args") or ()), **(question.get("kwargs") or {}))
        }
