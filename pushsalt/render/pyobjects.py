"""States as Python objects: what the text of a ``#!pyobjects`` file can name. Salt: salt.utils.pyobjects.

Everything belongs to one rendering: several targets are rendered at the same time.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final

from pushsalt.render.context import SaltFunctions
from thin.utils.data import traverse_dict_and_list

log = logging.getLogger(__name__)

_BASES: Final = ("listen", "onchanges", "onfail", "require", "watch", "use")
REQUISITES: Final = (*_BASES, *(f"{name}_in" for name in _BASES))


class DuplicateState(Exception):
    """The same function twice under one ID."""


class Registry:
    """The states of one SLS, in the order in which they were made."""

    def __init__(self) -> None:
        self.enabled = True
        self._states: dict[str, dict[str, Any]] = {}
        self._extended: dict[str, dict[str, Any]] = {}
        self._includes: list[Any] = []
        self._requisites: list[Requisite] = []

    def include(self, *names: Any) -> None:
        if self.enabled:
            self._includes.extend(names)

    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = dict(self._states)
        if self._includes:
            data["include"] = self._includes
        if self._extended:
            data["extend"] = self._extended
        return data

    def add(self, sid: str, state: State, *, extend: bool) -> None:
        if not self.enabled:
            return
        states = (self._extended if extend else self._states).setdefault(sid, {})
        if state.function in states:
            raise DuplicateState(f"A state with id '{sid}', type '{state.function}' exists")
        for requisite in self._requisites:
            state.kwargs.setdefault(requisite.kind, []).append(requisite)
        states[state.function] = state.args()

    def push(self, requisite: Requisite) -> None:
        if self.enabled:
            self._requisites.append(requisite)

    def pop(self) -> None:
        if self.enabled:
            self._requisites.pop()


class Extend:
    """``extend('id')``: the state that is made belongs to another SLS."""

    def __init__(self, name: str) -> None:
        self.name = name


class Requisite:
    """``Pkg('nginx')`` or ``Service('nginx', 'watch_in')``: an argument, or a block whose states have it."""

    def __init__(self, registry: Registry, kind: str, module: str, sid: str) -> None:
        self.kind = kind
        self._registry = registry
        self._module = module
        self._sid = sid

    def __call__(self) -> dict[str, str]:
        return {self._module: self._sid}

    def __enter__(self) -> None:
        self._registry.push(self)

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._registry.pop()


class State:
    """``Pkg.installed('nginx', …)``; as a block, its states require it."""

    def __init__(
        self, registry: Registry, sid: str | Extend, module: str, function: str, kwargs: dict[str, Any]
    ) -> None:
        self.function = f"{module}.{function}"
        self.kwargs = kwargs
        for name in REQUISITES:
            if name in kwargs:
                value = kwargs[name]
                kwargs[name] = (
                    [value] if isinstance(value, Requisite) or not isinstance(value, Iterable) else list(value)
                )
        name = sid.name if isinstance(sid, Extend) else sid
        registry.add(name, self, extend=isinstance(sid, Extend))
        self._requisite = Requisite(registry, "require", module, name)

    def args(self) -> list[dict[str, Any]]:
        """The arguments as an SLS has them, sorted by name."""
        return [
            {name: _plain(self.kwargs[name]) if name in REQUISITES else self.kwargs[name]}
            for name in sorted(self.kwargs)
        ]

    def __enter__(self) -> None:
        self._requisite.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requisite.__exit__(kind, exc, trace)


def _plain(requisites: Iterable[Any]) -> list[Any]:
    return [item() if isinstance(item, Requisite) else item for item in requisites]


class StateModule:
    """``Pkg``: its attributes make states, a call makes a requisite."""

    def __init__(self, registry: Registry, module: str) -> None:
        self._registry = registry
        self._module = module

    def __getattr__(self, function: str) -> Callable[..., State]:
        if function.startswith("__"):
            raise AttributeError(function)

        def make(id_: str | Extend, **kwargs: Any) -> State:
            return State(self._registry, id_, self._module, function, kwargs)

        return make

    def __call__(self, id_: str, requisite: str = "require") -> Requisite:
        return Requisite(self._registry, requisite, self._module, id_)


def map_class(grains: Mapping[str, Any], salt: SaltFunctions) -> type:
    """``Map``, the base of classes whose attributes are chosen by grains, then updated from pillar."""

    class MapMeta(type):
        def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
            super().__init__(name, bases, members)
            for attribute, value in _chosen(cls, members, grains, salt).items():
                setattr(cls, attribute, value)

    return MapMeta("Map", (), {})


def _chosen(cls: Any, members: Mapping[str, Any], grains: Mapping[str, Any], salt: SaltFunctions) -> dict[str, Any]:
    """What the inner classes that fit these grains have, later ones over earlier ones; ``priority`` orders grains."""
    found: list[tuple[str, Any, dict[str, Any]]] = []
    for name, inner in members.items():
        if not name.startswith("_") and inspect.isclass(inner):
            grain, wanted = getattr(inner, "__grain__", "os_family"), getattr(inner, "__match__", name)
            found.append((grain, wanted, {key: item for key, item in vars(inner).items() if not key.startswith("_")}))
    priority = getattr(cls, "priority", ())
    if isinstance(priority, Iterable):
        order = {grain: at for at, grain in reversed(list(enumerate(priority)))}
        found.sort(key=lambda item: order.get(item[0], len(order)))
    else:
        log.error("pyobjects: priority must be an iterable")
    chosen: dict[str, Any] = {}
    for grain, wanted, attributes in found:
        if traverse_dict_and_list(grains, grain, "") == wanted:
            chosen.update(attributes)
    if hasattr(cls, "merge"):
        chosen.update(salt["pillar.get"](cls.merge) or {})
    return chosen
