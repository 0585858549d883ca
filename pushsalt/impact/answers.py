"""The answer of one side for one id: states, contents of files, pillar, and what cannot be known without the target.

An ``Answer`` is memoized as a whole, with all dependencies of its renderings: ids of both sides with equal dependencies
have the same object.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.errors import PushsaltError, StateError
from pushsalt.fileserver.tree import tree
from pushsalt.impact.side import Place, Side
from pushsalt.memo.reads import Asked, current
from pushsalt.memo.tree import Level
from pushsalt.minion.filetemplates import names_of, render_file
from pushsalt.minion.minion import Minion
from pushsalt.model import Chunk, Target, tag_of
from pushsalt.salturl import split_url

_NEEDS: Final = re.compile(r"(\S+) needs the target, and \S+ is offline")
#: Keys of a chunk that are not arguments, and only describe its place.
_INNER: Final = frozenset({"state", "fun", "__id__", "__env__", "order", "__prereq__", "__prerequiring__"})
#: Values of ``order`` from this one on are set by the compiler. Salt: State.compile_high_data.
_COUNTED: Final = 10_000
_SOURCES: Final = ("source", "sources")


@dataclass(frozen=True)
class Content:
    """A file that states put on the target: its SHA-256, and its bytes."""

    digest: str
    read: Callable[[], bytes] = field(compare=False)


@dataclass
class Answer:
    """``states``: tag -> arguments; ``files``: path on the target -> content; ``errors``: why it cannot be compiled;
    ``unknown``: texts about what depends on the target itself."""

    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, Content] = field(default_factory=dict)
    pillar: dict[str, Any] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    #: the files that it depends on, as reads (pushsalt.memo); None if it depends on more than files and data
    reads: tuple[tuple[Any, ...], ...] | None = field(default=None, compare=False)


#: An id that is not in the inventory of a side.
NOTHING: Final = Answer()
_LEVEL: Final[Level[Answer]] = Level("impact", size=lambda answer: 2000 + 500 * len(answer.states))


def answer(side: Side, target: Target, cached: Mapping[str, Any] | None) -> Answer:
    """The answer of a side for a target. ``cached``: its cached grains."""
    grains = side.grains(target, cached)
    if grains is None:
        hint = f"no grains of it are cached (pushsalt grains {target.id}), so it cannot be compiled"
        return Answer(errors=[hint])
    minion = side.minion(target, grains)
    try:
        minion.check_pillar()  # before the recording, since pillar is compiled separately for each target
        result: Answer = minion.once(_LEVEL, "impact", lambda: _looked(minion, side.place))
    except StateError as exc:
        return Answer(errors=list(_lines_of_errors(exc.errors, side.place)))
    except PushsaltError as exc:
        return Answer(errors=list(_lines_of_errors([exc.message], side.place)))
    return result


def _looked(minion: Minion, place: Place) -> Answer:
    answer = Answer(pillar=minion.pillar_result.pillar)
    result = minion.compiler.highstate()
    if result.problems:
        answer.errors = list(_lines_of_errors(result.errors, place))
        return answer
    for chunk in result.low:
        answer.states.setdefault(place.shown(tag_of(chunk)), place.shown(arguments(chunk)))
    for chunk in result.low:
        for path, content in _contents(minion, chunk, place, answer.unknown):
            answer.files.setdefault(place.shown(path), content)
    answer.unknown = list(dict.fromkeys(answer.unknown))
    answer.reads = _reads()
    return answer


def _reads() -> tuple[tuple[Any, ...], ...] | None:
    """The files that were read so far; None if the rendering asked or used anything that is not recorded as data."""
    top = current()
    if top is None or top.spoiled_at is not None or any(isinstance(read, Asked) for read, _ in top.log):
        return None
    reads = (read for read, _ in top.log if isinstance(read, tuple))
    return tuple(read for read in reads if read[0] in ("find", "read", "list"))


def _lines_of_errors(errors: Any, place: Place) -> Iterator[str]:
    """Each error as one line; those caused by the missing connection have a note about it."""
    texts = [str(error) for error in errors]
    for text in texts[1:] if len(texts) > 1 and texts[0].startswith("Pillar failed") else texts:
        match = _NEEDS.search(text)
        where = re.search(r"SLS '([^']*)'", text)
        of = f" (SLS {where[1]})" if where else ""
        yield f"{match[1]} needs the target{of}" if match else str(place.shown(text.split("\n", 1)[0]))


def arguments(chunk: Chunk) -> dict[str, Any]:
    """The arguments of a chunk, with those of the requisites, and its SLS."""
    values = {key: value for key, value in chunk.items() if key not in _INNER}
    order = chunk.get("order")
    if isinstance(order, int) and not 0 < order < _COUNTED:
        return values
    return values if order is None else {**values, "order": order}


# files ----------------------------------------------------------------------------------------------------------------


def _contents(minion: Minion, chunk: Chunk, place: Place, unknown: list[str]) -> Iterator[tuple[str, Content]]:
    """(path on the target, content) of what a chunk takes from the file roots."""
    saltenv = str(chunk.get("__env__") or "base")
    name = str(chunk.get("name"))
    template = chunk.get("template") if chunk["state"] == "file" else None
    for url in _urls([chunk.get(key) for key in _SOURCES]):
        where = split_url(url, saltenv)
        if where is None:
            continue
        if chunk["fun"] == "recurse":
            yield from _below(minion, name, *where)
            continue
        file = minion.files.find(*where)
        if file is None:
            continue
        if template:
            text = _rendered(minion, chunk, url, saltenv, str(template), place, unknown)
            if text is not None:
                data = place.shown(text)
                yield name, Content(hashlib.sha256(data).hexdigest(), lambda data=data: data)  # type: ignore[misc]
        else:
            yield name, Content(file.digest(), file.read)
        return  # the first existing source of a list is used


def _below(minion: Minion, name: str, path: str, saltenv: str) -> Iterator[tuple[str, Content]]:
    for rel, kind, digest, *_ in tree(minion.files, path, saltenv) or ():
        if kind == "f":
            below = f"{path.strip('/')}/{rel}"
            yield f"{name.rstrip('/')}/{rel}", Content(str(digest), lambda at=below: _read(minion, at, saltenv))  # type: ignore[misc]


def _read(minion: Minion, path: str, saltenv: str) -> bytes:
    return minion.files.read(path, saltenv) or b""


def _rendered(
    minion: Minion, chunk: Chunk, url: str, saltenv: str, engine: str, place: Place, unknown: list[str]
) -> bytes | None:
    """The text of a template; None, with a text in ``unknown``, if it depends on the target itself."""
    try:
        names = names_of(chunk, url)
        context, defaults = chunk.get("context"), chunk.get("defaults")
        return render_file(minion, url, None, saltenv, engine, context, defaults, chunk, names)
    except ValueError as exc:
        unknown.append(f"{chunk.get('name')}: {exc}")
    except PushsaltError as exc:
        match = _NEEDS.search(exc.message)
        why = f"it asks the target: {match[1]}" if match else place.shown(exc.message.split("\n", 1)[0])
        unknown.append(f"{chunk.get('name')}: {url} cannot be rendered: {why}")
    return None


def _urls(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if value.startswith("salt://") else []
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _urls(item)
    elif isinstance(value, Mapping):
        yield from _urls(list(value))
