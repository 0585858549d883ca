"""Renders source texts for one target to data or text. ``pipeline`` has the entry points."""

from pushsalt.render.context import RenderContext
from pushsalt.render.pipeline import (
    RenderedSource,
    compile_source,
    compile_template,
    read_source,
    render_any,
    render_text,
)

__all__ = [
    "RenderContext",
    "RenderedSource",
    "compile_source",
    "compile_template",
    "read_source",
    "render_any",
    "render_text",
]
