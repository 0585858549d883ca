"""Reports of jobs as HTML pages (``--report FILE.html``): each return, of states, a plan or a function, is an item."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pushsalt.display import states as highstate
from pushsalt.display.forecast import WORDS, fails, parts
from pushsalt.errors import EXIT_FAILED
from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.cases import cases_of, shown
from pushsalt.reports.files import write_whole
from pushsalt.reports.page import Item, Page, Row

#: Outcomes of targets, with their names on the page.
OUTCOMES: Final = (
    ("failed", "failed"),
    ("no answer", "no answer"),
    ("not begun", "not begun"),
    ("changed", "changed"),
    ("unknown", "unknown"),
    ("unchanged", "unchanged"),
)
#: The names where nothing has been done: in a plan, or in a dry run.
FORESEEN: Final = tuple(
    (name, {"changed": "would change", "unchanged": "no change"}.get(name, word)) for name, word in OUTCOMES
)
#: The comment of a state that did not run because requisites failed. Salt: state.State.call_chunk.
_REQUISITES: Final = re.compile(r"One or more requisite failed: (.*)", re.DOTALL)
_MARKS: Final = {"will": "changed", "may": "changed", "unknown": "unknown", "none": "unchanged"}


class Report:
    """Writes the page when the job has ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._job = JobStart("", "")
        self._items: dict[str, Item] = {}

    def job_begins(self, job: JobStart) -> None:
        self._job = job

    def target_returned(self, ret: TargetReturn) -> None:
        self._items[ret.id] = item_of(ret, self._job.fun)

    def job_ends(self, end: JobEnd) -> None:
        job = self._job
        left = [id for id in job.ids if id not in self._items]
        items = [*self._items.values(), *(Item(id, "no answer", "no return", []) for id in left)]
        title, outcomes = heading(job.fun, job.arg, job.options)
        page = Page(title, about(job.jid, job.tgt, job.start, end.end, end.exit_code), outcomes, items)
        write_whole(self._path, page.pieces())


def heading(fun: str, arg: Sequence[Any], options: Mapping[str, Any]) -> tuple[str, Sequence[tuple[str, str]]]:
    """The title of a job's page, and the names of its outcomes."""
    plan, dry = bool(options.get("plan")), bool(options.get("test"))
    words = " ".join(["pushsalt", "plan" if plan else fun, *map(str, arg)])
    return words + (" (dry run)" if dry and not plan else ""), FORESEEN if dry or plan else OUTCOMES


def about(jid: str, tgt: Any, start: float, end: float | None, code: int | None) -> list[tuple[str, str]]:
    """The lines of the head of a job's page."""
    began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(start))
    rows = [("Targets", str(tgt)), ("Began", began)]
    rows += [("Took", f"{max(0.0, end - start):.1f} s")] if end else []
    return [*rows, ("Exit code", "none yet" if code is None else str(code)), ("Job", jid)]


def item_of(result: TargetReturn, fun: str) -> Item:
    """The item of a target's return, from which secrets were removed."""
    ret = result.ret
    if result.shape == "plan" and isinstance(ret, Mapping):
        return _of_plan(result, ret)
    tagged = ret if result.shape == "states" else None
    if result.shape == "error" and isinstance(ret, Mapping) and isinstance(ret.get("returned"), Mapping):
        tagged = ret["returned"]
    rows = list(_states(tagged)) if isinstance(tagged, Mapping) else []
    rows += [
        Row(
            "failed" if case.outcome in ("failed", "error") else "passed",
            case.outcome,
            case.name,
            case.kind,
            (case.text, case.output),
        )
        for case in cases_of(result, fun)
        if not rows or case.outcome == "error" or case.kind == "batch_check"
    ]
    of = Counter(row.outcome for row in rows)
    words = [(of["failed"], "failed"), (of["changed"], "changed"), (of["skipped"], "not run")]
    note = ", ".join(f"{number} {word}" for number, word in words if number)
    if isinstance(tagged, Mapping):
        note = ", ".join(filter(None, (note, f"{len(tagged)} states")))
    outcome = "changed" if of["changed"] else "unchanged"
    if result.exit_code:
        outcome = "failed" if result.exit_code == EXIT_FAILED else "no answer"
    if result.error_kind == "not_begun":
        outcome = "not begun"
    return Item(result.id, outcome, note or result.error_kind, rows, result.phases, result.warnings)


def _states(ret: Mapping[str, Any]) -> Iterator[Row]:
    results = highstate.parse(ret)
    for one in results:
        raw = ret.get(one.tag)
        ran = raw.get("__state_ran__", True) if isinstance(raw, Mapping) else True
        outcome = {"same": "unchanged", "pending": "changed"}.get(one.outcome, one.outcome)
        word = {"same": "unchanged", "pending": "would change"}.get(one.outcome, one.outcome)
        because: list[str] = []
        match = _REQUISITES.search(one.comment)
        if match:  # the comment names SLS and id of the requisites that failed
            named = {name.strip() for name in match[1].split(",")}
            because = [_key(other) for other in results if f"{other.sls}.{other.id}" in named]
            outcome, word = "skipped", "not run"
        elif ran is False:
            outcome, word = "skipped", "not run"
        title = f"{one.function} {one.name}" + (f" ({one.id})" if one.id != one.name else "")
        yield Row(
            outcome,
            word,
            title,
            one.sls,
            (one.comment, *_changes(one.changes), *one.warnings),
            _key(one),
            because,
            (one.duration or 0.0) / 1000,
        )


def _key(one: highstate.StateResult) -> str:
    return f"{one.function} {one.id}"


def _changes(changes: Any) -> Iterator[str]:
    """Changes as texts: a diff unchanged, everything else as JSON."""
    if isinstance(changes, Mapping) and isinstance(changes.get("diff"), str):
        yield changes["diff"]
        changes = {key: value for key, value in changes.items() if key != "diff"}
    if changes:
        yield shown(changes)


def _of_plan(result: TargetReturn, plan: Mapping[str, Any]) -> Item:
    rows = []
    for state in plan.get("states") or ():
        function, id, name = parts(str(state["tag"]))
        bad = fails(state)
        because = [" ".join(parts(str(tag))[:2]) for tag in state["because"]]
        values = {
            key: value for key, value in (state["changes"] or {}).items() if not (state["diff"] and key == "diff")
        }
        texts = (str(state["comment"] or ""), state["diff"] or "", shown(values) if values else "")
        word = "would fail" if bad else WORDS[state["mark"]][0]
        title = f"{function} {name}" + (f" ({id})" if id != name else "")
        outcome = "failed" if bad else _MARKS[state["mark"]]
        rows.append(Row(outcome, word, title, str(state.get("__sls__") or ""), texts, f"{function} {id}", because))
    counts = plan.get("counts") or {}
    note = ", ".join(f"{counts[mark]} {words}" for mark, (words, _) in WORDS.items() if counts.get(mark))
    changes = counts.get("will") or counts.get("may")
    outcome = "changed" if changes else "unknown" if counts.get("unknown") else "unchanged"
    outcome = "failed" if any(row.outcome == "failed" for row in rows) else outcome
    return Item(result.id, outcome, note, rows, result.phases, result.warnings)
