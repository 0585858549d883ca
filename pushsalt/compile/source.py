"""The inputs of the compiler: a tree of rendered SLS files, and the signatures of state functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pushsalt.errors import Position
from pushsalt.excerpt import excerpt
from pushsalt.model import Explained
from pushsalt.render.source import Origin

#: saltenv -> SLS names, in order.
Matches = dict[str, list[str]]

#: High data: ID -> body, and the lists ``__extend__`` and ``__exclude__``. A body maps a state module to its list of
#: function names (text) and arguments (dicts), and has ``__sls__``, ``__env__`` and maybe ``__sls_included_from__``.
High = dict[str, Any]


@dataclass(frozen=True)
class Place(Position):
    """The position of a problem. ``source``: the file's text, for excerpts; ``note``: why the place is shown.

    ``via``: the callers of the macro that contains it. ``sls``: the SLS of this file.
    """

    source: str = field(default="", repr=False, compare=False)
    note: str = ""
    via: tuple[Position, ...] = ()
    sls: str = field(default="", compare=False)


@dataclass(frozen=True)
class RenderedSls:
    """The result of rendering one SLS file. ``data`` must not be changed, since targets share results.

    ``path``     the source file
    ``is_init``  the file is ``x/init.sls``, not ``x.sls``: relative includes count from inside ``x``
    ``lines``    ID -> line of its declaration in ``path``, if known
    ``origin``   path of keys and indices in ``data`` -> its place, maybe in another file; called for errors only
    """

    data: Any
    path: str = ""
    is_init: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)
    origin: Callable[[Sequence[Any]], Origin | None] | None = None

    def place(self, *keys: Any) -> Place | None:
        """The place of a key of the data; if unknown, of the nearest enclosing key, or only the file."""
        if self.origin is not None:
            for length in range(len(keys), 0, -1):
                origin = self.origin(keys[:length])
                if origin is not None:
                    via = tuple(caller.position for caller in origin.via)
                    return Place(origin.path, origin.line, source=origin.text, via=via)
        line = self.lines.get(keys[0]) if keys and isinstance(keys[0], str) else None
        return Place(self.path, line) if self.path else None


class StateTree(Protocol):
    """Rendered files of a file server, for one target.

    The render methods return None for a missing file and raise RenderError, with Salt's text, for one that cannot be
    rendered.
    """

    def envs(self) -> Sequence[str]:
        """The saltenvs of the file server; ``base`` may be missing in the list."""
        ...

    def list_states(self, saltenv: str) -> Sequence[str]:
        """Every SLS name of a saltenv, sorted."""
        ...

    def render_sls(self, sls: str, saltenv: str) -> RenderedSls | None: ...

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None:
        """Render a file as an SLS, by its path below the file roots: the top file."""
        ...


@dataclass(frozen=True)
class ArgSpec:
    """The signature of a state function. ``args``: all named arguments, ``required``: those without default.

    ``kwargs``: it accepts others too; ``ours``: it is shipped with pushsalt, so that these can be checked.
    """

    args: tuple[str, ...]
    required: tuple[str, ...] = ()
    kwargs: bool = False
    ours: bool = False


@dataclass(frozen=True)
class Keywords:
    """Argument names that a function may use besides its declared ones.

    ``siblings``  arguments of all functions of its module, since states are edited from ``managed`` to ``absent``
    ``called``    ``siblings``, and arguments of functions that these call
    ``names``     ``called``, and words in the source of any of these functions
    ``prefixed``  further such words, each of a prefix and a word of the same file
    ``modules``   execution modules that may be called
    ``data``      the function takes any name; ``names`` has those with a meaning for it
    """

    siblings: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    prefixed: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    data: bool = False

    def has(self, name: str) -> bool:
        """Whether a name is one of these."""
        return name in self.names or name in self.prefixed


class StateFunctions(Protocol):
    """The state functions of a target, read from source without importing it."""

    def spec(self, name: str) -> ArgSpec | None:
        """The signature of ``module.function``; None for an unknown function."""
        ...

    def keywords(self, name: str) -> Keywords | None:
        """The names that a shipped function with ``**kwargs`` may use; None if they are unknown."""
        ...

    def names(self) -> Iterable[str]:
        """Every ``module.function``."""
        ...


#: Maximum number of places that are shown of a problem, and of those that are shown with an excerpt.
MAX_PLACES, MAX_EXCERPTS = 20, 6


@dataclass(frozen=True)
class Problem:
    """An error or warning about states.

    ``text`` is exactly Salt's text, if Salt has one: a target returns it. For people there are ``where``, the places,
    ``hint``, what to do, and ``words``, which replaces texts that are hard to read. ``dangling``: a reference to a
    missing state is the problem. ``rule`` is the rule's name for `pushsalt check`. ``compiling``: Salt finds it when it
    compiles, and returns the text unchanged. ``level``: ``error``, or ``warning``, which does not keep states from
    running.
    """

    text: str
    where: tuple[Position, ...] = ()
    hint: str = ""
    dangling: bool = False
    words: str = ""
    rule: str = "malformed"
    compiling: bool = True
    level: str = "error"

    def __str__(self) -> str:
        return self.text

    def explained(self) -> Explained:
        """The text for programs, with the explanation for people attached.

        Salt's text is unchanged if it names the SLS; otherwise the places are appended.
        """
        unnamed = dict.fromkeys(str(place) for place in self.where[:MAX_PLACES] if not self._names(place))
        text = "\n  in ".join([self.text.rstrip(), *unnamed]) if unnamed else self.text
        return Explained(text, self.explain())

    def _names(self, place: Position) -> bool:
        """Whether the text contains the place: file and line, or the SLS in one of Salt's notations."""
        if self.text.startswith("No matching sls found for "):
            return True
        sls = place.sls if isinstance(place, Place) and self.compiling else ""
        written = rf"""SLS'?:? ?['"\[]?(?:[^\s:'"]+:)?{re.escape(sls)}(?![\w.])"""
        return str(place) in self.text or bool(sls and re.search(written, self.text))

    def explain(self) -> str:
        """The text, the places with excerpts, and the hint, without repetitions."""
        parts = [self.words or self.text.rstrip("\n")]
        places = list({(str(place), getattr(place, "note", "")): place for place in self.where}.values())
        for number, place in enumerate(places[:MAX_PLACES]):
            if isinstance(place, Place):
                note, via, shown = place.note, place.via, excerpt(place.source, place.line, context=2)
            else:
                note, via, shown = "", (), ""
            if f"{place}" not in self.text:
                parts.append(f"  in {place}" + (f"  ({note})" if note else ""))
                parts += [f"  from {caller}" for caller in via]
                if shown and number < MAX_EXCERPTS:
                    parts.append(f"\n{shown}\n")
        if len(places) > MAX_PLACES:
            parts.append(f"  and {len(places) - MAX_PLACES} more places")
        if self.hint and self.hint not in self.text:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts).rstrip("\n")


class SourcePositions:
    """The rendered SLS files, to find the places of IDs and their parts."""

    def __init__(self) -> None:
        self._rendered: dict[tuple[str, str], RenderedSls] = {}

    def add(self, saltenv: str, sls: str, rendered: RenderedSls) -> None:
        self._rendered[saltenv, sls] = rendered

    @property
    def paths(self) -> frozenset[str]:
        """The files."""
        return frozenset(rendered.path for rendered in self._rendered.values())

    def where(
        self, origin: Mapping[str, Any], id_: object = None, module: str = "", key: Any = None, value: Any = None
    ) -> tuple[Place, ...]:
        """The place of an ID in the SLS of ``origin`` (a body or chunk), by its ``__env__`` and ``__sls__``.

        With ``module``, ``key`` and ``value``, the place of the ID's state module, its argument, an item of that.
        """
        rendered = self._of(origin)
        keys = _path_in(rendered.data, id_, module, key, value) if rendered is not None else []
        return self.at(origin, *keys)

    def at(self, origin: Mapping[str, Any], *keys: Any) -> tuple[Place, ...]:
        """The place of a key, by its path in the data of the SLS of ``origin``."""
        rendered = self._of(origin)
        place = rendered.place(*keys) if rendered is not None else None
        if rendered is None or place is None:
            return ()
        return (replace(place, sls=origin["__sls__"] if place.path == rendered.path else ""),)

    def _of(self, origin: Mapping[str, Any]) -> RenderedSls | None:
        saltenv, sls = origin.get("__env__", "base"), origin.get("__sls__", "")
        return self._rendered.get((saltenv, sls)) if isinstance(saltenv, str) and isinstance(sls, str) else None


def _path_in(data: Any, id_: Any, module: str, key: Any, value: Any) -> list[Any]:
    """The path of keys to an item in the unmerged data of an SLS, as far as it exists."""
    path = [id_] if id_ is not None else []
    body = data.get(id_) if isinstance(data, dict) and isinstance(id_, str) else None
    if not module or not isinstance(body, dict):
        return path
    # ``pkg: [installed, ..]`` and ``pkg.installed: [..]`` were normalized to the same form
    written = next((each for each in body if module in (each, str(each).partition(".")[0])), None)
    if written is None:
        return path
    path.append(written)
    args = body[written]
    for index, arg in enumerate(args if key is not None and isinstance(args, list) else ()):
        if arg == key:
            return [*path, index]
        if isinstance(arg, dict) and key in arg:
            path += [index, key]
            items = arg[key] if isinstance(arg[key], list) else []
            return [*path, items.index(value)] if value in items else path
    return path


def place_in_tops(tops: Iterable[RenderedSls], saltenv: object, expression: object = None) -> tuple[Place, ...]:
    """The places of a saltenv, or of a target expression in it, in the top files; else all top files."""
    of_env = [top for top in tops if saltenv in top.data]
    keys = [saltenv] if expression is None else [saltenv, expression]
    exact = [top for top in of_env if expression is None or _has(top.data[saltenv], expression)]
    places = [top.place(*keys) for top in exact or of_env]
    return tuple(place for place in places if place is not None) or tuple(
        Place(top.path, source="") for top in tops if top.path
    )


def named_in_tops(tops: Iterable[RenderedSls], saltenv: str, sls: str) -> tuple[Place, ...]:
    """The places where top files literally name an SLS."""
    places = []
    for top in tops:
        section = top.data.get(saltenv)
        for expression, items in section.items() if isinstance(section, dict) else ():
            if isinstance(items, list) and sls in items:
                places.append(top.place(saltenv, expression, items.index(sls)))
    return tuple(place for place in places if place is not None)


def _has(section: Any, key: object) -> bool:
    return isinstance(section, dict) and key in section
