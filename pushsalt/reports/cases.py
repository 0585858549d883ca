"""Converts the return of a target to cases, for all reports: one for each state, or one for a function."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pushsalt.display import states as highstate
from pushsalt.display.safe import escape, plain
from pushsalt.model import TargetReturn

#: Maximum number of characters of a text in reports.
LONGEST = 20_000

Outcome = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """One case. ``kind``: the function, or the kind of an error; ``text``: the comment; ``output``: changes, value."""

    name: str
    outcome: Outcome
    kind: str = ""
    sls: str = ""
    text: str = ""
    output: str = ""
    #: seconds
    time: float = 0.0
    changed: bool = False

    @property
    def message(self) -> str:
        """The first line of the text."""
        return self.text.strip().partition("\n")[0][:500]


def cases_of(result: TargetReturn, fun: str) -> Iterator[Case]:
    """The cases of a target's return; ``fun``: the function of the job."""
    ret = result.ret
    if result.shape == "states" and isinstance(ret, Mapping):
        yield from _states(ret)
    elif result.shape == "errors" and isinstance(ret, list):
        texts = [str(getattr(text, "explanation", text)) for text in ret]
        yield Case("render and compile", "error", "compile", text=_cut("\n\n".join(texts)), time=_seconds(result))
    elif result.shape == "error" and isinstance(ret, Mapping) and isinstance(ret.get("error"), Mapping):
        yield from _error(result, ret["error"], fun)
    else:
        failed = bool(result.exit_code) and not result.check
        text = f"exit status {result.retcode}" if failed else ""
        yield Case(fun, "failed" if failed else "passed", fun, text=text, output=shown(ret), time=_seconds(result))
    if result.check:
        yield Case("batch check", "failed", "batch_check", text=_cut(result.check))


def _states(ret: Mapping[str, Any]) -> Iterator[Case]:
    for item in highstate.parse(ret):
        raw = ret.get(item.tag)
        ran = raw.get("__state_ran__", True) if isinstance(raw, Mapping) else True
        outcome: Outcome = "failed" if item.outcome == "failed" else "passed"
        if ran is False or (isinstance(raw, Mapping) and raw.get("skip_watch")):
            outcome = "skipped"
        name = f"{item.function} {item.name}" + (f" ({item.id})" if item.id != item.name else "")
        changed = item.outcome in ("changed", "pending") and outcome == "passed"
        output = shown(item.changes) if item.changes else ""
        time = (item.duration or 0.0) / 1000
        yield Case(name, outcome, item.function, item.sls, _cut(item.comment), output, time, changed)


def _error(result: TargetReturn, error: Mapping[str, Any], fun: str) -> Iterator[Case]:
    kind, message = str(error.get("kind") or "error"), str(error.get("message") or "")
    returned = error.get("returned")
    if isinstance(returned, Mapping):
        yield from _states(returned)
    outcome: Outcome = "skipped" if kind == "not_begun" else "failed" if result.exit_code == 2 else "error"
    hint = f"\nhint: {error['hint']}" if error.get("hint") else ""
    kind = str(error.get("exception") or kind) if kind == "exception" else kind
    yield Case(fun, outcome, kind, text=_cut(message + hint), time=_seconds(result))


def _seconds(result: TargetReturn) -> float:
    return sum(result.phases.values())


def shown(value: Any) -> str:
    """A value as text: a text unchanged, others as JSON."""
    if isinstance(value, str):
        return _cut(value)
    return _cut(json.dumps(plain(value), indent=2, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... {len(text) - LONGEST} more characters"
    return escape(text)
