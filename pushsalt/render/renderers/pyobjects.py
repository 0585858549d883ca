"""Python that makes states as objects: see pushsalt.render.pyobjects. Trusted: it runs on the controller.

Every name in CamelCase that the file does not define is a state module: ``PostgresUser`` is ``postgres_user``.
``import salt://map.sls`` and ``from salt://map.sls import Map [as M]`` bring names from other files of the tree; states
that such a file makes do not count.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from types import CodeType, SimpleNamespace
from typing import Any, Final

from pushsalt.render.context import RenderContext, SaltFunctions
from pushsalt.render.problems import SourceError, raised_in_template, source_text
from pushsalt.render.pyobjects import Extend, Registry, StateModule, map_class
from pushsalt.render.source import Origin, as_text

MAX_DEPTH: Final = 20

_IMPORT: Final = re.compile(
    r"^(\s*)(?:from\s+(?P<source>salt://.*?)\s+import\s+(?P<names>.*)|import\s+(?P<all>salt://.*?))\s*$"
)
_CAMEL: Final = re.compile(r"(?:[A-Z][a-z0-9]*)+$")
_WORD: Final = re.compile(r"[A-Z][a-z0-9]*")


@lru_cache(maxsize=256)
def _compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    path = str(kwargs.get("tmplpath") or sls or "<text>")
    context: RenderContext = kwargs["render_context"]
    run = _Run(context, saltenv, sls, dict(kwargs.get("context") or {}))
    names = run.globals()
    if kwargs.get("salt_data", True) is False:
        return names
    run.execute(as_text(data), path, names, 0)
    return run.registry.data()


class _Run:
    """One rendering: its states, and the files that it imports."""

    def __init__(self, context: RenderContext, saltenv: str, sls: str, variables: dict[str, Any]) -> None:
        self.registry = Registry()
        self._context = context
        self._saltenv = saltenv
        self._sls = sls
        self._variables = variables
        self._sources: dict[str, str] = {}

    def globals(self) -> dict[str, Any]:
        salt = SaltFunctions(self._context.salt)
        names: dict[str, Any] = {
            "include": self.registry.include,
            "extend": Extend,
            "Map": map_class(self._context.grains, salt),
            "salt": salt,
            **self._context.dunders(self._saltenv, self._sls),
        }
        for name in ("pillar", "grains", "mine", "config"):
            if f"{name}.get" in salt:
                names[name] = salt[f"{name}.get"]
        return {**names, **self._variables}

    def execute(self, text: str, path: str, names: dict[str, Any], depth: int) -> None:
        """Run a file, with what it imports and the state modules that it names among ``names``."""
        self._sources[path] = text
        enabled = self.registry.enabled
        self.registry.enabled = False
        try:
            lines = [self._without_import(line, at, path, names, depth) for at, line in enumerate(text.splitlines(), 1)]
        finally:
            self.registry.enabled = enabled
        try:
            code = _compiled("\n".join(lines) + "\n", path)
            for name in _used(code):
                if name not in names and not hasattr(builtins, name) and _CAMEL.match(name):
                    names[name] = StateModule(self.registry, "_".join(_WORD.findall(name)).lower())
            exec(code, names)  # noqa: S102 - running it is what this renderer is for
        except SyntaxError as exc:
            raise SourceError(f"Python: {exc.msg}", [Origin(path, exc.lineno or 1, text)]) from None
        except (Exception, SystemExit) as exc:
            raise raised_in_template(exc, self._chain(exc)) from None

    def _chain(self, exc: BaseException) -> list[Origin]:
        """The places in these files that an exception came through, innermost first."""
        chain, trace = [], exc.__traceback__
        while trace is not None:
            path = trace.tb_frame.f_code.co_filename
            if path in self._sources:
                chain.append(Origin(path, trace.tb_lineno, self._sources[path]))
            trace = trace.tb_next
        return chain[::-1]

    def _without_import(self, line: str, number: int, path: str, names: dict[str, Any], depth: int) -> str:
        """The line; one that imports from the tree is carried out, and does nothing any more."""
        found = _IMPORT.match(line)
        if found is None:
            return line
        url = str(found["source"] or found["all"]).strip()
        place = Origin(path, number, self._sources[path])
        if depth >= MAX_DEPTH:
            raise SourceError(f"more than {MAX_DEPTH} files import each other", [place])
        files = self._context.fileserver
        file = files.find(url.removeprefix("salt://"), self._saltenv) if files is not None else None
        if file is None:
            raise SourceError(f"Could not find the file '{url}'", [place])
        imported = self.globals()
        try:
            self.execute(source_text(file, "pyobjects"), file.path, imported, depth + 1)
        except SourceError as exc:
            raise SourceError(exc.problem, [*exc.chain, place], exc.hint) from None
        if found["names"] is None:
            names[PurePosixPath(url).stem] = SimpleNamespace(**imported)
        else:
            for entry in found["names"].split(","):
                name, _, alias = (part.strip() for part in entry.strip().partition(" as "))
                if name not in imported:
                    raise SourceError(f"'{name}' was not found in '{url}'", [place])
                names[alias or name] = imported[name]
        return f"{found[1]}pass"


def _used(code: CodeType) -> Iterator[str]:
    """All names that the code and the functions in it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _used(constant)
