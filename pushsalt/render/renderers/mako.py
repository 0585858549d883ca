"""Mako into text. Needs the package mako. Trusted, as ``#!py`` is: its Python runs on the controller.

``<%include>``, ``<%inherit>`` and ``<%namespace>`` take ``salt://`` URLs, paths from the file roots (with a leading
slash), paths beside the template, and ``file://`` for files of the controller. Salt: salt.utils.mako.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import sys
from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from mako.exceptions import MakoException, RichTraceback, TopLevelLookupException
from mako.lookup import TemplateCollection
from mako.runtime import Context
from mako.template import ModuleInfo, Template

from pushsalt import regular
from pushsalt.render.context import FileSource, RenderContext
from pushsalt.render.problems import SourceError, raised_in_template, source_text
from pushsalt.render.source import Origin, OutputMap, StageText, Written, as_text, line_within

#: Compiled templates kept in memory.
CODE_CACHE_SIZE: Final = 1024

#: Separator of a template's URI and the digest of its text.
_VERSION: Final = "#"


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> StageText:
    text = as_text(data)
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]
    names = context.template_names(saltenv=saltenv, sls=sls, path=path, variables=kwargs.get("context"))
    uri = str(names["sls"]).replace(".", "/") if names.get("sls") else ""
    lookup = _Lookup(context.fileserver, saltenv, path)
    written = _Buffer(lookup)
    try:
        template = lookup.template(uri, path, text)
        template.render_context(Context(written, **names), **names)
        return StageText(written.getvalue(), OutputMap(written.pieces, written.origin_at))
    except MakoException as exc:
        raise _mako_problem(exc, path, text, lookup) from None
    except (Exception, SystemExit) as exc:
        raise raised_in_template(exc, _chain(exc, lookup)) from None


@lru_cache(maxsize=CODE_CACHE_SIZE)
def _compiled(uri: str, text: str) -> Any:
    """A compiled template for any rendering. Its ``uri`` contains the text's digest: Mako's registry needs it."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Template(text, strict_undefined=True, uri=f"{uri}{_VERSION}{digest}")


class _Buffer:
    """The output of a rendering; each piece with the line of code that wrote it."""

    def __init__(self, lookup: _Lookup) -> None:
        self.pieces: list[Written] = []
        self._lookup = lookup

    def write(self, text: Any) -> None:
        frame = sys._getframe(1)
        self.pieces.append(Written(str(text), (frame.f_code.co_filename, frame.f_lineno)))

    def getvalue(self) -> str:
        return "".join(self.pieces)

    def origin_at(self, piece: str, offset: int) -> Origin | None:
        origin = self._lookup.origin(*piece.by) if isinstance(piece, Written) else None
        return line_within(origin, piece, offset) if origin is not None else None


class _Lookup(TemplateCollection):  # type: ignore[misc]
    """The templates that one rendering includes and inherits from, by URI. ``sources``: path and text of each."""

    def __init__(self, files: FileSource | None, saltenv: str, path: str) -> None:
        super().__init__()
        self._files = files
        self._saltenv = saltenv
        self._folder = Path(path).parent
        self._templates: dict[str, Any] = {}
        self.sources: dict[str, tuple[str, str]] = {}
        self._compiled: dict[str, Any] = {}  # by the name of its code in tracebacks and frames
        self._line_maps: dict[str, list[int]] = {}

    def adjust_uri(self, uri: str, relativeto: str | None) -> str:
        relativeto = relativeto.rpartition(_VERSION)[0] if relativeto else None
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
            self._templates[uri] = self.template(uri, *self._read(uri))
        return self._templates[uri]

    def template(self, uri: str, path: str, text: str) -> Any:
        """A template of this rendering with this text, compiled once per process."""
        template = copy(_compiled(uri, text))
        template.lookup = self
        self.sources[template.uri] = (path, text)
        self._compiled[template.module_id] = template
        return template

    def origin(self, filename: str, line: int) -> Origin | None:
        """The place in a template for a line of its compiled code."""
        template = self._compiled.get(filename)
        if template is None:
            return None
        if filename not in self._line_maps:
            metadata = ModuleInfo.get_module_source_metadata(template.code, full_line_map=True)
            self._line_maps[filename] = metadata["full_line_map"]
        path, text = self.sources[template.uri]
        return Origin(path, max(self._line_maps[filename][line - 1], 1), text)

    def _read(self, uri: str) -> tuple[str, str]:
        if uri.startswith("file://") or self._files is None:
            file = self._folder / uri.removeprefix("file://").lstrip("/" if self._files is None else "")
            if not file.is_file():
                raise TopLevelLookupException(f"there is no file {file}")
            return str(file), regular.read_text(file)
        inside = posixpath.normpath(uri.removeprefix("salt://").lstrip("/"))
        source = None if inside.split("/", 1)[0] == ".." else self._files.find(inside, self._saltenv)
        if source is None:
            raise TopLevelLookupException(f"{uri}: no such file in the file server to include")
        return source.path, source_text(source, "mako")


def _mako_problem(exc: Any, path: str, text: str, lookup: _Lookup) -> SourceError:
    """The SourceError of an error that Mako raised: in the syntax, or for a missing include."""
    line = getattr(exc, "lineno", None)
    if line is None:
        return SourceError(f"Mako: {exc}", _chain(exc, lookup))
    wrong = str(getattr(exc, "source", "") or text)
    where, source = next((each for each in lookup.sources.values() if each[1] == wrong), (path, text))
    problem = str(exc).split(" at line: ")[0].split(" in file ")[0]
    return SourceError(f"Mako: {problem}", [Origin(where, line, source)])


def _chain(exc: BaseException, lookup: _Lookup) -> list[Origin]:
    """The template lines in an exception's traceback, innermost first."""
    chain: list[Origin] = []
    records: list[Mapping[int, Any]] = RichTraceback(exc, exc.__traceback__).records
    for record in records:
        line, source = record[5], record[7]
        if line is None or source is None:
            continue
        path = next((each[0] for each in lookup.sources.values() if each[1].rstrip() == source.rstrip()), None)
        if path is not None:
            chain.append(Origin(path, line or _line_of(exc, source), source))
    return chain[::-1]


def _line_of(exc: BaseException, source: str) -> int:
    """The line of an undefined name, which Mako does not report since it looks up all names at the start."""
    match = re.match(r"'(\w+)' is not defined", str(exc))
    used = re.search(rf"\b{match.group(1)}\b", source) if match else None
    return source.count("\n", 0, used.start()) + 1 if used else 1
