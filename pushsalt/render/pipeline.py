"""From source text to data (SLS, pillar, top files, rosters) or to text (files with ``template:``).

Salt: salt.template.compile_template, salt.utils.templates.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pushsalt.errors import RenderError
from pushsalt.render.context import RenderContext
from pushsalt.render.problems import SourceError, render_error
from pushsalt.render.renderers import Renderer
from pushsalt.render.source import Origin, StageText
from pushsalt.yamlio import YamlError

log = logging.getLogger(__name__)

DEFAULT_RENDERER: Final = "jinja|yaml"

#: Names from before there were pipes.
OLD_NAMES: Final = {
    f"{data}_{template}": f"{template}|{data}"
    for data in ("yaml", "json", "yamlex")
    for template in ("jinja", "mako", "wempy")
}


@dataclass(frozen=True)
class Stage:
    """One renderer of a pipe, with the arguments behind its name."""

    name: str
    argline: str = ""


def compile_template(
    text: str,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    default_renderer: str | None = None,
    **variables: Any,
) -> Any:
    """The data of an SLS, top file or pillar: ``text`` through the renderers that its first line names.

    ``path`` is the file on disk, for messages and for ``tplpath``; ``sls`` is '' for what is no SLS. Without a ``#!``
    line it is ``default_renderer``, or the option ``renderer``. ``variables`` are more names for templates. Nothing but
    white space is ``{}``. Raises RenderError, complete for people; TargetError when a call could not reach the target.
    """
    if not text.strip():
        return {}
    pipe = default_renderer or context.opts.get("renderer") or DEFAULT_RENDERER
    return _run(text, pipe, path=path, sls=sls, saltenv=saltenv, context=context, variables=variables)


def render_text(
    text: str,
    engine: str,
    *,
    path: str,
    saltenv: str,
    context: RenderContext,
    variables: Mapping[str, Any] | None = None,
) -> str:
    """The text that a file's ``template: engine`` gives. ``variables`` are the state's ``defaults`` and ``context``.

    Raises RenderError; TargetError when a call could not reach the target.
    """
    try:
        result = _stage(
            Stage(engine),
            StageText(text),
            path=path,
            sls="",
            saltenv=saltenv,
            context=context,
            variables=variables or {},
        )
    except SourceError as exc:
        raise render_error(exc, path=path, sls="", saltenv=saltenv) from None
    if not isinstance(result, str):
        raise RenderError(f"Rendering {path} failed: template {engine!r} gives {type(result).__name__}, not text")
    return str(result)


def parse_pipe(pipe: str) -> list[Stage]:
    """The stages of ``jinja | yaml``, ``mako -x | json`` or an old name such as ``yaml_jinja``."""
    pipe = OLD_NAMES.get(pipe.strip(), pipe)
    stages = []
    for part in pipe.split("|"):
        name, _, argline = part.strip().partition(" ")
        stages.append(Stage(name, argline.strip()))
    return stages


def pipe_of(text: str, default: str) -> str:
    """The renderers that the first line names, or ``default``. ``#!/…`` is an interpreter, not a renderer."""
    first = text.split("\n", 1)[0].strip()
    return first[2:] if first.startswith("#!") and not first.startswith("#!/") else default


def renderer_named(name: str) -> Renderer:
    """The renderer module of that name. Raises SourceError when there is none."""
    if name.isidentifier() and not name.startswith("_"):
        try:
            module: Any = importlib.import_module(f"pushsalt.render.renderers.{name}")
        except ModuleNotFoundError as exc:
            if exc.name != f"pushsalt.render.renderers.{name}":
                raise SourceError(f"The renderer {name!r} needs the Python package {exc.name!r}") from None
        else:
            renderer: Renderer = module
            return renderer
    known = ", ".join(sorted(file.stem for file in (Path(__file__).parent / "renderers").glob("[a-z]*.py")))
    raise SourceError(f"The renderer {name!r} is not available", hint=f"known renderers: {known}")


def _run(
    text: str, pipe: str, *, path: str, sls: str, saltenv: str, context: RenderContext, variables: Mapping[str, Any]
) -> Any:
    data: Any = StageText(text, _own_lines(path, text))
    try:
        stages = _allowed(parse_pipe(pipe_of(text, pipe)), context.opts)
        for stage in stages:
            source, data = (
                data,
                _stage(stage, data, path=path, sls=sls, saltenv=saltenv, context=context, variables=variables),
            )
            if isinstance(data, StageText) and data.origin is None:
                data.origin = getattr(source, "origin", None)
    except SourceError as exc:
        raise render_error(exc, path=path, sls=sls, saltenv=saltenv) from None
    if isinstance(data, str):
        last = stages[-1].name if stages else pipe
        problem = (
            f"the renderer {last!r} ends the pipe but gives text: a renderer for data must follow, such as '| yaml'"
        )
        raise render_error(SourceError(problem), path=path, sls=sls, saltenv=saltenv)
    return data


def _stage(
    stage: Stage,
    data: Any,
    *,
    path: str,
    sls: str,
    saltenv: str,
    context: RenderContext,
    variables: Mapping[str, Any],
) -> Any:
    """One stage. Raises SourceError with a place in a source file, through the text of the stages before."""
    renderer = renderer_named(stage.name)
    keywords: dict[str, Any] = {"tmplpath": path, "render_context": context, "argline": stage.argline}
    if variables:
        keywords["context"] = dict(variables)
    try:
        result = renderer.render(data, saltenv, sls, **keywords)
    except YamlError as exc:
        raise _behind(exc, data) from None
    except TypeError as exc:
        if isinstance(data, str):
            raise
        raise SourceError(f"the renderer {stage.name!r} cannot take what came before it: {exc}") from None
    if isinstance(result, StageText) or not isinstance(result, str):
        return result if not hasattr(result, "read") or isinstance(result, str) else StageText(result.read())
    return StageText(result)


def _behind(exc: YamlError, data: Any) -> SourceError:
    """A YAML problem in a stage's text as one in the source that the text was rendered from."""
    origin = data.origin if isinstance(data, StageText) else None
    place = origin(exc.line, exc.column or 1) if origin is not None and exc.line is not None else None
    lines = str(data).splitlines()
    rendered = lines[exc.line - 1] if exc.line is not None and exc.line <= len(lines) else ""
    if place is None:
        return SourceError(exc.problem, rendered=rendered)
    source = place.text.splitlines()
    same = place.line <= len(source) and source[place.line - 1] == rendered
    return SourceError(exc.problem, [place], rendered="" if same else f"line {exc.line}: {rendered}")


def _own_lines(path: str, text: str) -> Any:
    def origin(line: int, column: int) -> Origin:
        return Origin(path, line, text)

    return origin


def _allowed(stages: Iterable[Stage], opts: Mapping[str, Any]) -> list[Stage]:
    """The stages that ``renderer_whitelist`` and ``renderer_blacklist`` leave."""
    whitelist, blacklist = opts.get("renderer_whitelist") or (), opts.get("renderer_blacklist") or ()
    allowed = []
    for stage in stages:
        if (whitelist and stage.name not in whitelist) or stage.name in blacklist:
            log.warning('The renderer "%s" is disallowed by configuration and will be skipped.', stage.name)
            continue
        allowed.append(stage)
    return allowed
