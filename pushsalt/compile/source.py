"""What the compiler is given from outside: a tree of rendered SLS files, and what is known of state functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pushsalt.errors import Position
from pushsalt.excerpt import excerpt
from pushsalt.model import Explained
from pushsalt.render.source import Origin

#: saltenv -> SLS names in the order in which they are taken.
Matches = dict[str, list[str]]

#: High data: ID -> body, and the lists ``__extend__`` and ``__exclude__``. A body maps a state module to its list of
#: function names (text) and arguments (dicts), and has ``__sls__``, ``__env__`` and maybe ``__sls_included_from__``.
High = dict[str, Any]


@dataclass(frozen=True)
class Place(Position):
    """A place of a problem: ``source`` is the file's text, for the lines around it; ``note`` says why it is named.

    ``via`` are the places that led to it: those that call the macro that it is in. ``sls``: whose own file it is.
    """

    source: str = field(default="", repr=False, compare=False)
    note: str = ""
    via: tuple[Position, ...] = ()
    sls: str = field(default="", compare=False)


@dataclass(frozen=True)
class RenderedSls:
    """What one SLS file rendered to. ``data`` is only read, so one result may serve many targets.

    ``path``     the source file that a person can edit
    ``is_init``  the file is ``x/init.sls``, not ``x.sls``: relative includes count from inside ``x``
    ``lines``    ID -> line of its declaration in ``path``, as far as known
    ``origin``   path of keys and indices in ``data`` -> where that was written, maybe in another file; asked for errors
    """

    data: Any
    path: str = ""
    is_init: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)
    origin: Callable[[Sequence[Any]], Origin | None] | None = None

    def place(self, *keys: Any) -> Place | None:
        """Where a key of the data was written, or else the nearest one around it, or else the file alone."""
        if self.origin is not None:
            for length in range(len(keys), 0, -1):
                origin = self.origin(keys[:length])
                if origin is not None:
                    via = tuple(caller.position for caller in origin.via)
                    return Place(origin.path, origin.line, source=origin.text, via=via)
        line = self.lines.get(keys[0]) if keys and isinstance(keys[0], str) else None
        return Place(self.path, line) if self.path else None


class StateTree(Protocol):
    """A file server seen through a renderer, for one target.

    The render methods return None for a file that does not exist and raise RenderError, complete with its words, for
    one that cannot be rendered.
    """

    def envs(self) -> Sequence[str]:
        """The saltenvs that the file server has; ``base`` need not be named."""
        ...

    def list_states(self, saltenv: str) -> Sequence[str]:
        """Every SLS name of a saltenv, sorted."""
        ...

    def render_sls(self, sls: str, saltenv: str) -> RenderedSls | None: ...

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None:
        """A file by its path below the file roots, rendered as SLS are: the top file."""
        ...


@dataclass(frozen=True)
class ArgSpec:
    """Arguments of a state function. ``args`` are all that can be given by name, ``required`` those without default.

    ``kwargs``: it takes others too; ``ours``: it is shipped, so that those can be known.
    """

    args: tuple[str, ...]
    required: tuple[str, ...] = ()
    kwargs: bool = False
    ours: bool = False


@dataclass(frozen=True)
class Keywords:
    """Names that a function may know besides those that it declares.

    ``siblings``  arguments of all functions of its module: states are changed from ``managed`` to ``absent``
    ``called``    those, and arguments of functions that they call
    ``names``     those, and words that stand in the text of any of them
    ``prefixes``  beginnings of more such words
    ``modules``   the execution modules that may be called
    """

    siblings: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    modules: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether it is one of all these names."""
        return name in self.names or name.startswith(self.prefixes)


class StateFunctions(Protocol):
    """The state functions that a target can run, known without loading them."""

    def spec(self, name: str) -> ArgSpec | None:
        """The arguments of ``module.function``; None when there is no such function."""
        ...

    def keywords(self, name: str) -> Keywords | None:
        """What a shipped function that takes anything may know; None when it takes any data."""
        ...

    def names(self) -> Iterable[str]:
        """Every ``module.function``."""
        ...


#: Places of one problem that are shown, and those that are shown with the lines around them.
MAX_PLACES, MAX_EXCERPTS = 20, 6


@dataclass(frozen=True)
class Problem:
    """One thing wrong in the states.

    ``text`` has Salt's words, exactly, wherever Salt has words for it: it is what a target returns. ``where`` and
    ``hint`` say more to a person: the places involved, and what to do; ``words`` stand in for texts that are hard to
    read. ``dangling``: it refers to what is not there. ``rule`` names the kind of problem for `pushsalt check`.
    ``compiling``: Salt finds it when it compiles, and returns the text as it is. ``level``: ``error``, or ``warning``
    for what keeps nothing from running.
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
        """The text for machines, which has the explanation for people with it.

        Salt's words stay as they are where they name the SLS that is meant; else the places follow them.
        """
        unnamed = [place for place in self.where[:MAX_PLACES] if not self._names(place)]
        text = "\n  in ".join([self.text.rstrip(), *map(str, unnamed)]) if unnamed else self.text
        return Explained(text, self.explain())

    def _names(self, place: Position) -> bool:
        """Whether the text says where that is: file and line, or the SLS in one of the ways in which Salt writes it."""
        if self.text.startswith("No matching sls found for "):
            return True
        sls = place.sls if isinstance(place, Place) and self.compiling else ""
        written = rf"""SLS'?:? ?['"\[]?(?:[^\s:'"]+:)?{re.escape(sls)}(?![\w.])"""
        return str(place) in self.text or bool(sls and re.search(written, self.text))

    def explain(self) -> str:
        """The text, the places with the lines around them, the hint; what the text already says is not said again."""
        parts = [self.words or self.text.rstrip("\n")]
        for number, place in enumerate(self.where[:MAX_PLACES]):
            if isinstance(place, Place):
                note, via, shown = place.note, place.via, excerpt(place.source, place.line, context=2)
            else:
                note, via, shown = "", (), ""
            if f"{place}" not in self.text:
                parts.append(f"  in {place}" + (f"  ({note})" if note else ""))
                parts += [f"  from {caller}" for caller in via]
                if shown and number < MAX_EXCERPTS:
                    parts.append(f"\n{shown}\n")
        if len(self.where) > MAX_PLACES:
            parts.append(f"  and {len(self.where) - MAX_PLACES} more places")
        if self.hint and self.hint not in self.text:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts).rstrip("\n")


class SourcePositions:
    """The SLS files that were rendered: where an ID was declared, and what is in it."""

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
        """The place of an ID in the SLS that ``origin`` (a body or chunk) names by ``__env__`` and ``__sls__``.

        With ``module``, ``key`` and ``value`` that of the ID's state module, of an argument of it, of an item in that.
        """
        rendered = self._of(origin)
        keys = _path_in(rendered.data, id_, module, key, value) if rendered is not None else []
        return self.at(origin, *keys)

    def at(self, origin: Mapping[str, Any], *keys: Any) -> tuple[Place, ...]:
        """The place of a key by its path in the data of the SLS that ``origin`` names."""
        rendered = self._of(origin)
        place = rendered.place(*keys) if rendered is not None else None
        if rendered is None or place is None:
            return ()
        return (replace(place, sls=origin["__sls__"] if place.path == rendered.path else ""),)

    def _of(self, origin: Mapping[str, Any]) -> RenderedSls | None:
        saltenv, sls = origin.get("__env__", "base"), origin.get("__sls__", "")
        return self._rendered.get((saltenv, sls)) if isinstance(saltenv, str) and isinstance(sls, str) else None


def _path_in(data: Any, id_: Any, module: str, key: Any, value: Any) -> list[Any]:
    """The path of keys to something in an SLS's data, as far as it is there: as it was written, before any merging."""
    path = [id_] if id_ is not None else []
    body = data.get(id_) if isinstance(data, dict) and isinstance(id_, str) else None
    if not module or not isinstance(body, dict):
        return path
    # ``pkg: [installed, ..]`` and ``pkg.installed: [..]`` are one thing by now
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
    """Where the top files speak of a saltenv, or of a target expression in it; else all of them."""
    of_env = [top for top in tops if saltenv in top.data]
    keys = [saltenv] if expression is None else [saltenv, expression]
    exact = [top for top in of_env if expression is None or _has(top.data[saltenv], expression)]
    places = [top.place(*keys) for top in exact or of_env]
    return tuple(place for place in places if place is not None) or tuple(
        Place(top.path, source="") for top in tops if top.path
    )


def named_in_tops(tops: Iterable[RenderedSls], saltenv: str, sls: str) -> tuple[Place, ...]:
    """Where the top files name an SLS, literally."""
    places = []
    for top in tops:
        section = top.data.get(saltenv)
        for expression, items in section.items() if isinstance(section, dict) else ():
            if isinstance(items, list) and sls in items:
                places.append(top.place(saltenv, expression, items.index(sls)))
    return tuple(place for place in places if place is not None)


def _has(section: Any, key: object) -> bool:
    return isinstance(section, dict) and key in section
