"""Turns errors in templates into a RenderError with the file and line to edit."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final

from pushsalt.errors import FunctionError, Position, PushsaltError, RenderError, TargetError
from pushsalt.excerpt import excerpt
from pushsalt.render.context import FoundFile
from pushsalt.render.source import Origin, StageText, source_lines
from pushsalt.trust import Limit, limit_of

MAX_CALLERS: Final = 10


class SourceError(Exception):
    """An error at a known place of a source text; the pipeline adds the SLS that was being rendered.

    ``chain``: the place, then its importers and callers up to the SLS. ``rendered``: the rendered line that another
    renderer refused, if it differs from the source.
    """

    def __init__(self, problem: str, chain: Sequence[Origin] = (), hint: str = "", rendered: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.chain = list(chain)
        self.hint = hint
        self.rendered = rendered


def render_error(exc: SourceError, *, path: str, sls: str, saltenv: str) -> RenderError:
    """The RenderError with the complete message: what failed, why, where (innermost first), and excerpts."""
    what = f"Rendering SLS '{saltenv}:{sls}' failed" if sls else f"Rendering {path} failed"
    lines = [f"{what}: {exc.problem}"]
    if exc.chain:
        place, *callers = exc.chain
        if exc.problem.startswith("Jinja ") and "\n" not in exc.problem:
            lines[0] += f"; line {place.line}"  # Salt's words
        lines.append(f"  in {place.position}")
        if len(callers) > MAX_CALLERS:  # endless recursion of macros
            callers[MAX_CALLERS // 2 : -MAX_CALLERS // 2] = []
        lines += [f"  from {caller.position}" for caller in callers]
        shown = excerpt(place.text, place.line)
        if shown:
            lines += ["", shown]
        where: Position = place.position
    else:
        lines.append(f"  in {path}")
        where = Position(path)
    if exc.rendered:
        lines += ["", f"rendered: {exc.rendered}"]
    if exc.hint:
        lines += ["", f"hint: {exc.hint}"]
    return RenderError("\n".join(lines), exc.hint, where)


def refused(data: object, problem: str, line: int | None, column: int | None = 1) -> SourceError:
    """The SourceError for a line of a renderer's input, with the place in the source of that line."""
    lines = source_lines(str(data))
    given = lines[line - 1] if line is not None and line <= len(lines) else ""
    place = origin_of(data, line, column)
    if place is None:
        return SourceError(problem, rendered=given)
    source = source_lines(place.text)
    same = place.line <= len(source) and source[place.line - 1] == given
    return SourceError(problem, [place, *place.via], rendered="" if same else f"line {line}: {given}")


def origin_of(data: object, line: int | None, column: int | None = 1) -> Origin | None:
    """The source of a line of text between two renderers, if known."""
    if not isinstance(data, StageText) or data.origin is None or line is None:
        return None
    return data.origin(line, column or 1)


def python_chain(traceback: TracebackType | None, path: str, text: str) -> list[Origin]:
    """The places of a Python source in a traceback, innermost first."""
    chain = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == path:
            chain.append(Origin(path, traceback.tb_lineno, text))
        traceback = traceback.tb_next
    return chain[::-1]


def reason(exc: BaseException) -> str:
    """The text of an exception, for messages."""
    if isinstance(exc, PushsaltError):
        return exc.message
    if isinstance(exc, RecursionError):
        return "calls or imports that never end (maximum recursion depth exceeded)"
    if isinstance(exc, SystemExit):
        return f"it calls sys.exit({'' if exc.code is None else repr(exc.code)})"
    return str(exc) or type(exc).__name__


#: Exceptions of execution modules for failed calls, by their Salt names.
_CALL_ERRORS = frozenset({"CommandExecutionError", "SaltInvocationError"})


def is_call_error(exc: BaseException) -> bool:
    return isinstance(exc, FunctionError) or any(kind.__name__ in _CALL_ERRORS for kind in type(exc).__mro__)


def with_function(problem: str, exc: BaseException) -> str:
    """``problem`` with the execution function that raised ``exc``, if any and the text does not contain it."""
    function = getattr(exc, "salt_function", None)
    return f"{problem} (raised by the function {function})" if function and function not in problem else problem


def raised_in_template(exc: Exception | SystemExit, chain: Sequence[Origin]) -> Exception:
    """An exception of a template's Python code as SourceError, or as TargetError if it is about the target."""
    match exc:
        case TargetError():
            return TargetError(exc.kind, at_place(exc, chain), exc.hint)
        case SourceError():
            return SourceError(exc.problem, [*exc.chain, *chain], exc.hint, exc.rendered)
        case _:
            hint = exc.hint if isinstance(exc, FunctionError) else ""
            return SourceError(with_function(f"{type(exc).__name__}: {reason(exc)}", exc), chain, hint)


def source_text(file: FoundFile, engine: str = "") -> str:
    """The text of a source file; ``engine``: the renderer that will render it, if known.

    Raises SourceError if it is not UTF-8, or the file's source may not use this renderer.
    """
    limit = limit_of(file)
    if engine and limit is not None and engine not in limit.engines:
        raise not_allowed(engine, limit, [Origin(file.path, 1, "")])
    data = file.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        place = Origin(file.path, line, data.decode("utf-8", "replace"))
        raise SourceError(f"{file.path} is not UTF-8: {exc.reason}", [place]) from None


def not_allowed(name: str, limit: Limit, chain: Sequence[Origin] = ()) -> SourceError:
    """The error of a file that names a renderer which its source may not use."""
    return SourceError(f"the renderer {name!r} is not allowed for files of {limit.source}", chain, limit.hint(name))


def at_place(exc: TargetError | FunctionError, chain: Sequence[Origin]) -> str:
    """The message of a target's error with the place that made the call."""
    return f"{exc.message} (called from {chain[0].position})" if chain else exc.message
