"""Memoizes the compiled states of targets, for other targets with equal inputs."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pushsalt.compile import CompileResult, Problem, StateCompiler
from pushsalt.memo.tree import Level
from pushsalt.minion.shared import MemoPillar
from thin.utils.dictupdate import copy_containers

if TYPE_CHECKING:
    from pushsalt.compile.source import High
    from pushsalt.model import Target


class _Packed:
    """Data that is copied for each target: dicts and lists at any depth are copied, texts are shared."""

    __slots__ = ("_recipe", "_size")

    def __init__(self, data: dict[str, Any]) -> None:
        own = copy_containers(data)
        self._recipe = _recipe(own)
        try:
            self._size = len(marshal.dumps(own, 2))
        except ValueError:  # it contains subclasses of str or dict
            self._size = 10 * len(repr(own))

    def copy(self) -> dict[str, Any]:
        data: dict[str, Any] = _copy_of(self._recipe)
        return data

    def __len__(self) -> int:
        return self._size


class _Recipe(NamedTuple):
    """A dict or list, and its items that are dicts or lists: ``flat`` contain none themselves, ``deep`` do."""

    outer: Any
    flat: tuple[tuple[Any, Any], ...]
    deep: tuple[tuple[Any, _Recipe], ...]


@dataclass(frozen=True)
class _Derived:
    """A value of a subclass of dict or list."""

    value: Any

    def copy(self) -> Any:
        return copy_containers(self.value)


def _recipe(outer: Any) -> _Recipe:
    flat: list[tuple[Any, Any]] = []
    deep: list[tuple[Any, _Recipe]] = []
    for place, item in outer.items() if type(outer) is dict else enumerate(outer):
        if type(item) is dict or type(item) is list:
            inner = _recipe(item)
            if inner.flat or inner.deep:
                deep.append((place, inner))
            else:
                flat.append((place, item))
        elif isinstance(item, (dict, list)):
            flat.append((place, _Derived(item)))
    return _Recipe(outer, tuple(flat), tuple(deep))


def _copy_of(recipe: _Recipe) -> Any:
    """A copy of the value of a recipe. Faster than unmarshalling or ``copy_containers``: most containers are flat."""
    outer, flat, deep = recipe
    value = outer.copy()
    for place, item in flat:
        value[place] = item.copy()
    for place, inner in deep:
        value[place] = _copy_of(inner)
    return value


@dataclass(frozen=True)
class _Compiled:
    """A CompileResult for many targets: its data is copied, its problems are shared."""

    data: _Packed
    problems: tuple[Problem, ...]


#: Fields that are not copied: problems are immutable, and sources are not needed after the problems were found.
_NO_DATA: Final = ("problems", "sources")


def _keep(result: CompileResult) -> _Compiled:
    data = {each.name: getattr(result, each.name) for each in fields(result) if each.name not in _NO_DATA}
    return _Compiled(_Packed(data), tuple(result.problems))


def _give(kept: _Compiled) -> CompileResult:
    return CompileResult(problems=list(kept.problems), **kept.data.copy())


FILE: Final[Level[bytes | None]] = Level("file template", size=lambda text: 100 + len(text or b""))
PILLAR: Final[Level[Any]] = Level("pillar", keep=MemoPillar, size=lambda kept: kept.size)
STATES: Final[Level[CompileResult]] = Level("states", keep=_keep, give=_give, size=lambda kept: 3000 + len(kept.data))


class CompiledTarget(Protocol):
    """The target whose states are compiled: ``pushsalt.minion.minion.Minion``."""

    target: Target

    @property
    def plain_compiler(self) -> StateCompiler: ...
    def check_pillar(self) -> None: ...
    def once(self, level: Level[Any], question: Any, render: Callable[[], Any]) -> Any: ...


class MemoCompiler:
    """``StateCompiler`` of one target; uses the memoized results of other targets with equal inputs."""

    def __init__(self, minion: CompiledTarget) -> None:
        self._minion = minion

    def sls(self, sls: Sequence[str], saltenv: str = "base", *, exclude: Sequence[Any] = ()) -> CompileResult:
        return self._low("sls", list(sls), saltenv, exclude=list(exclude))

    def highstate(self, *, exclude: Sequence[Any] = (), whitelist: Sequence[str] = ()) -> CompileResult:
        return self._low("highstate", exclude=list(exclude), whitelist=list(whitelist))

    def high(self, high: High) -> CompileResult:
        return self._minion.plain_compiler.high(high)

    def template(self, data: Any, name: str) -> CompileResult:
        return self._minion.plain_compiler.template(data, name)

    def show_top(self) -> CompileResult:
        return self._result("show_top")

    def show_sls(self, sls: Sequence[str], saltenv: str = "base") -> CompileResult:
        return self._result("show_sls", list(sls), saltenv)

    def show_low_sls(self, sls: Sequence[str], saltenv: str = "base") -> CompileResult:
        return self._low("show_low_sls", list(sls), saltenv)

    def show_highstate(self) -> CompileResult:
        return self._result("show_highstate")

    def show_lowstate(self) -> CompileResult:
        return self._low("show_lowstate")

    def _low(self, method: str, *args: Any, **kwargs: Any) -> CompileResult:
        """A compile result without its high data, which callers that want low data do not need."""

        def compiled(compiler: StateCompiler) -> CompileResult:
            result: CompileResult = getattr(compiler, method)(*args, **kwargs)
            result.high = {}
            return result

        return self._once((method, args, kwargs), compiled)

    def _result(self, method: str, *args: Any) -> CompileResult:
        return self._once((method, args), lambda compiler: getattr(compiler, method)(*args))

    def _once(self, question: Any, compile: Callable[[StateCompiler], CompileResult]) -> CompileResult:
        self._minion.check_pillar()
        target = self._minion.target  # part of the question, since each resource type has its own state functions
        question = (target.resource, bool(target.enter), question) if target.resource else question
        result: CompileResult = self._minion.once(STATES, question, lambda: compile(self._minion.plain_compiler))
        return result
