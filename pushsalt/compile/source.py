"""What the compiler is given from outside: a tree of rendered SLS files, and what is known of state functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pushsalt.errors import Position

#: saltenv -> SLS names in the order in which they are taken.
Matches = dict[str, list[str]]

#: High data: ID -> body, and the lists ``__extend__`` and ``__exclude__``. A body maps a state module to its list of
#: function names (text) and arguments (dicts), and has ``__sls__``, ``__env__`` and maybe ``__sls_included_from__``.
High = dict[str, Any]


@dataclass(frozen=True)
class RenderedSls:
    """What one SLS file rendered to. ``data`` is only read, so one result may serve many targets.

    ``path``     the source file that a person can edit
    ``is_init``  the file is ``x/init.sls``, not ``x.sls``: relative includes count from inside ``x``
    ``lines``    ID -> line of its declaration in ``path``, as far as known
    """

    data: Any
    path: str = ""
    is_init: bool = False
    lines: Mapping[str, int] = field(default_factory=dict)


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
    """Arguments of a state function. ``args`` are all that can be given by name, ``required`` those without default."""

    args: tuple[str, ...]
    required: tuple[str, ...] = ()
    kwargs: bool = False


class StateFunctions(Protocol):
    """The state functions that a target can run, known without loading them."""

    def spec(self, name: str) -> ArgSpec | None:
        """The arguments of ``module.function``; None when there is no such function."""
        ...

    def names(self) -> Iterable[str]:
        """Every ``module.function``."""
        ...


@dataclass(frozen=True)
class Problem:
    """One thing wrong in the states.

    ``text`` has Salt's words, exactly, wherever Salt has words for it: it is what a target returns. ``where`` and
    ``hint`` say more to a person: the places involved, and what to do.
    """

    text: str
    where: tuple[Position, ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        return self.text

    def explain(self) -> str:
        """The text, then a line for each place, then the hint; what the text already says is not said again."""
        places = [f"  at {place}" for place in self.where if str(place) not in self.text]
        return "\n".join([self.text, *places, *([self.hint] if self.hint and self.hint not in self.text else [])])


class Sources:
    """The SLS files that were rendered: where an ID was declared."""

    def __init__(self) -> None:
        self._rendered: dict[tuple[str, str], RenderedSls] = {}

    def add(self, saltenv: str, sls: str, rendered: RenderedSls) -> None:
        self._rendered[saltenv, sls] = rendered

    def where(self, origin: Mapping[str, Any], id_: object = None) -> tuple[Position, ...]:
        """The place of an ID in the SLS that ``origin`` (a body or chunk) names by ``__env__`` and ``__sls__``."""
        rendered = self._rendered.get((origin.get("__env__", "base"), origin.get("__sls__", "")))
        if rendered is None or not rendered.path:
            return ()
        line = rendered.lines.get(id_) if isinstance(id_, str) else None
        return (Position(rendered.path, line),)
