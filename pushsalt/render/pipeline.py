"""Renders source text to data (SLS, pillar, top files, rosters) or to text (files with ``template:``).

Salt: salt.template.compile_template, salt.utils.templates.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from pushsalt import plugins, regular
from pushsalt.errors import ConfigError, PushsaltError, RenderError
from pushsalt.memo.reads import not_ahead, spoil
from pushsalt.nearest import nearest
from pushsalt.render import limits
from pushsalt.render.context import FoundFile, RenderContext
from pushsalt.render.keylines import KeyLines
from pushsalt.render.limits import OutOfTime
from pushsalt.render.problems import (
    SourceError,
    not_allowed,
    origin_of,
    python_chain,
    reason,
    refused,
    render_error,
    source_text,
)
from pushsalt.render.renderers import Renderer
from pushsalt.render.source import Origin, StageText, WrongInput, as_content
from pushsalt.trust import Limit, Template, Trusted, engines_for, limit_of
from pushsalt.yamlio import YamlError

log = logging.getLogger(__name__)

DEFAULT_RENDERER: Final = "jinja|yaml"

#: Renderers that need a Python package, which the extra of the same name installs.
EXTRAS: Final = frozenset(("mako", "nacl", "toml"))

#: Renderers whose result depends only on their input and on recorded reads. Others run Python, or keep state.
REPEATABLE: Final = frozenset({"gpg", "jinja", "json", "msgpack", "nacl", "toml", "yaml", "yamlex"})
_OURS: Final = "pushsalt.render.renderers"
#: Renderers that parse text to data. If the data is text, the source is invalid, which the caller reports.
_DATA: Final = frozenset({"json", "msgpack", "toml", "yaml", "yamlex"})

#: Old names of renderer pipes.
OLD_NAMES: Final = {
    f"{data}_{template}": f"{template}|{data}"
    for data in ("yaml", "json", "yamlex")
    for template in ("jinja", "mako", "wempy")
}


@dataclass(frozen=True)
class Stage:
    """One renderer of a pipe, with its arguments."""

    name: str
    argline: str = ""


def compile_template(
    text: Template,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    default_renderer: str | None = None,
    **variables: Any,
) -> Any:
    """Render the data of an SLS, top file, pillar or roster by the renderers that its first line names.

    ``path`` is the file on disk, for messages and for ``tplpath``; ``sls`` is '' for other files than SLS. Without a
    ``#!`` line, ``default_renderer`` or the option ``renderer`` is used. ``variables``: further names for templates. A
    text of white space gives ``{}``. Raises RenderError with a complete message; TargetError if a call could not reach
    the target.
    """
    return compile_source(
        text,
        path=path,
        sls=sls,
        saltenv=saltenv,
        context=context,
        default_renderer=default_renderer,
        variables=variables,
    ).data


def compile_source(
    text: Template,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    default_renderer: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> RenderedSource:
    """As ``compile_template``, with the places of all top-level keys."""
    source = render_any(
        text,
        path=path,
        sls=sls,
        saltenv=saltenv,
        context=context,
        default_renderer=default_renderer,
        variables=variables,
    )
    if isinstance(source.data, str | bytes) and source.last not in _DATA:
        problem = f"the last renderer, {source.last!r}, gives text: one that gives data must follow, such as '| yaml'"
        raise render_error(SourceError(problem), path=path, sls=sls, saltenv=saltenv)
    return source


def render_any(
    text: Template,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    default_renderer: str | None = None,
    variables: Mapping[str, Any] | None = None,
) -> RenderedSource:
    """As ``compile_source``, but the result may be text. Salt: slsutil.renderer."""
    engines = _both(engines_for(text), context.engines)
    if engines is not None:
        context = context.confined()
    if not text.strip():
        return RenderedSource({}, KeyLines(None, path))
    call = _Call(path, sls, saltenv, context, variables or {}, engines, limit_of(text))
    log.debug("rendering %s", path)
    try:
        pipe = default_renderer or context.setting("renderer") or DEFAULT_RENDERER
        with limits.rendering(path):
            return call.run(text, _allowed(parse_pipe(pipe_of(text, pipe)), context))
    except SourceError as exc:
        if not exc.chain and pipe_of(text, ""):  # an error of a renderer itself is at the line that names it
            exc.chain.append(Origin(path, 1, text))
        raise _in_time(render_error(exc, path=path, sls=sls, saltenv=saltenv)) from None


def _in_time(error: RenderError) -> BaseException:
    """The error to raise: after the deadline it is OutOfTime, which ends all renderings of the target."""
    try:
        limits.check()
    except OutOfTime:
        return OutOfTime(error)
    return error


def read_source(file: FoundFile, *, sls: str, saltenv: str) -> Trusted:
    """The text of a file of the file server. Raises RenderError with a complete message if it is not UTF-8."""
    try:
        return Trusted(source_text(file), file.path, limit_of(file))
    except SourceError as exc:
        raise render_error(exc, path=file.path, sls=sls, saltenv=saltenv) from None


def render_text(
    text: Template,
    engine: str,
    *,
    path: str,
    saltenv: str,
    context: RenderContext,
    variables: Mapping[str, Any] | None = None,
) -> str:
    """Render a file with ``template: engine`` to text. ``variables`` are the state's ``defaults`` and ``context``.

    Raises RenderError; TargetError if a call could not reach the target.
    """
    engines = _both(engines_for(text), context.engines)
    if engines is not None:
        context = context.confined()
    log.debug("rendering %s", path)
    try:
        call = _Call(path, "", saltenv, context, variables or {}, engines, limit_of(text))
        with limits.rendering(path):
            result = call.stage(Stage(engine), StageText(text))
    except SourceError as exc:
        raise _in_time(render_error(exc, path=path, sls="", saltenv=saltenv)) from None
    if not isinstance(result, str):
        raise RenderError(f"Rendering {path} failed: template {engine!r} gives {type(result).__name__}, not text")
    return str(result)


def decrypt_value(value: Any, renderer: str | None, context: RenderContext) -> Any:
    """A decrypted pillar value, for the option ``decrypt_pillar``. Salt: salt.utils.crypt.decrypt.

    ``renderer`` must be one of ``decrypt_pillar_renderers``; None is ``decrypt_pillar_default``. Raises RenderError.
    """
    name = renderer or str(context.setting("decrypt_pillar_default") or "gpg")
    valid = list(context.setting("decrypt_pillar_renderers") or ["gpg"])
    if name not in valid:
        raise RenderError(
            f"'{name}' is not a valid decryption renderer. Valid choices are: {', '.join(map(str, valid))}",
            "decrypt_pillar_renderers in the configuration lists what may be used",
        )
    try:
        plain = _Call("", "", "base", context, {}).stage(Stage(name), value, translate_newlines=True)
    except SourceError as exc:
        raise RenderError(exc.problem, exc.hint) from None
    return str(plain) if isinstance(plain, str) else plain


#: Renderers that need a key or a program: a render process asks the command to run them.
DECRYPTING: Final = frozenset({"age", "gpg", "nacl", "sops"})


def decrypt_stage(name: str, data: Any, context: RenderContext, argline: str, translate_newlines: bool) -> Any:
    """Run one of the ``DECRYPTING`` renderers on data. Raises RenderError."""
    if name not in DECRYPTING:
        raise RenderError(f"{name!r} does not decrypt")
    more: dict[str, Any] = {"translate_newlines": True} if translate_newlines else {}
    try:
        plain = _Call("", "", "base", context, {}).stage(Stage(name, argline), data, **more)
    except SourceError as exc:
        raise RenderError(exc.problem, exc.hint) from None
    return str(plain) if isinstance(plain, str) else plain


def parse_pipe(pipe: str) -> list[Stage]:
    """The stages of ``jinja | yaml``, ``mako -x | json`` or an old name such as ``yaml_jinja``."""
    pipe = OLD_NAMES.get(pipe.strip(), pipe)
    stages = []
    for part in pipe.split("|"):
        name, _, argline = part.strip().partition(" ")
        stages.append(Stage(name, argline.strip()))
    return stages


def pipe_of(text: str, default: str) -> str:
    """The renderers in the shebang, or ``default``. ``#!/…`` is an interpreter, not a renderer."""
    first = text.split("\n", 1)[0].strip()
    return first[2:] if first.startswith("#!") and not first.startswith("#!/") else default


def renderer_named(name: str, context: RenderContext, saltenv: str = "base", sls: str = "") -> Renderer:
    """The renderer of this name, first among users' own. Raises SourceError for an unknown one.

    A user's module is loaded again for each rendering, since Salt's dunders, its globals, differ by target.
    """
    refused = ""
    for path in plugins.own_files(name, plugin_folders(context)):
        own, refused = _own_renderer(path, name, context.dunders(saltenv, sls))
        if own is not None:
            return own
    try:
        renderer: Any = plugins.load("renderers", name)
    except ModuleNotFoundError as exc:
        package = str(exc.name).split(".")[0]
        problem = f"The renderer {name!r} needs the Python package {package!r}, which is not installed here"
        wanted = f"'pushsalt[{name}]'" if name in EXTRAS else package
        raise SourceError(problem, hint=f"pip install {wanted}") from None
    except ConfigError as exc:
        if "cannot be loaded" in exc.message:
            raise SourceError(str(exc), hint=exc.hint) from None
        problem = f"The renderer {name!r} is not available{refused and ': '}{refused}"
        near = [] if refused else nearest(name, plugins.names("renderers", plugin_folders(context)), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else exc.hint
        raise SourceError(problem, hint="" if refused else hint) from None
    loaded: Renderer = renderer
    return loaded


def plugin_folders(context: RenderContext) -> tuple[Path, ...]:
    """The folders of users' own renderers."""
    return plugins.folders("renderers", context.noted("module_dirs", "extension_modules", "file_roots", "saltenv"))


def _own_renderer(path: Path, name: str, dunders: Mapping[str, Any]) -> tuple[Renderer | None, str]:
    """The module; or None and the reason if its ``__virtual__`` returns false."""
    text = regular.read_text(path)
    module: Any = ModuleType(f"pushsalt_plugins.renderers.{path.stem}")
    module.__file__ = str(path)
    module.__dict__.update(dunders)
    try:
        exec(_compiled(text, str(path)), module.__dict__)  # noqa: S102 - a renderer is code that its user wrote
        verdict = module.__virtual__() if hasattr(module, "__virtual__") else True
        if "__init__" in module.__dict__:
            module.__init__(dunders["__opts__"])
    except (Exception, SystemExit) as exc:
        place = python_chain(exc.__traceback__, str(path), text)
        line = exc.lineno if isinstance(exc, SyntaxError) and exc.filename == str(path) else None
        where = f" ({path}:{line or place[0].line})" if line or place else ""
        raise SourceError(f"The renderer {name!r} cannot be loaded: {reason(exc)}{where}", place) from None
    why = ""
    if isinstance(verdict, tuple):
        verdict, why = verdict[0], str(verdict[1]) if len(verdict) > 1 else ""
    if verdict is True or verdict == name:
        renderer: Renderer = module
        return renderer, ""
    return None, why or f"__virtual__ of {path} says {verdict!r}"


@lru_cache(maxsize=64)
def _compiled(text: str, path: str) -> CodeType:
    return compile(text, path, "exec", dont_inherit=True)


@dataclass(frozen=True)
class RenderedSource:
    """``data``, the source lines of its top-level keys, and the name of the last renderer."""

    data: Any
    lines: KeyLines
    last: str = ""


@dataclass(frozen=True)
class _Call:
    """The parameters of all stages of one rendering."""

    path: str
    sls: str
    saltenv: str
    context: RenderContext
    variables: Mapping[str, Any]
    #: the only renderers that may be used; None for no limit
    engines: frozenset[str] | None = None
    #: the trust limit of the source, which is included in ``engines``
    limit: Limit | None = None

    def run(self, text: str, stages: list[Stage]) -> RenderedSource:
        data: Any = StageText(text, lambda line, column: Origin(self.path, line, text))
        before: Any = None
        previous = ""
        for stage in stages:
            before, data = data, self.stage(stage, data, previous)
            previous = stage.name
        if isinstance(data, str):
            return RenderedSource(str(data), KeyLines(None, self.path), previous)
        # for lines, JSON is read as YAML
        read = before if previous in ("yaml", "json") and isinstance(before, StageText) else None
        return RenderedSource(data, KeyLines(read, self.path, text), previous)

    def stage(self, stage: Stage, data: Any, previous: str = "", **more: Any) -> Any:
        """Run one renderer on ``data``, the result of the renderer ``previous`` ('' for the source).

        ``more``: further keyword arguments.

        Raises SourceError, with the place in a source file if known.
        """
        if self.limit is not None and stage.name not in self.limit.engines:
            raise not_allowed(stage.name, self.limit)
        if self.engines is not None and stage.name not in self.engines:
            problem = f"the renderer {stage.name!r} is only allowed in files of the file roots"
            raise SourceError(problem, hint=f"here are: {', '.join(sorted(self.engines))}")
        renderer = renderer_named(stage.name, self.context, self.saltenv, self.sls)
        ours = getattr(renderer, "__name__", "") == f"{_OURS}.{stage.name}"
        if stage.name not in REPEATABLE or not ours:
            not_ahead()
            spoil(f"the renderer {stage.name} may do anything")
        keywords: dict[str, Any] = {
            "tmplpath": self.path,
            "render_context": self.context,
            "renderers": RenderFunctions(self),
            "argline": stage.argline,
            "context": dict(self.variables),
            **more,
        }
        try:
            if ours and stage.name in DECRYPTING and self.context.decrypt is not None:
                result = self._decrypted(stage, data, bool(more.get("translate_newlines")))
            else:
                result = renderer.render(data, self.saltenv, self.sls, **keywords)
            if not isinstance(result, str) and hasattr(result, "read"):
                result = as_content(result)
        except YamlError as exc:
            raise _parse_error(exc, data) from None
        except (SourceError, PushsaltError):
            raise
        except OutOfTime as exc:
            if exc.error is not None:
                raise
            raise SourceError(limits.words(), python_chain(exc.__traceback__, self.path, str(data))) from None
        except MemoryError as exc:
            problem = f"the renderer {stage.name!r} needs more memory than `render_memory` allows"
            raise SourceError(problem, python_chain(exc.__traceback__, self.path, "")) from None
        except WrongInput as exc:
            giver = f"the renderer {previous!r} before it" if previous else "the source"
            problem = f"the renderer {stage.name!r} needs {exc.needs}, and {giver} gives {exc.given}"
            raise SourceError(problem, hint="change the order of the renderers in the first line") from None
        except (Exception, SystemExit) as exc:  # a user's renderer may raise anything
            problem = f"the renderer {stage.name!r} failed: {type(exc).__name__}: {reason(exc)}{plugins.blamed(exc)}"
            if previous and not isinstance(data, str):
                problem = (
                    f"the renderer {stage.name!r} cannot take what {previous!r} before it gives "
                    f"({type(data).__name__}): {type(exc).__name__}: {reason(exc)}"
                )
            raise SourceError(problem) from None
        return StageText(result) if isinstance(result, str) and not isinstance(result, StageText) else result

    def _decrypted(self, stage: Stage, data: Any, translate_newlines: bool) -> Any:
        """Run a decrypting renderer in the process that has the keys."""
        assert self.context.decrypt is not None
        try:
            return self.context.decrypt(stage.name, data, stage.argline, translate_newlines)
        except RenderError as exc:
            raise SourceError(exc.message, hint=exc.hint) from None


@dataclass(frozen=True, eq=False)
class RenderFunctions(Mapping[str, Callable[..., Any]]):
    """Name of a renderer -> its function: the keyword ``renderers`` of Salt's renderers. Raises KeyError.

    Errors in the input of such a function are raised as SourceError with their places.
    """

    _call: _Call

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._names():
            raise KeyError(name)

        def function(data: Any, saltenv: str = "base", sls: str = "", argline: str = "", **kwargs: Any) -> Any:
            call = replace(self._call, saltenv=saltenv, sls=sls, variables=kwargs.get("context") or {})
            return call.stage(Stage(name, argline), data)

        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        return plugins.names("renderers", plugin_folders(self._call.context))


def _parse_error(exc: YamlError, data: Any) -> SourceError:
    """The SourceError of a YAML error in a stage's text, with the place in the source of that text."""
    if exc.related is None:
        return refused(data, exc.problem, exc.line, exc.column)
    words, number = exc.related
    line, column = exc.line, exc.column
    if "quoted scalar" in exc.problem and number != line:  # detected at the end; the error is at the start
        words, number, line, column = "the end was looked for up to", line or number, number, exc.related_column
    place, other = origin_of(data, line, column), origin_of(data, number)
    at = f"{other.position}" if other is not None and place is not None and other.path != place.path else ""
    at = at or f"line {other.line if other is not None else number}"
    return refused(data, f"{exc.problem} ({words} {'' if words.endswith('to') else 'in '}{at})", line, column)


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The intersection of two limits; None is no limit."""
    return one & other if one is not None and other is not None else other if one is None else one


def _allowed(stages: Iterable[Stage], context: RenderContext) -> list[Stage]:
    """The stages that ``renderer_whitelist`` and ``renderer_blacklist`` allow."""
    whitelist, blacklist = context.setting("renderer_whitelist") or (), context.setting("renderer_blacklist") or ()
    allowed = []
    for stage in stages:
        if (whitelist and stage.name not in whitelist) or stage.name in blacklist:
            log.warning("the renderer %s is skipped: renderer_whitelist or renderer_blacklist excludes it", stage.name)
            continue
        allowed.append(stage)
    return allowed
