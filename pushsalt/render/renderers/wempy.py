"""Wempy into text: see pushsalt.render.wempy. Trusted, as ``#!py`` is: its Python runs on the controller."""

from __future__ import annotations

import posixpath
from typing import Any

from pushsalt.render.context import RenderContext
from pushsalt.render.problems import SourceError, source_text
from pushsalt.render.source import StageText, as_text
from pushsalt.render.wempy import render_wempy


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> StageText:
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]

    def read(name: str) -> tuple[str, str]:
        inside = posixpath.normpath(name.removeprefix("salt://").lstrip("/"))
        outside = inside.split("/", 1)[0] == ".." or context.fileserver is None
        found = None if outside or context.fileserver is None else context.fileserver.find(inside, saltenv)
        if found is None:
            raise SourceError(f"Wempy: {name}: no such file in the file server to include")
        return found.path, source_text(found, "wempy")

    names = context.template_names(saltenv=saltenv, sls=sls, path=path, variables=kwargs.get("context"))
    return render_wempy(as_text(data), path=path, names=names, read=read)
