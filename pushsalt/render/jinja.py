"""Jinja with Salt's settings. Salt: salt.utils.templates.render_jinja_tmpl, salt.utils.jinja.

Templates are compiled once, see ``pushsalt.render.code``: code depends only on the text, the name and the environment's
options, so all targets share it. Objects that differ by target (globals, loader) are in an overlay for each rendering.
"""

from __future__ import annotations

import json
import logging
import posixpath
import re
from collections.abc import Iterable, Mapping, MutableMapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Final

import jinja2
import jinja2.defaults
from jinja2.runtime import StrictUndefined, Undefined

from pushsalt import regular
from pushsalt.errors import RenderError, TargetError
from pushsalt.render import limits
from pushsalt.render.code import codes
from pushsalt.render.context import FileSource, FoundFile, RenderContext, SaltFunctions, SaltModule
from pushsalt.render.filters import FILTERS, GLOBALS, TESTS
from pushsalt.render.filters.serialize import printable
from pushsalt.render.jinjalines import COMPILED, LineKeepingGenerator, TemplateSources, joined, line_keeping, unclosed
from pushsalt.render.limits import OutOfTime
from pushsalt.render.problems import SourceError, at_place, is_call_error, reason, source_text, with_function
from pushsalt.render.sandbox import Sandbox, exposed
from pushsalt.render.source import Origin, StageText
from pushsalt.render.tags import SaltTags
from pushsalt.yamlio import YamlError

log = logging.getLogger(__name__)

EXTENSIONS: Final = ("jinja2.ext.do", "jinja2.ext.loopcontrols", SaltTags)
#: Options of an environment, hashable.
EnvOptions = tuple[tuple[str, Any], ...]


for _cls in (SaltFunctions, SaltModule):
    exposed(_cls)


class RaisedByTemplate(Exception):
    """``raise('…')`` in a template."""


class SaltUndefined(StrictUndefined):
    """Names the missing execution function in its error, not pushsalt's classes."""

    @property
    def _undefined_message(self) -> str:
        owner = self._undefined_obj
        if isinstance(owner, SaltFunctions):
            what = "function" if "." in str(self._undefined_name) else "module"
            return f"'salt' has no {what} {self._undefined_name!r}"
        if isinstance(owner, SaltModule):
            return f"'salt' has no function '{owner._module}.{self._undefined_name}'"
        return super()._undefined_message


# --- environments and code ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _base_environment(options: EnvOptions, allow_undefined: bool) -> Environment:
    env = Environment(
        extensions=list(EXTENSIONS),
        undefined=Undefined if allow_undefined else SaltUndefined,
        finalize=printable,
        auto_reload=False,
        **dict(options),
    )
    env.filters.update(FILTERS)
    env.tests.update(TESTS)
    env.globals.update(GLOBALS)
    env.globals["raise"] = _raise
    return env


def parsing_environment() -> jinja2.Environment:
    """An environment that parses the same syntax, for checks of templates."""
    return _base_environment((), False)


def _raise(message: Any) -> None:
    raise RaisedByTemplate(message)


def _compile(
    base: Environment, key: tuple[EnvOptions, bool], text: str, name: str | None, path: str, keep: bool
) -> CodeType:
    return codes.get((key, name, path, text), lambda: base.compile(text, name=name, filename=path), keep=keep)


class Environment(Sandbox):
    """Jinja's environment, with names relative to the importing template."""

    code_generator_class = LineKeepingGenerator
    concat = staticmethod(joined)

    def join_path(self, template: str, parent: str) -> str:
        if isinstance(self.loader, TemplateLoader):
            if template.split("/", 1)[0] in (".", ".."):
                return self.loader.resolve(self, template, parent)
            if template.startswith("/"):
                return self.loader.below_root(template)
        return template


class TemplateLoader(jinja2.BaseLoader):
    """Imports and includes of one rendering. Salt: salt.utils.jinja.SaltCacheLoader.

    Names are relative to the file server's roots; with ``./`` or ``../``, to ``tpldir``, as in Salt, or else to the
    importing file. A path on the disk is accepted if it is below a root; other files are not read. Each loaded file
    sets ``tplfile``, ``tpldir`` and ``tpldot`` for imports without context.
    """

    def __init__(
        self,
        files: FileSource | None,
        saltenv: str,
        sources: TemplateSources,
        base: Environment,
        key: tuple[EnvOptions, bool],
        keep: bool,
        roots: Iterable[str] = (),
    ) -> None:
        self._files = files
        self._saltenv = saltenv
        self._sources = sources
        self._base = base
        self._key = key
        self._keep = keep
        self._roots = [f"{root.rstrip('/')}/" for root in roots]
        self._written: dict[str, str] = {}  # resolved name -> the relative name that was written

    def resolve(self, environment: jinja2.Environment, name: str, parent: str) -> str:
        """The path of a relative name in the file server's tree."""
        # as in Salt, tpldir is that of the last loaded file: formulas depend on it
        tried = (str(environment.globals.get("tpldir") or "."), posixpath.dirname(parent))
        for folder in tried:
            path = posixpath.normpath(posixpath.join(folder, name))
            if path.split("/", 1)[0] != ".." and self._find(path) is not None:
                self._written[path] = name
                return path
        raise jinja2.TemplateNotFound(name)

    def below_root(self, name: str) -> str:
        """The path in the file server's tree for an absolute path; if it is not below a root, unchanged."""
        path = posixpath.normpath(name)
        names = (path[len(root) :] for root in self._roots if path.startswith(root))
        return next((tree_path for tree_path in names if self._find(tree_path) is not None), name)

    def load(
        self, environment: jinja2.Environment, name: str, globals: MutableMapping[str, Any] | None = None
    ) -> jinja2.Template:
        source = self._find(name)
        if source is None:
            raise jinja2.TemplateNotFound(name)
        text = source_text(source, "jinja")
        self._sources.add(name, source.path, text)
        if name in self._written:
            environment.globals["tplfile"] = self._written[name]
        else:
            folder = posixpath.dirname(name)
            environment.globals.update(tplfile=name, tpldir=folder or ".", tpldot=folder.replace("/", "."))
        code = _compile(self._base, self._key, text, name, source.path, self._keep)
        names = globals if globals is not None else environment.make_globals(None)
        return line_keeping(environment.template_class.from_code(environment, code, names))

    def _find(self, path: str) -> FoundFile | None:
        return self._files.find(path, self._saltenv) if self._files is not None else None


def environment_options(context: RenderContext, *, sls: str) -> dict[str, Any]:
    """Jinja's options that ``jinja_env`` (files) or ``jinja_sls_env`` (SLS) set."""
    chosen = context.setting("jinja_sls_env" if sls else "jinja_env") or {}
    options = _known_options(chosen) if isinstance(chosen, Mapping) else {}
    for name in ("trim_blocks", "lstrip_blocks"):
        if context.setting(f"jinja_{name}"):
            options[name] = True
    return options


def _known_options(options: Mapping[str, Any]) -> dict[str, Any]:
    valid = {}
    for name, value in options.items():
        if hasattr(jinja2.defaults, str(name).upper()):
            valid[str(name).lower()] = value
        else:
            log.warning("jinja_env and jinja_sls_env: Jinja has no option %s", name)
    return valid


def split_header(text: str) -> tuple[str, dict[str, Any] | None]:
    """(text without header, its options): the header ``#jinja2: {…}`` is the first line, or follows the shebang.

    An invalid header is logged, and kept in the text.
    """
    lines = text.splitlines(keepends=True)
    at = 1 if lines and lines[0].startswith("#!") and not lines[0].startswith("#!/") else 0
    if at >= len(lines) or not lines[at].startswith("#jinja2:"):
        return text, None
    payload = lines[at].removeprefix("#jinja2:").strip()
    if not payload:
        return text, None
    try:
        options = json.loads(payload)
        if not isinstance(options, dict):
            raise ValueError("it is no JSON object")
    except ValueError as exc:
        log.warning("Ignoring the '#jinja2:' header %s: %s", payload, exc)
        return text, None
    del lines[at]
    return "".join(lines), _known_options(options)


def file_environment(folder: Path, names: Mapping[str, Any]) -> jinja2.Environment:
    """An environment for the files of a folder, for templates without SLS. Undefined names are empty."""
    base = _base_environment((), True)
    env = base.overlay()
    env.loader = jinja2.FileSystemLoader(folder)
    env.globals = {**base.globals, **names}
    return env


# --- rendering ---------------------------------------------------------------------------------------------------


def render_jinja(
    text: str,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    variables: Mapping[str, Any] | None = None,
) -> StageText:
    """Render ``text`` for the target of ``context``; each part of the result knows its source line.

    ``path`` is the source's name in messages. ``variables``: further names for the template, which win.
    Raises SourceError with the place; TargetError if a call could not reach the target.
    """
    body, header = split_header(text)
    names = context.template_names(saltenv=saltenv, sls=sls, path=path, variables=variables)
    name = str(names.get("tplfile") or path)
    sources = TemplateSources(name, path, text, 0 if header is None else 1)
    base = _base_environment((), False)
    try:
        options = environment_options(context, sls=sls) | (header or {})
        key = (_hashable(options), bool(context.setting("allow_undefined")))
        base, keep = _base_environment(*key), context.keep_code
        env = base.overlay()
        roots = (context.setting("file_roots") or {}).get(saltenv, ())
        env.loader = TemplateLoader(context.fileserver or _neighbours(path), saltenv, sources, base, key, keep, roots)
        env.concat = sources.join
        env.globals = {**base.globals, **names}
        code = _compile(base, key, body, name, path, keep)
        template = line_keeping(env.template_class.from_code(env, code, env.make_globals(None)))
        written = list(template.root_render_func(template.new_context(names)))
    except (Exception, OutOfTime) as exc:
        raise _translated(exc, sources, base) from None
    # Jinja removes the last newline of a template; like Salt, restore it
    newline = "\n" if text.endswith("\n") else ""
    return StageText("".join(written) + newline, sources.output_map(written))


def _hashable(options: Mapping[str, Any]) -> EnvOptions:
    return tuple(sorted((name, tuple(value) if isinstance(value, list) else value) for name, value in options.items()))


class _Directory:
    """Loads files next to a template that is not on the file server (an inventory, a configuration)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, path: str, saltenv: str) -> _PlainFile | None:
        candidate = self._folder / path
        if ".." in Path(path).parts or not candidate.is_file():
            return None
        return _PlainFile(str(candidate))


class _PlainFile:
    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> bytes:
        return regular.read_bytes(self.path)


def _neighbours(path: str) -> FileSource | None:
    folder = Path(path).parent
    return _Directory(folder) if path and folder.is_absolute() and folder.is_dir() else None


def template_line(text: str, path: str, function: str, line: int, settings: Mapping[str, Any]) -> int:
    """The line of the template ``text`` for a frame of its compiled code, given as function and line.

    ``settings`` are those of ``jinja_sls_env``. Raises jinja2.TemplateError if it cannot be compiled.
    """
    body, header = split_header(text)
    if function != COMPILED:
        base = _base_environment(_hashable(_known_options(settings) | (header or {})), False)
        template = base.template_class.from_code(base, base.compile(body, name=path, filename=path), {})
        line = int(template.get_corresponding_lineno(line))
    return line if header is None else line + 1


# --- errors ------------------------------------------------------------------------------------------------------


def _chain(traceback: TracebackType | None, sources: TemplateSources) -> list[Origin]:
    """The template lines of a traceback, innermost first."""
    chain: list[Origin] = []
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            origin = sources.origin(template.name, template.get_corresponding_lineno(traceback.tb_lineno))
            if not chain or chain[-1] != origin:
                chain.append(origin)
        traceback = traceback.tb_next
    return chain[::-1]


def _translated(exc: Exception | OutOfTime, sources: TemplateSources, env: jinja2.Environment) -> BaseException:
    """``exc`` as SourceError with Salt's text; unchanged if it is about the target, not the template."""
    chain = _chain(exc.__traceback__, sources)
    hint = ""
    match exc:
        case TargetError():
            return TargetError(exc.kind, at_place(exc, chain), exc.hint)
        case SourceError():
            return SourceError(exc.problem, [*exc.chain, *chain], exc.hint)
        case OutOfTime(error=RenderError()):  # raised in a template that this one renders
            return exc
        case OutOfTime():
            problem, hint = f"Jinja error: {limits.words()}", "look for a loop without end there, or raise --timeout"
        case MemoryError():
            problem = "Jinja error: it needs more memory than `render_memory` allows"
            hint = "look for data that grows without end there, or raise render_memory in the configuration"
        case YamlError():  # raised by load_yaml or import_yaml
            problem = f"Jinja syntax error: Encountered error loading yaml: {exc.message}"
            if exc.where is not None and exc.line is not None and sources.has(exc.where.path):
                chain.insert(0, sources.origin(exc.where.path, exc.line))
        case jinja2.TemplateSyntaxError():
            problem = f"Jinja syntax error: {exc.message}"
            place = sources.origin(exc.name, exc.lineno)
            innermost = re.search(r"Unexpected end of template.*needs to be closed is '(\w+)'", str(exc.message))
            begun = unclosed(env, place.text, innermost.group(1)) if innermost else None
            chain.insert(0, place if begun is None else Origin(place.path, begun, place.text))
        case jinja2.UndefinedError():
            problem = f"Jinja variable {exc.message}"
        case jinja2.TemplateNotFound():
            problem = f"Jinja error: {exc.message}: no such file in the file server to import or include"
        case jinja2.TemplateRuntimeError():  # SecurityError is one
            problem = f"Jinja syntax error: {exc.message}"
        case _ if is_call_error(exc):
            problem, hint = f"Problem running salt function in Jinja template: {reason(exc)}", getattr(exc, "hint", "")
        case RaisedByTemplate():  # with the class name as in Salt, which tools search for
            problem = f"Jinja error: {exc} (TemplateError, raised by the template)"
        case RenderError():
            problem, hint = f"Jinja error: {exc.message}", exc.hint
        case _:
            problem = f"Jinja error: {reason(exc)}"
    return SourceError(with_function(problem, exc), chain, hint)
