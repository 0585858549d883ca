"""Jinja into text."""

from __future__ import annotations

from typing import Any

from pushsalt.render.jinja import render_jinja
from pushsalt.render.problems import SourceError
from pushsalt.render.source import StageText, as_text


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> StageText:
    argline = kwargs.get("argline", "")
    if argline not in ("", "-s"):
        raise SourceError(f"Unknown renderer option: {argline}")
    return render_jinja(
        as_text(data),
        path=str(kwargs.get("tmplpath") or ""),
        sls=sls,
        saltenv=saltenv,
        context=kwargs["render_context"],
        variables=kwargs.get("context"),
    )
