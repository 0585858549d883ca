"""Turns what went wrong in a template into a RenderError that names the file and line to edit."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from pushsalt.errors import FunctionError, Position, PushsaltError, RenderError, TargetError
from pushsalt.excerpt import excerpt
from pushsalt.render.source import Origin


class SourceError(Exception):
    """A problem at a known place of a source text; the pipeline adds the SLS that was being rendered.

    ``chain`` leads from the place, through imports and macros, out to the SLS. ``rendered`` is the line that another
    renderer refused, where that differs from the source.
    """

    def __init__(self, problem: str, chain: Sequence[Origin] = (), hint: str = "", rendered: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.chain = list(chain)
        self.hint = hint
        self.rendered = rendered


def render_error(exc: SourceError, *, path: str, sls: str, saltenv: str) -> RenderError:
    """The error for people: what failed, why, where (innermost first), the lines around it."""
    what = f"Rendering SLS '{saltenv}:{sls}' failed" if sls else f"Rendering {path} failed"
    lines = [f"{what}: {exc.problem}"]
    if exc.chain:
        place, *callers = exc.chain
        lines.append(f"  in {place.position}")
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


def python_chain(traceback: TracebackType | None, path: str, text: str) -> list[Origin]:
    """The places of a Python source that a traceback runs through, innermost first."""
    chain = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == path:
            chain.append(Origin(path, traceback.tb_lineno, text))
        traceback = traceback.tb_next
    return chain[::-1]


def reason(exc: BaseException) -> str:
    """What an exception says, in words for people."""
    if isinstance(exc, PushsaltError):
        return exc.message
    if isinstance(exc, RecursionError):
        return "calls or imports that never end (maximum recursion depth exceeded)"
    return str(exc) or type(exc).__name__


def at_place(exc: TargetError | FunctionError, chain: Sequence[Origin]) -> str:
    """The message of a target's error with the place that made the call."""
    return f"{exc.message} (called from {chain[0].position})" if chain else exc.message
