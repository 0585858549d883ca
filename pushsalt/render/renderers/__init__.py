"""Renderers: one a file, named by the file. ``render`` takes what the stage before it gave and returns text or data."""

from __future__ import annotations

from typing import Any, Protocol


class Renderer(Protocol):
    """A renderer module. Salt's signature, so that users' own work unchanged.

    ``data`` is the source or the text of the stage before; it may be used as text or read like a file. Keywords that a
    renderer can take: ``argline`` (text behind its name), ``tmplpath`` (the file on disk), ``context`` (more names for
    templates) and ``render_context`` (RenderContext). Problems in the source are raised as SourceError or YamlError.
    """

    def render(self, data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any: ...
