"""Mako into text. Needs the package mako. Trusted, as ``#!py`` is: its Python runs on the controller.

``<%include>``, ``<%inherit>`` and ``<%namespace>`` take ``salt://`` URLs, paths from the file roots (with a leading
slash), paths beside the template, and ``file://`` for files of the controller. Salt: salt.utils.mako.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mako.exceptions import MakoException, RichTraceback, TopLevelLookupException
from mako.lookup import TemplateCollection
from mako.template import Template

from pushsalt.render.context import FileSource, RenderContext
from pushsalt.render.problems import SourceError, raised_in_template, source_text
from pushsalt.render.source import Origin, StageText, as_text


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> StageText:
    text = as_text(data)
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]
    names = context.template_names(saltenv=saltenv, sls=sls, path=path, variables=kwargs.get("context"))
    uri = str(names["sls"]).replace(".", "/") if names.get("sls") else None
    lookup = _Lookup(context.fileserver, saltenv, path)
    try:
        template = Template(text, strict_undefined=True, uri=uri, lookup=lookup)
        lookup.sources[template.uri] = (path, text)
        return StageText(str(template.render_unicode(**names)))
    except MakoException as exc:
        raise _mako_problem(exc, path, text, lookup) from None
    except Exception as exc:
        raise raised_in_template(exc, _chain(exc, lookup)) from None


class _Lookup(TemplateCollection):  # type: ignore[misc]
    """What one rendering includes and inherits from, by URI. ``sources`` are path and text of each."""

    def __init__(self, files: FileSource | None, saltenv: str, path: str) -> None:
        super().__init__()
        self._files = files
        self._saltenv = saltenv
        self._folder = Path(path).parent
        self._templates: dict[str, Any] = {}
        self.sources: dict[str, tuple[str, str]] = {}

    def adjust_uri(self, uri: str, relativeto: str | None) -> str:
        scheme, colon, _ = uri.partition("://")
        if colon and scheme not in ("salt", "file"):
            raise SourceError(f"Mako: {uri}: only salt:// and file:// can be included")
        if colon or uri.startswith("/") or relativeto is None:
            return uri
        if relativeto.startswith("file://"):
            return "file://" + posixpath.join(posixpath.dirname(relativeto.removeprefix("file://")), uri)
        return posixpath.join(posixpath.dirname(relativeto.removeprefix("salt://")), uri)

    def get_template(self, uri: str, relativeto: str | None = None) -> Any:
        if uri not in self._templates:
            path, text = self._read(uri)
            self._templates[uri] = Template(text, strict_undefined=True, uri=uri, lookup=self)
            self.sources[uri] = (path, text)
        return self._templates[uri]

    def _read(self, uri: str) -> tuple[str, str]:
        if uri.startswith("file://") or self._files is None:
            file = self._folder / uri.removeprefix("file://").lstrip("/" if self._files is None else "")
            if not file.is_file():
                raise TopLevelLookupException(f"there is no file {file}")
            return str(file), file.read_text("utf-8")
        inside = posixpath.normpath(uri.removeprefix("salt://").lstrip("/"))
        found = None if inside.split("/", 1)[0] == ".." else self._files.find(inside, self._saltenv)
        if found is None:
            raise TopLevelLookupException(f"{uri}: no such file in the file server to include")
        return found.path, source_text(found)


def _mako_problem(exc: Any, path: str, text: str, lookup: _Lookup) -> SourceError:
    """A problem that Mako itself found: in the syntax, or in looking up what is included."""
    line = getattr(exc, "lineno", None)
    if line is None:
        return SourceError(f"Mako: {exc}", _chain(exc, lookup))
    wrong = str(getattr(exc, "source", "") or text)
    where, source = next((found for found in lookup.sources.values() if found[1] == wrong), (path, text))
    problem = str(exc).split(" at line: ")[0].split(" in file ")[0]
    return SourceError(f"Mako: {problem}", [Origin(where, line, source)])


def _chain(exc: BaseException, lookup: _Lookup) -> list[Origin]:
    """The template lines that an exception came through, innermost first."""
    chain: list[Origin] = []
    records: list[Mapping[int, Any]] = RichTraceback(exc, exc.__traceback__).records
    for record in records:
        line, source = record[5], record[7]
        if line is None or source is None:
            continue
        path = next((found[0] for found in lookup.sources.values() if found[1].rstrip() == source.rstrip()), None)
        if path is not None:
            chain.append(Origin(path, line or _line_of(exc, source), source))
    return chain[::-1]


def _line_of(exc: BaseException, source: str) -> int:
    """Where a template has an undefined name: Mako looks up all names before its first line."""
    found = re.match(r"'(\w+)' is not defined", str(exc))
    used = re.search(rf"\b{found.group(1)}\b", source) if found else None
    return source.count("\n", 0, used.start()) + 1 if used else 1
