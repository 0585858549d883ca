"""Answers the questions of a target while its chunks run: source files, trees, templates, pillar (thin.wire).

A target is not trusted: what it sends is data, and is never run as code here. It can ask for any file of the file
roots, to which it has access anyway. A template of another engine than Jinja, which may be Python, is rendered only if
a chunk of the plan names the file. A Jinja text that the target itself sends is rendered in a separate process, without
the project's files. Nothing is rendered in this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from pushsalt import plugins
from pushsalt.bundle.docs import docs
from pushsalt.errors import FunctionError, PushsaltError, RenderError, StateError
from pushsalt.fileserver.tree import tree
from pushsalt.minion import mine
from pushsalt.model import Blob, Chunk
from pushsalt.modules.controller import FOR_TARGETS, function_named, has_trait
from pushsalt.plan import Found
from pushsalt.salturl import split_url
from pushsalt.serializers import serializer_named
from thin.utils.nomaster import ONLY_IN_ORCHESTRATION

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion
    from pushsalt.run.rendered import RenderedTarget

log = logging.getLogger(__name__)

Result = TypeVar("Result")
#: Target types without regular expressions: a malicious expression could take unlimited time.
_PLAIN_TYPES = frozenset({"glob", "list", "grain", "pillar", "pillar_exact", "ipcidr"})
#: Limits for data that targets ask to serialize: values plus characters, and levels.
_LARGEST = 4_000_000
_DEEPEST = 50
#: Files that are sent for one question.
_MANY = 1000
_ORCHESTRATE = "pushsalt orchestrate SLS runs the states salt.state, salt.function and so on"
#: Runs a function in a worker thread.
InThread = Callable[[Callable[[], Result]], Awaitable[Result]]


class Answers:
    """Answers one target's questions: the method ``_KIND`` returns the fields of the answer for the kind ``k``."""

    def __init__(
        self,
        minion: Callable[[], Awaitable[Minion]],
        in_thread: InThread[Any],
        rendered: Callable[[], Awaitable[RenderedTarget]] | None = None,
    ) -> None:
        """``minion`` answers questions without rendering, ``rendered`` those with rendering."""
        self._minion = minion
        self._in_thread = in_thread
        self._rendered = rendered
        self.chunks: dict[str, Chunk] = {}
        self.arguments: Any = None  # of the function that is called
        #: answers questions of an orchestration's states; None if the job is not an orchestration
        self.steps: Callable[[str, list[Any], dict[str, Any]], Awaitable[Any]] | None = None

    async def __call__(self, question: dict[str, Any]) -> dict[str, Any]:
        """The fields of the answer, or ``error`` and ``exception``. Raises nothing but CancelledError."""
        handler = getattr(self, f"_{question.get('k')}", None)
        if handler is None:
            return {"error": f"unknown question {question.get('k')!r}", "exception": "SaltException"}
        try:
            answer: dict[str, Any]
            if question.get("k") in ("template", "pillar"):
                answer = await handler(question)
                return answer
            if str(question.get("fun")).startswith("orchestrate."):
                if self.steps is None:
                    raise FunctionError("exception", ONLY_IN_ORCHESTRATION, _ORCHESTRATE, "CommandExecutionError")
                fun, args, kwargs = str(question["fun"]), question.get("args"), question.get("kwargs")
                return {"ret": await self.steps(fun, list(args or ()), dict(kwargs or {}))}
            minion = await self._minion()
            answer = await self._in_thread(lambda: handler(minion, question))
            return answer
        except StateError as exc:
            return {"error": "\n".join(exc.errors), "exception": "SaltRenderError"}
        except PushsaltError as exc:
            return {"error": exc.message, "exception": getattr(exc, "exception", "CommandExecutionError")}
        except asyncio.CancelledError:
            raise
        except (Exception, SystemExit) as exc:
            log.debug("a question failed: %r", question.get("k"), exc_info=True)
            return {"error": f"{type(exc).__name__}: {exc}", "exception": type(exc).__name__}

    def _file(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        url = str(question["url"])
        where = split_url(url, str(question.get("saltenv") or "base"))
        file: Found | None = minion.files.find(*where) if where else None
        if where is None and self._is_ours(url):
            file = minion.project.command.sources.find(url)
        if file is None:
            return {"missing": True}
        digest = file.digest()
        if question.get("stat") or digest in (question.get("have") or ()):
            return {"digest": digest, "size": file.size, "have": True}
        blob = Blob(digest, file.size, file.path, open=file.open)
        return {"digest": digest, "size": file.size, "blobs": [(blob, question.get("part"))]}

    def _is_ours(self, url: str) -> bool:
        """Whether a chunk of this run or the command's arguments contain the URL: a target cannot invent one."""
        return any(_mentions(one, url) for one in (*self.chunks.values(), self.arguments))

    def _files(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        """Many files in one answer, for ``file.recurse``; files that do not exist any more are left out."""
        blobs = []
        for url, part in list(question["files"])[:_MANY]:
            where = split_url(str(url), str(question.get("saltenv") or "base"))
            file = minion.files.find(*where) if where else None
            if file is not None:
                blobs.append((Blob(file.digest(), file.size, file.path, open=file.open), part))
        return {"digests": [blob.digest for blob, _ in blobs], "blobs": blobs}

    def _tree(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        where = split_url(str(question["url"]), str(question.get("saltenv") or "base"))
        entries = tree(minion.files, *where) if where else None
        return {"missing": True} if entries is None else {"entries": entries}

    async def _template(self, question: dict[str, Any]) -> dict[str, Any]:
        chunk = self.chunks.get(str(question.get("tag")), {})
        url, text, engine = question.get("url"), question.get("text"), str(question.get("engine") or "jinja")
        saltenv = str(question.get("saltenv") or "base")
        names = question.get("names")
        more = (question.get("context"), question.get("defaults"), chunk, names if isinstance(names, dict) else None)
        target = await self._target()
        if url is None:
            if engine != "jinja":
                raise RenderError(f"only files of the file roots are rendered as {engine!r}: `contents` is Jinja")
            return {"text": await target.foreign(str(text or ""), saltenv, *more)}
        if engine != "jinja" and not (_is_named(chunk, url) and chunk.get("template") == engine):
            raise RenderError(f"{url} is not rendered as {engine!r}: no state of this run says so")
        return {"text": await target.template(str(url), saltenv, engine, *more)}

    async def _pillar(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"pillar": await (await self._target()).pillar()}

    async def _target(self) -> RenderedTarget:
        if self._rendered is None:
            raise RenderError("templates are not rendered for this target")
        return await self._rendered()

    def _salt(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        if minion.project.salt_python is None:
            return {"error": "there is no salt_python", "exception": "SaltException"}
        return minion.project.salt_python.answer(question)

    def _ask(self, minion: Minion, question: dict[str, Any]) -> dict[str, Any]:
        name = str(question.get("fun"))
        if name == "mine.store":
            return {"ret": _set_mine(minion, *question.get("args") or ())}
        if name == "sys.docs":
            return {"ret": docs(*question.get("args") or ((),))}
        own = function_named(name) if has_trait(name, FOR_TARGETS) else None
        if own is None:
            return {"error": f"'{name}' is not available.", "exception": "CommandExecutionError"}
        args, kwargs = list(question.get("args") or ()), dict(question.get("kwargs") or {})
        minion = minion.without_target
        if name.startswith("slsutil."):
            chunks = self.chunks.values()
            return {"ret": _serialized(minion, chunks, name.partition(".")[2], *args, **kwargs)}
        return {"ret": own(minion, *args, **kwargs)}


def _set_mine(minion: Minion, values: Any, clear: Any = False) -> bool:
    """Store mine values of a target. It can only set its own."""
    if not isinstance(values, dict):
        raise StateError("the mine takes a mapping of values")
    _modest(values)
    for name, value in values.items():
        _, allowed = mine.unwrap(value)
        if allowed is not None and allowed[1] not in _PLAIN_TYPES:
            raise FunctionError(
                "exception",
                f"{name}: a target may set allow_tgt_type to {', '.join(sorted(_PLAIN_TYPES))}, "
                f"not to {allowed[1]:.20}: define it in mine_functions of the configuration, the roster or pillar",
                "do not pass allow_tgt_type when the target itself sends the value",
                "CommandExecutionError",
            )
    named = {str(name): value for name, value in values.items()}
    return mine.store(minion.project, minion.target, named, clear=clear is True)


def _serialized(minion: Minion, chunks: Iterable[Chunk], what: str, kind: object, value: Any, **options: Any) -> Any:
    """``slsutil.serialize`` or ``deserialize`` for a target, with limits on the data and its options.

    Users' own serializers are used only if a ``file.serialize`` chunk of the plan names them. Raises what a serializer
    raises; the target gets the name of the exception.
    """
    _modest(value)
    for name, option in options.items():
        for part in option if isinstance(option, list | tuple) else [option]:
            if not isinstance(part, bool | int | str | None) or len(str(part)) > (2 if name == "indent" else 8):
                raise StateError(f"{what}: the option {name!r} cannot be {part!r:.40}")
    named = {chunk.get(key) for chunk in chunks for key in ("serializer", "formatter") if chunk.get("state") == "file"}
    places = plugins.folders("serializers", minion.project.config.opts) if kind in named else ()
    result = getattr(serializer_named(str(kind), places), what)(value, **options)
    if what == "deserialize":  # a small property list can expand to very much data
        _modest(result)
    return result


def _modest(value: Any) -> None:
    """Raises StateError for data over the limits: its serialized text could fill the controller's memory."""
    size = 0
    level = [value]
    for _ in range(_DEEPEST):
        size += sum(1 + len(item) if isinstance(item, str | bytes | dict | list) else 1 for item in level)
        if size > _LARGEST:
            break
        level = [part for item in level if isinstance(item, dict | list) for part in _parts(item)]
        if not level:
            return
    raise StateError(f"more than {_LARGEST} values and characters, or {_DEEPEST} levels of them: too much")


def _parts(value: dict[Any, Any] | list[Any]) -> Iterable[Any]:
    return (*value.keys(), *value.values()) if isinstance(value, dict) else value


def _is_named(chunk: Chunk, url: object) -> bool:
    """Whether the chunk has this URL as its source."""
    return any(url == named for key in ("source", "name") for named in _texts(chunk.get(key)))


def _mentions(value: Any, text: str) -> bool:
    if isinstance(value, dict):
        return any(_mentions(item, text) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple):
        return any(_mentions(item, text) for item in value)
    return isinstance(value, str) and value == text


def _texts(value: Any) -> list[str]:
    """The texts of a list; for a text, a list of it."""
    return [str(item) for item in value] if isinstance(value, list) else [] if value is None else [str(value)]
