"""Renderers, one per file. ``render`` takes the result of the previous stage and returns text or data."""

from __future__ import annotations

from typing import Any, Protocol


class Renderer(Protocol):
    """A renderer module. It has Salt's signature, so that users' renderers work unchanged.

    ``data`` is the source or the result of the previous stage; text can be used as text or read like a file. Keyword
    arguments: ``argline`` (text after the renderer's name), ``tmplpath`` (the file on disk), ``context`` (further names
    for templates) and ``render_context`` (RenderContext). Errors in the source are raised as SourceError or YamlError.
    """

    def render(self, data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any: ...
