"""Jinja as Salt sets it up. Salt: salt.utils.templates.render_jinja_tmpl, salt.utils.jinja.

Templates are compiled once per process: code depends on the text, the name and the environment's options alone, so it
is shared by all targets. What differs by target (globals, loader) is in an overlay made for each rendering.
"""

from __future__ import annotations

import json
import logging
import posixpath
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Final

import jinja2
import jinja2.defaults
import jinja2.sandbox
from jinja2.runtime import StrictUndefined, Undefined

from pushsalt.errors import FunctionError, RenderError, TargetError
from pushsalt.render.context import FileSource, RenderContext, SaltFunctions, SaltModule, sls_names
from pushsalt.render.filters import FILTERS, GLOBALS, TESTS
from pushsalt.render.filters.serialize import printable
from pushsalt.render.problems import SourceError, at_place, reason
from pushsalt.render.source import Origin, OutputMap, Piece, StageText
from pushsalt.render.tags import SaltTags
from pushsalt.yamlio import YamlError

log = logging.getLogger(__name__)

EXTENSIONS: Final = ("jinja2.ext.do", "jinja2.ext.loopcontrols", SaltTags)
#: Compiled templates kept in memory.
CODE_CACHE_SIZE: Final = 4096

#: Options of an environment, hashable.
EnvOptions = tuple[tuple[str, Any], ...]


class RaisedByTemplate(Exception):
    """``raise('…')`` in a template."""


class SaltUndefined(StrictUndefined):
    """Says which execution function is missing instead of naming our classes."""

    @property
    def _undefined_message(self) -> str:
        owner = self._undefined_obj
        if isinstance(owner, SaltFunctions):
            return f"'salt' has no function {self._undefined_name!r}"
        if isinstance(owner, SaltModule):
            return f"'salt' has no function '{owner._module}.{self._undefined_name}'"
        return super()._undefined_message


class Environment(jinja2.sandbox.SandboxedEnvironment):
    """One rendering's environment: an overlay of a shared one, with its own globals and loader."""

    salt_loader: TemplateLoader


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


def _raise(message: Any) -> None:
    raise RaisedByTemplate(message)


class _CodeCache:
    """Compiled templates by (options, name, path, text); the least recently used go first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._codes: OrderedDict[tuple[Any, ...], CodeType] = OrderedDict()

    def get(self, key: tuple[Any, ...], compile_: Callable[[], CodeType]) -> CodeType:
        with self._lock:
            code = self._codes.get(key)
            if code is not None:
                self._codes.move_to_end(key)
                return code
        code = compile_()
        with self._lock:
            self._codes[key] = code
            while len(self._codes) > self._size:
                self._codes.popitem(last=False)
        return code


_codes = _CodeCache(CODE_CACHE_SIZE)


def _compile(base: Environment, key: tuple[Any, ...], text: str, name: str | None, path: str) -> CodeType:
    return _codes.get((key, name, path, text), lambda: base.compile(text, name=name, filename=path))


class TemplateLoader(jinja2.BaseLoader):
    """Imports and includes of one rendering. Salt: salt.utils.jinja.SaltCacheLoader.

    Names are relative to the file server's roots; with ``./`` or ``../`` to ``tpldir``, as in Salt, or else to the
    file that imports. Each file that is loaded sets ``tplfile``, ``tpldir`` and ``tpldot`` for imports without context.
    """

    def __init__(self, source: FileSource | None, saltenv: str, base: Environment, key: tuple[Any, ...]) -> None:
        self._source = source
        self._saltenv = saltenv
        self._base = base
        self._key = key
        #: template name -> (path, text), for messages
        self.loaded: dict[str, tuple[str, str]] = {}

    def load(
        self, environment: jinja2.Environment, name: str, globals: MutableMapping[str, Any] | None = None
    ) -> jinja2.Template:
        relative = name.split("/", 1)[0] in (".", "..")
        path_in_tree = self._resolve(environment, name) if relative else name
        found = self._source.find(path_in_tree, self._saltenv) if self._source is not None else None
        if found is None:
            raise jinja2.TemplateNotFound(name)
        try:
            text = found.read().decode("utf-8")
        except UnicodeDecodeError as exc:
            raise SourceError(f"{found.path} is not UTF-8: {exc.reason} at byte {exc.start}") from None
        self.loaded[name] = (found.path, text)
        if not relative:
            directory = posixpath.dirname(path_in_tree)
            environment.globals.update(
                tplfile=path_in_tree, tpldir=directory or ".", tpldot=directory.replace("/", ".")
            )
        else:
            environment.globals["tplfile"] = name
        code = _compile(self._base, self._key, text, name, found.path)
        template = environment.template_class.from_code(
            environment, code, globals if globals is not None else environment.make_globals(None)
        )
        return template

    def _resolve(self, environment: jinja2.Environment, name: str) -> str:
        base = str(environment.globals.get("tpldir", "."))
        resolved = posixpath.normpath(posixpath.join(base, name))
        if resolved.split("/", 1)[0] == "..":
            raise jinja2.TemplateNotFound(name, f"{name!r} leads out of the file server's tree")
        return resolved


def environment_options(opts: Mapping[str, Any], *, sls: str) -> dict[str, Any]:
    """What ``jinja_env`` (files) or ``jinja_sls_env`` (SLS) set of Jinja's own options."""
    chosen = opts.get("jinja_sls_env" if sls else "jinja_env") or {}
    options = _known_options(chosen) if isinstance(chosen, Mapping) else {}
    for name in ("trim_blocks", "lstrip_blocks"):
        if opts.get(f"jinja_{name}"):
            options[name] = True
    return options


def _known_options(options: Mapping[str, Any]) -> dict[str, Any]:
    known = {}
    for name, value in options.items():
        if hasattr(jinja2.defaults, str(name).upper()):
            known[str(name).lower()] = value
        else:
            log.warning("Jinja2 environment %s is not recognized", name)
    return known


def split_header(text: str) -> tuple[str, dict[str, Any]]:
    """``text`` and the options of its ``#jinja2: {…}`` line, which is first or follows the renderers' shebang.

    The line is emptied, so that all others keep their numbers in messages; the pipeline drops it from the output.
    """
    lines = text.splitlines(keepends=True)
    at = 1 if lines and lines[0].startswith("#!") and not lines[0].startswith("#!/") else 0
    if at >= len(lines) or not lines[at].startswith("#jinja2:"):
        return text, {}
    payload = lines[at].removeprefix("#jinja2:").strip()
    if not payload:
        return text, {}
    try:
        options = json.loads(payload)
        if not isinstance(options, dict):
            raise ValueError("it is no JSON object")
    except ValueError as exc:
        log.warning("Ignoring the '#jinja2:' header %s: %s", payload, exc)
        return text, {}
    del lines[at]
    return "".join(lines), _known_options(options)


# --- rendering ---------------------------------------------------------------------------------------------------


def render_jinja(
    text: str,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    variables: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> StageText:
    """``text`` rendered for ``context``'s target, each part with the source line it came from.

    ``path`` names the source in messages. ``variables`` are more names for the template and win over all others.
    Raises SourceError with the place; TargetError when a call could not reach the target.
    """
    text, header = split_header(text)
    dropped = 1 if header else 0
    options = environment_options(context.opts, sls=sls) | header
    key: EnvOptions = tuple(sorted((name_, _hashable(value)) for name_, value in options.items()))
    allow_undefined = bool(context.opts.get("allow_undefined"))
    base = _base_environment(key, allow_undefined)
    loader = TemplateLoader(context.fileserver or _beside(path), saltenv, base, (key, allow_undefined))
    env = base.overlay()
    env.loader = loader
    names = context.names(saltenv) | {"sls": sls} | dict(variables or {})
    if sls or "sls" in (variables or {}):
        names = sls_names(path, str(names["sls"])) | names
    else:
        del names["sls"]
    env.globals = {**base.globals, **names}
    main = (path, text)
    try:
        code = _compile(base, (key, allow_undefined), text, name, path)
        template = env.template_class.from_code(env, code, env.make_globals(None))
        pieces = list(_pieces(template, template.new_context(names), main, loader))
    except Exception as exc:
        raise _translated(exc, main, loader, dropped) from None
    output = "".join(piece.text for piece in pieces)
    # Jinja drops the last newline of a template; Salt puts it back
    newline = "\n" if text.endswith("\n") else ""
    return StageText(output + newline, OutputMap(pieces))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class _Directory:
    """The files beside a template that belongs to no file server (an inventory, a configuration)."""

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
        return Path(self.path).read_bytes()


def _beside(path: str) -> FileSource | None:
    folder = Path(path).parent
    return _Directory(folder) if path and folder.is_absolute() and folder.is_dir() else None


def _pieces(template: jinja2.Template, ctx: Any, main: tuple[str, str], loader: TemplateLoader) -> Iterator[Piece]:
    """The template's output, piece by piece. Where a piece came from is read off the generator that yields it."""
    generator = template.root_render_func(ctx)
    for text in generator:
        running: Any = generator
        while (inner := getattr(running, "gi_yieldfrom", None)) is not None and hasattr(inner, "gi_frame"):
            running = inner
        frame = running.gi_frame
        yield Piece(text, _late_origin(frame.f_globals, frame.f_lineno, main, loader))


def _late_origin(
    namespace: Mapping[str, Any], lineno: int, main: tuple[str, str], loader: TemplateLoader
) -> Callable[[], Origin]:
    def origin() -> Origin:
        return _origin(namespace["__jinja_template__"], lineno, main, loader)

    return origin


def _origin(template: jinja2.Template, lineno: int, main: tuple[str, str], loader: TemplateLoader) -> Origin:
    path, text = loader.loaded.get(template.name or "", main)
    return Origin(path, template.get_corresponding_lineno(lineno), text)


# --- errors ------------------------------------------------------------------------------------------------------


def _chain(traceback: TracebackType | None, main: tuple[str, str], loader: TemplateLoader) -> list[Origin]:
    """The template lines that a traceback runs through, innermost first."""
    chain: list[Origin] = []
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            origin = _origin(template, traceback.tb_lineno, main, loader)
            if not chain or chain[-1] != origin:
                chain.append(origin)
        traceback = traceback.tb_next
    return chain[::-1]


def _translated(exc: Exception, main: tuple[str, str], loader: TemplateLoader, dropped: int) -> Exception:
    """``exc`` as SourceError in Salt's words, or as it is when it is about the target and not about the template."""
    chain = _chain(exc.__traceback__, main, loader)
    if isinstance(exc, TargetError):
        return TargetError(exc.kind, at_place(exc, chain), exc.hint)
    if isinstance(exc, SourceError):
        return SourceError(exc.problem, [*exc.chain, *chain], exc.hint)
    hint = ""
    if isinstance(exc, YamlError):
        problem = f"Jinja syntax error: Encountered error loading yaml: {exc.problem}"
        if exc.where is not None and exc.where.path in loader.loaded and exc.line is not None:
            path, text = loader.loaded[exc.where.path]
            chain.insert(0, Origin(path, exc.line, text))
    elif isinstance(exc, jinja2.TemplateSyntaxError):
        problem = f"Jinja syntax error: {exc.message}"
        path, text = loader.loaded.get(exc.name or "", main)
        chain.insert(0, Origin(path, exc.lineno, text))
    elif isinstance(exc, jinja2.UndefinedError):
        problem = f"Jinja variable {exc.message}"
    elif isinstance(exc, jinja2.TemplateNotFound):
        problem = f"Jinja error: {exc.message or exc.name}"
        if exc.message == exc.name or exc.message is None:
            problem = f"Jinja error: no file {exc.name!r} in the file server to import or include"
    elif isinstance(exc, jinja2.TemplateRuntimeError):  # SecurityError is one
        problem = f"Jinja syntax error: {exc.message}"
    elif isinstance(exc, FunctionError):
        problem = f"Problem running salt function in Jinja template: {exc.message}"
        hint = exc.hint
    elif isinstance(exc, RenderError):
        problem = f"Jinja error: {exc.message}"
        hint = exc.hint
    else:
        problem = f"Jinja error: {reason(exc)}"
    if dropped:
        chain = [Origin(o.path, o.line + dropped, o.text) if (o.path, o.text) == main else o for o in chain]
    return SourceError(problem, chain, hint)
