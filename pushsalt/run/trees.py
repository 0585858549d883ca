"""The file servers of states and of pillar as the compilers see them: files rendered for one target, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pushsalt.compile import RenderedSls
from pushsalt.render import compile_source, read_source

if TYPE_CHECKING:
    from pushsalt.fileserver import FileServer, FoundFile
    from pushsalt.render.context import RenderContext


class RenderedTree:
    """``pushsalt.compile.StateTree`` over the state tree's file server."""

    def __init__(self, files: FileServer, context: RenderContext) -> None:
        self._files = files
        self._context = context
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
        found = self._files.find(path, saltenv)
        return None if found is None else self._render(found, "", saltenv)

    def _render_sls(self, sls: str, saltenv: str, variables: Mapping[str, Any]) -> RenderedSls | None:
        found = self._files.sls_path(sls, saltenv)
        return None if found is None else self._render(found.file, sls, saltenv, found.is_init, variables)

    def _render(
        self,
        found: FoundFile,
        sls: str,
        saltenv: str,
        is_init: bool = False,
        variables: Mapping[str, Any] | None = None,
    ) -> RenderedSls:
        text = read_source(found, sls=sls, saltenv=saltenv)
        rendered = compile_source(
            text, path=found.path, sls=sls, saltenv=saltenv, context=self._context, variables=dict(variables or {})
        )
        lines = rendered.lines
        return RenderedSls(rendered.data, path=found.path, is_init=is_init, lines=lines, origin=lines.origin)


class PillarTree:
    """``pushsalt.pillar.PillarTree`` over the pillar roots."""

    def __init__(self, files: FileServer, context: RenderContext) -> None:
        self._tree = RenderedTree(files, context)

    def envs(self) -> Sequence[str]:
        return self._tree.envs()

    def list_states(self, saltenv: str) -> Sequence[str]:
        return self._tree.list_states(saltenv)

    def render_sls(self, sls: str, saltenv: str, defaults: Mapping[str, Any]) -> RenderedSls | None:
        return self._tree._render_sls(sls, saltenv, defaults)

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None:
        return self._tree.render_file(path, saltenv)
