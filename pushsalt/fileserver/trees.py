"""The trees of states and of pillar for the compilers: files rendered for one target, memoized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pushsalt.compile import RenderedSls
from pushsalt.memo.tree import Level
from pushsalt.render import compile_source, read_source

if TYPE_CHECKING:
    from pushsalt.files.found import FoundFile
    from pushsalt.fileserver import FileServer
    from pushsalt.render.context import RenderContext

#: The type of ``Minion.once``, which renders, or returns the memoized result.
Once = Callable[[Level[Any], Any, Callable[[], Any]], Any]


def each_time(level: Level[Any], question: Any, render: Callable[[], Any]) -> Any:
    """Renders without memoizing."""
    return level.give(level.keep(render()))


def _sls_size(rendered: RenderedSls | None) -> int:
    return 1000 if rendered is None else 5000 + 20 * len(repr(rendered.data))


#: The data of an SLS is never changed (see RenderedSls), so targets share it.
SLS: Final[Level[RenderedSls | None]] = Level("SLS", size=_sls_size)


class RenderedTree:
    """``pushsalt.compile.StateTree`` over the state tree's file server."""

    def __init__(self, files: FileServer, context: RenderContext, once: Once, name: str = "states") -> None:
        self._files = files
        self._context = context
        self._once = once
        self._name = name
        self._rendered: dict[tuple[str, str], RenderedSls | None] = {}

    def envs(self) -> Sequence[str]:
        return self._files.envs()

    def list_states(self, saltenv: str) -> Sequence[str]:
        return self._files.list_states(saltenv)

    def render_sls(self, sls: str, saltenv: str) -> RenderedSls | None:
        key = (saltenv, sls)
        if key not in self._rendered:
            self._rendered[key] = self._render_sls(sls, saltenv, {})
        return self._rendered[key]

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None:
        def render() -> RenderedSls | None:
            file = self._files.find(path, saltenv)
            return None if file is None else self._render(file, "", saltenv)

        rendered: RenderedSls | None = self._once(SLS, (self._name, "file", path, saltenv), render)
        return rendered

    def _render_sls(self, sls: str, saltenv: str, variables: Mapping[str, Any]) -> RenderedSls | None:
        def render() -> RenderedSls | None:
            file = self._files.sls_path(sls, saltenv)
            return None if file is None else self._render(file.file, sls, saltenv, file.is_init, variables)

        rendered: RenderedSls | None = self._once(SLS, (self._name, "SLS", sls, saltenv, dict(variables)), render)
        return rendered

    def _render(
        self,
        file: FoundFile,
        sls: str,
        saltenv: str,
        is_init: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> RenderedSls:
        text = read_source(file, sls=sls, saltenv=saltenv)
        rendered = compile_source(
            text, path=file.path, sls=sls, saltenv=saltenv, context=self._context, variables=dict(variables or {})
        )
        lines = rendered.lines
        return RenderedSls(rendered.data, path=file.path, is_init=is_init, lines=lines, origin=lines.origin)


class PillarTree:
    """``pushsalt.pillar.PillarTree`` over the pillar roots."""

    def __init__(self, files: FileServer, context: RenderContext, once: Once = each_time) -> None:
        self._tree = RenderedTree(files, context, once, "pillar")

    def envs(self) -> Sequence[str]:
        return self._tree.envs()

    def list_states(self, saltenv: str) -> Sequence[str]:
        return self._tree.list_states(saltenv)

    def render_sls(self, sls: str, saltenv: str, defaults: Mapping[str, Any]) -> RenderedSls | None:
        return self._tree._render_sls(sls, saltenv, defaults)

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None:
        return self._tree.render_file(path, saltenv)
