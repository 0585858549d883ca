"""Renders rosters that are templates, and detects changes of the result since an image of the inventory was made.

Jinja runs for each command, since its result may differ each time. Reading the result, which takes longer, is cached by
the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.errors import PushsaltError, RenderError
from pushsalt.trust import Foreign, Trusted

if TYPE_CHECKING:
    from pushsalt.render.context import RenderContext


class Rosters:
    """The rosters of one inventory, with the configuration as ``opts`` and no target."""

    def __init__(self, opts: Mapping[str, Any]) -> None:
        self._opts = opts
        #: path -> digest of the rendered text, for rosters that were read
        self.digests: dict[str, bytes] = {}
        #: whether a roster was read whose data its digest does not determine, since another renderer made it
        self.unsteady = False
        #: (path, text) -> rendered text, which is needed to check an image and again to read the roster
        self._texts: dict[tuple[str, str], str] = {}

    def render(self, text: Trusted, path: str) -> Any:
        """The data of a roster as Salt renders it, Jinja then YAML. Raises RenderError."""
        from pushsalt.render import compile_template

        rendered = self._rendered(text, path)
        if rendered is not None:
            try:
                data = compile_template(
                    Foreign(rendered, path),
                    path=path,
                    sls="",
                    saltenv="base",
                    context=self._context(),
                    default_renderer="yaml",
                )
            except RenderError:
                pass  # reported below, with the places in the source
            else:
                self.digests[path] = _digest(rendered)
                return data
        self.unsteady = True
        return compile_template(
            text,
            path=path,
            sls="",
            saltenv="base",
            context=self._context(),
            default_renderer="jinja|yaml",
        )

    def same(self, text: Trusted, path: str, digest: object) -> bool:
        """Whether the rendered roster still has this digest; then it counts as read."""
        try:
            rendered = self._rendered(text, path)
        except PushsaltError:  # reported by the caller
            return False
        if rendered is None or _digest(rendered) != digest:
            return False
        self.digests[path] = _digest(rendered)
        return True

    def _rendered(self, text: Trusted, path: str) -> str | None:
        """The text rendered by Jinja; None if the roster needs another renderer, or users override one."""
        from pushsalt.render import render_any
        from pushsalt.render.pipeline import renderer_named

        rendered = self._texts.get((path, text))
        if rendered is not None:
            return rendered
        context = self._context()
        yaml = renderer_named("yaml", context)
        if text.startswith("#!") or getattr(yaml, "__name__", "") != "pushsalt.render.renderers.yaml":
            return None
        data = render_any(text, path=path, sls="", saltenv="base", context=context, default_renderer="jinja").data
        if not isinstance(data, str) or data.startswith("#!"):
            return None
        self._texts[path, text] = data
        return data

    def _context(self) -> RenderContext:
        from pushsalt.render.context import RenderContext

        return RenderContext("", self._opts, {}, {}, {})


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
