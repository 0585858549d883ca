"""Checks compiled chunks: useless arguments, missing files, file modes, templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pushsalt import regular
from pushsalt.check.findings import Finding, finding
from pushsalt.check.rules import BY_NAME
from pushsalt.compile import CompileResult
from pushsalt.compile.arguments import GLOBAL, is_context
from pushsalt.errors import PushsaltError
from pushsalt.model import Chunk
from pushsalt.modules.signatures import StateFunctions
from pushsalt.nearest import misspelt
from pushsalt.salturl import split_url

if TYPE_CHECKING:
    from pushsalt.check.subjects import Subject
    from pushsalt.minion.minion import Minion

_MODES: Final = ("mode", "file_mode", "dir_mode")
_OCTAL: Final = re.compile(r"0?[0-7]{3,4}|keep")
#: Decimal values of modes that were written as octal numbers of Python or YAML 1.2.
_DECIMAL: Final = {
    int(text, 8): text
    for text in (
        *("0400", "0440", "0444", "0600", "0640", "0644", "0660", "0664"),
        *("0700", "0750", "0755", "0770", "0775", "0777", "1777", "2755", "4755"),
    )
}
#: Arguments that are conditions: with them a command does not run every time.
_GUARDS: Final = frozenset(
    (
        *("unless", "onlyif", "creates", "check_cmd", "stateful", "prereq"),
        *("onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all"),
    )
)
_COMMANDS: Final = frozenset({"run", "script"})


def findings(result: CompileResult, minion: Minion, subject: Subject, pillar: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings in the chunks of one SLS on one system."""
    functions = StateFunctions(minion.custom)
    seen: set[int] = set()
    charged = _accumulated(result.chunks)
    for chunk in result.chunks:
        if id(chunk) in seen:
            continue
        seen.add(id(chunk))
        for rule, message, key, hint in (
            *_misspelt(chunk, minion, functions),
            *_modes(chunk),
            *_files(chunk, minion, subject, pillar),
            *_unguarded(chunk),
        ):
            places = result.sources.where(chunk, chunk["__id__"], chunk["state"], key)
            path, line = (places[0].path, places[0].line) if places else (subject.root, 0)
            level = "warning" if rule == "misspelt-argument" else BY_NAME[rule].level
            yield finding(rule, message, path, line, hint=hint, level=level)
        yield from _template(chunk, minion, charged.get(chunk["name"]))


#: rule, message, the argument, hint
Message = tuple[str, str, str | None, str]


def _misspelt(chunk: Chunk, minion: Minion, functions: StateFunctions) -> Iterator[Message]:
    """Arguments of a file with a template that resemble an argument of the state, and that the template does not
    use.
    """
    full = f"{chunk['state']}.{chunk['fun']}"
    spec = functions.spec(full)
    source, saltenv = chunk.get("source"), str(chunk.get("__env__") or "base")
    where = split_url(source, saltenv) if isinstance(source, str) and is_context(chunk) else None
    file = minion.files.find(*where) if where else None
    if spec is None or file is None:
        return
    accepted = {*spec.args, *GLOBAL}
    for key in chunk.keys() - accepted:
        near = misspelt(key, accepted)
        if near and not re.search(rf"\b{re.escape(key)}\b", _text(str(file.path))):
            text = f"'{key}' of {full} '{chunk['__id__']}' is probably ignored: its template does not use it"
            yield "misspelt-argument", text, key, f"Did you mean '{near}'?"


def _modes(chunk: Chunk) -> Iterator[Message]:
    for key in _MODES if chunk["state"] == "file" else ():
        value = chunk.get(key)
        if value is None or isinstance(value, bool):
            continue
        text, of = str(value), f"{key} of '{chunk['__id__']}'"
        if isinstance(value, int) and value in _DECIMAL:
            yield "mode", f"{of} is {value}, the decimal value of {_DECIMAL[value]}", key, f"write '{_DECIMAL[value]}'"
        elif not _OCTAL.fullmatch(text):
            lost = text.isdigit() and len(text) < 3
            hint = f"did you mean '{text.zfill(4)}'?" if lost else "three or four octal digits in quotes: '0644'"
            yield "mode", f"{of} is {text!r}, which is not a mode of three or four octal digits", key, hint


def _unguarded(chunk: Chunk) -> Iterator[Message]:
    if chunk["state"] == "cmd" and chunk["fun"] in _COMMANDS and _GUARDS.isdisjoint(chunk):
        hint = "add a condition: unless, onlyif, creates, or onchanges"
        yield "unguarded-command", f"cmd.{chunk['fun']} '{chunk['__id__']}' runs every time", None, hint


def _files(chunk: Chunk, minion: Minion, subject: Subject, pillar: Mapping[str, Any]) -> Iterator[Message]:
    """Chunks with ``salt://`` sources of which none exists."""
    saltenv = str(chunk.get("__env__") or "base")
    for key in ("source", "sources"):
        value = chunk.get(key)
        named = [value] if isinstance(value, str) else _flat(value)
        urls = [url for url in named if url.startswith("salt://")]
        if not urls or (len(urls) < len(named) and key == "source"):
            continue  # a file of the target, or a download, cannot be checked
        wanted = urls if key == "sources" else [urls]
        for one in wanted:
            tried = [one] if isinstance(one, str) else one
            if any(_exists(url, saltenv, minion, chunk["fun"] == "recurse") for url in tried):
                continue
            text = f"{chunk['state']}.{chunk['fun']} '{chunk['__id__']}': "
            text += f"{tried[0]} does not exist" if len(tried) == 1 else f"none of {', '.join(tried)} exists"
            ours = _is_written(tried[0], subject) and not any(_names(pillar, url) for url in tried)
            yield "missing-file" if ours else "missing-outside-file", text, key, ""


def _flat(value: Any) -> list[str]:
    """The texts of a list of sources: ``[url]``, ``[{name: url}]``, ``[{url: hash}]``."""
    texts: list[str] = []
    for item in value if isinstance(value, (list, tuple)) else ():
        texts += [str(item)] if isinstance(item, str) else []
        if isinstance(item, dict):
            texts += [str(each) for pair in item.items() for each in pair if str(each).startswith("salt://")]
    return texts


def _exists(url: str, saltenv: str, minion: Minion, folder: bool) -> bool:
    where = split_url(url, saltenv)
    if where is None:
        return True
    if folder:
        path = where[0].strip("/")
        return not path or path in minion.files.list_dirs(where[1])
    return minion.files.find(*where) is not None


def _is_written(url: str, subject: Subject) -> bool:
    """Whether a file of the tree contains the URL literally, and its first folder exists in the tree."""
    path = url.removeprefix("salt://")
    first = f"{subject.root}/{path.split('/', 1)[0]}"
    if not any(name == first or name.startswith(f"{first}/") for name in subject.files):
        return False
    return any(url in _text(name) for name in subject.sources)


@lru_cache(maxsize=2000)
def _text(path: str) -> str:
    try:
        return regular.read_text(path, "replace")
    except OSError:
        return ""


def _names(value: Any, url: str) -> bool:
    """Whether a text in pillar is the URL, or the end of it."""
    if isinstance(value, str):
        return bool(value) and (value == url or (len(value) > 3 and url.endswith(f"/{value.lstrip('/')}")))
    if isinstance(value, Mapping):
        return any(_names(key, url) or _names(item, url) for key, item in value.items())
    return isinstance(value, (list, tuple)) and any(_names(item, url) for item in value)


def _accumulated(chunks: Iterable[Chunk]) -> dict[Any, dict[str, list[Any]]]:
    """The texts of ``file.accumulated`` states: {file: {accumulator: [texts]}}."""
    charged: dict[Any, dict[str, list[Any]]] = {}
    for chunk in chunks:
        if chunk["state"] == "file" and chunk["fun"] == "accumulated" and isinstance(chunk.get("filename"), str):
            text = chunk.get("text")
            texts = charged.setdefault(chunk["filename"], {}).setdefault(chunk["name"], [])
            texts += text if isinstance(text, list) else [text]
    return charged


def _template(chunk: Chunk, minion: Minion, charged: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Render the template of a managed file as for a plan; ``charged`` are its accumulators."""
    engine, saltenv = chunk.get("template"), str(chunk.get("__env__") or "base")
    if chunk["state"] != "file" or chunk["fun"] != "managed" or not isinstance(engine, str):
        return
    from pushsalt.minion.filetemplates import names_of, render_file
    from pushsalt.minion.memoized import FILE

    sources = chunk.get("source")
    for url in [sources] if isinstance(sources, str) else _flat(sources):
        where = split_url(url, saltenv)
        file = minion.files.find(*where) if where else None
        if file is None:
            continue

        try:
            names = names_of(chunk, url)
        except ValueError as exc:
            yield _failed(f"Rendering {url} failed: {exc}", str(file.path), chunk)
            return
        context = chunk.get("context")
        if charged:
            context = {**(context if isinstance(context, dict) else {}), "accumulator": charged}
        more = (context, chunk.get("defaults"), chunk, names)

        def render(url: str = url, more: Any = more) -> str:
            try:
                render_file(minion, url, None, saltenv, engine, *more)
            except PushsaltError as exc:
                return exc.message
            return ""

        key = ("check", url, saltenv, engine, context, chunk.get("defaults"), names)
        message = minion.once(FILE, key, lambda: render().encode()).decode()
        if message:
            yield _failed(message, str(file.path), chunk)
        return


_AT: Final = re.compile(r"^  in (?P<path>.+?):(?P<line>\d+)", re.MULTILINE)


def _failed(message: str, path: str, chunk: Chunk) -> Finding:
    place = _AT.search(message)
    head = re.sub(r"^Rendering \S+ failed: |; line \d+$", "", message.split("\n", 1)[0])
    return finding(
        "template",
        f"the template of '{chunk['__id__']}' fails: {head}",
        place["path"] if place else path,
        int(place["line"]) if place else 0,
        detail=message,
    )
