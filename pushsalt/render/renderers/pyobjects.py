"""Python code that creates states as objects: the renderer ``#!pyobjects``. Trusted: it runs on the controller.

Salt: salt.renderers.pyobjects, salt.utils.pyobjects. Every name in CamelCase that the file does not define is a state
module: ``PostgresUser`` is ``postgres_user``. ``import salt://map.sls`` and ``from salt://map.sls import Map [as M]``
import names from other files of the tree; states that such a file creates are ignored.

All objects belong to one rendering, since several targets are rendered at the same time.
"""

from __future__ import annotations

import builtins
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from types import CodeType, SimpleNamespace, TracebackType
from typing import Any, Final

from pushsalt.render.context import RenderContext, SaltFunctions
from pushsalt.render.problems import SourceError, raised_in_template, source_text
from pushsalt.render.source import Origin, as_text
from thin.utils.data import traverse_dict_and_list

log = logging.getLogger(__name__)

_BASES: Final = ("listen", "onchanges", "onfail", "require", "watch", "use")
REQUISITES: Final = (*_BASES, *(f"{name}_in" for name in _BASES))


class DuplicateState(Exception):
    """A state function was used twice with the same ID."""


class Registry:
    """The states of one SLS, in the order of their creation."""

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
    """``extend('id')``: the state extends one of another SLS."""

    def __init__(self, name: str) -> None:
        self.name = name


class Requisite:
    """``Pkg('nginx')`` or ``Service('nginx', 'watch_in')``: an argument, or a context whose states get it."""

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
    """``Pkg.installed('nginx', …)``; as a context, the states in it require this one."""

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
    """``Pkg``: its attributes create states, a call creates a requisite."""

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
    """The merged attributes of inner classes that match these grains. Later classes win; ``priority`` orders grains."""
    states: list[tuple[str, Any, dict[str, Any]]] = []
    for name, inner in members.items():
        if not name.startswith("_") and inspect.isclass(inner):
            grain, wanted = getattr(inner, "__grain__", "os_family"), getattr(inner, "__match__", name)
            states.append((grain, wanted, {key: item for key, item in vars(inner).items() if not key.startswith("_")}))
    priority = getattr(cls, "priority", ())
    if isinstance(priority, Iterable):
        order = {grain: at for at, grain in reversed(list(enumerate(priority)))}
        states.sort(key=lambda item: order.get(item[0], len(order)))
    else:
        log.error("pyobjects: priority is not a list")
    chosen: dict[str, Any] = {}
    for grain, wanted, attributes in states:
        if traverse_dict_and_list(grains, grain, "") == wanted:
            chosen.update(attributes)
    if hasattr(cls, "merge"):
        chosen.update(salt["pillar.get"](cls.merge) or {})
    return chosen


MAX_DEPTH: Final = 20

_IMPORT: Final = re.compile(
    r"^(\s*)(?:from\s+(?P<source>salt://.*?)\s+import\s+(?P<names>.*)|import\s+(?P<all>salt://.*?))\s*$"
)
_CAMEL: Final = re.compile(r"(?:[A-Z][a-z0-9]*)+$")
_WORD: Final = re.compile(r"[A-Z][a-z0-9]*")


@lru_cache(maxsize=256)
def _compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]
    run = _Run(context, saltenv, sls, dict(kwargs.get("context") or {}))
    names = run.globals()
    if kwargs.get("salt_data", True) is False:
        return names
    run.execute(as_text(data), path, names, 0)
    return run.registry.data()


class _Run:
    """One rendering: its states, and the files that it imports."""

    def __init__(self, context: RenderContext, saltenv: str, sls: str, variables: dict[str, Any]) -> None:
        self.registry = Registry()
        self._context = context
        self._saltenv = saltenv
        self._sls = sls
        self._variables = variables
        self._sources: dict[str, str] = {}

    def globals(self) -> dict[str, Any]:
        salt = SaltFunctions(self._context.salt)
        names: dict[str, Any] = {
            "include": self.registry.include,
            "extend": Extend,
            "Map": map_class(self._context.grains, salt),
            "salt": salt,
            **self._context.dunders(self._saltenv, self._sls),
        }
        for name in ("pillar", "grains", "mine", "config"):
            if f"{name}.get" in salt:
                names[name] = salt[f"{name}.get"]
        return {**names, **self._variables}

    def execute(self, text: str, path: str, names: dict[str, Any], depth: int) -> None:
        """Run a file; its imports and the state modules that it uses are added to ``names``."""
        self._sources[path] = text
        enabled = self.registry.enabled
        self.registry.enabled = False
        try:
            lines = [self._without_import(line, at, path, names, depth) for at, line in enumerate(text.splitlines(), 1)]
        finally:
            self.registry.enabled = enabled
        try:
            code = _compiled("\n".join(lines) + "\n", path)
            for name in _used(code):
                if name not in names and not hasattr(builtins, name) and _CAMEL.match(name):
                    names[name] = StateModule(self.registry, "_".join(_WORD.findall(name)).lower())
            exec(code, names)  # noqa: S102 - running it is what this renderer is for
        except SyntaxError as exc:
            raise SourceError(f"Python: {exc.msg}", [Origin(path, exc.lineno or 1, text)]) from None
        except (Exception, SystemExit) as exc:
            raise raised_in_template(exc, self._chain(exc)) from None

    def _chain(self, exc: BaseException) -> list[Origin]:
        """The places in these files in an exception's traceback, innermost first."""
        chain, trace = [], exc.__traceback__
        while trace is not None:
            path = trace.tb_frame.f_code.co_filename
            if path in self._sources:
                chain.append(Origin(path, trace.tb_lineno, self._sources[path]))
            trace = trace.tb_next
        return chain[::-1]

    def _without_import(self, line: str, number: int, path: str, names: dict[str, Any], depth: int) -> str:
        """The line unchanged; an import from the tree is executed here and replaced by ``pass``."""
        match = _IMPORT.match(line)
        if match is None:
            return line
        url = str(match["source"] or match["all"]).strip()
        place = Origin(path, number, self._sources[path])
        if depth >= MAX_DEPTH:
            raise SourceError(f"more than {MAX_DEPTH} files import each other", [place])
        files = self._context.fileserver
        file = files.find(url.removeprefix("salt://"), self._saltenv) if files is not None else None
        if file is None:
            raise SourceError(f"Could not find the file '{url}'", [place])
        imported = self.globals()
        try:
            self.execute(source_text(file, "pyobjects"), file.path, imported, depth + 1)
        except SourceError as exc:
            raise SourceError(exc.problem, [*exc.chain, place], exc.hint) from None
        if match["names"] is None:
            names[PurePosixPath(url).stem] = SimpleNamespace(**imported)
        else:
            for entry in match["names"].split(","):
                name, _, alias = (part.strip() for part in entry.strip().partition(" as "))
                if name not in imported:
                    raise SourceError(f"'{name}' was not found in '{url}'", [place])
                names[alias or name] = imported[name]
        return f"{match[1]}pass"


def _used(code: CodeType) -> Iterator[str]:
    """All names that the code and its functions look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used(constant)
