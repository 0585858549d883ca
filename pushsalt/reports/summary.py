"""A summary of a job in Markdown, which CI systems show on the page of their job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pushsalt.display.durations import seconds
from pushsalt.display.safe import one_line
from pushsalt.errors import EXIT_FAILED
from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.cases import Case, cases_of
from pushsalt.reports.files import append, is_replaced, write_whole

#: Maximum number of targets in the table, and of those with details of failures; GitHub accepts 1 MiB.
ROWS = 300
DETAILS = 50
CASES = 20
_LONGEST = 4000
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#+!|~&-])")
#: outcome of a target, in the order of the table
OUTCOMES = ("failed", "no answer", "not begun", "changed", "unchanged")


@dataclass
class _Target:
    outcome: str
    changed: int
    failed: int
    skipped: int
    total: int
    time: float
    bad: list[Case]


class Summary:
    """Writes the file when the job has ended; ``also``: a file to which the summary is appended."""

    def __init__(self, path: Path, also: Path | None = None) -> None:
        self._path = path
        self._also = also
        self._job = JobStart("", "")
        self._targets: dict[str, _Target] = {}

    def job_begins(self, job: JobStart) -> None:
        self._job = job
        if not self._appends and is_replaced(self._path):
            write_whole(self._path, [f"### {_title(job)}\n\nThe job did not end.\n"])

    def target_returned(self, ret: TargetReturn) -> None:
        cases = list(cases_of(ret, self._job.fun))
        of = Counter(case.outcome for case in cases)
        changed = sum(case.changed for case in cases)
        bad = [case for case in cases if case.outcome in ("failed", "error")][:CASES]
        failed = of["failed"] + of["error"]
        time = sum(ret.phases.values())
        self._targets[ret.id] = _Target(_outcome(ret, changed), changed, failed, of["skipped"], len(cases), time, bad)

    def job_ends(self, end: JobEnd) -> None:
        text = "".join(self._document(end))
        if not self._appends:
            write_whole(self._path, [text])
        if self._also is not None:
            append(self._also, text)

    @property
    def _appends(self) -> bool:
        """Whether the file is the one to which other programs append."""
        return self._also is not None and self._also.absolute() == self._path.absolute()

    def _document(self, end: JobEnd) -> Iterator[str]:
        left = [id for id in self._job.ids if id not in self._targets]
        number = Counter(target.outcome for target in self._targets.values())
        words = [f"{number[word]} {word}" for word in OUTCOMES if number[word]]
        words += [f"{len(left)} without a return"] if left else []
        total = len(self._job.ids)
        took = f" in {seconds(max(0.0, end.end - self._job.start))}" if end.end and self._job.start else ""
        yield f"### {_title(self._job)}\n\n"
        yield f"{total} target{'' if total == 1 else 's'}: {', '.join(words) or 'none done'}{took}"
        yield f"; exit code {end.exit_code}, job `{self._job.jid}`\n\n"
        yield from self._table()
        for id, target in self._shown()[:DETAILS]:
            if target.bad:
                yield from _details(id, target)
        if left:
            more = f" and {len(left) - ROWS} more" if len(left) > ROWS else ""
            yield f"Without a return: {', '.join(map(_plain, left[:ROWS]))}{more}\n"

    def _shown(self) -> list[tuple[str, _Target]]:
        return sorted(self._targets.items(), key=lambda item: OUTCOMES.index(item[1].outcome))

    def _table(self) -> Iterator[str]:
        if not self._targets:
            return
        yield "| target | | changed | failed | skipped | of | time |\n|---|---|--:|--:|--:|--:|--:|\n"
        shown = self._shown()
        for id, target in shown[:ROWS]:
            numbers = " | ".join(map(str, (target.changed, target.failed, target.skipped, target.total)))
            mark = f"**{target.outcome}**" if target.failed else target.outcome
            yield f"| {_plain(id)} | {mark} | {numbers} | {seconds(target.time)} |\n"
        if len(shown) > ROWS:
            yield f"\n… and {len(shown) - ROWS} more targets\n"
        yield "\n"


def _title(job: JobStart) -> str:
    dry = " (dry run)" if job.options.get("test") else ""
    return _plain(" ".join(["pushsalt", job.fun, *map(str, job.arg)])) + dry


def _outcome(ret: TargetReturn, changed: int) -> str:
    if ret.error_kind == "not_begun":
        return "not begun"
    if ret.exit_code:
        return "failed" if ret.exit_code == EXIT_FAILED else "no answer"
    return "changed" if changed else "unchanged"


def _details(id: str, target: _Target) -> Iterator[str]:
    yield f"<details><summary>{_html(id)}: {_html(target.bad[0].message or target.outcome)}</summary>\n\n"
    for case in target.bad:
        text = "\n\n".join(part for part in (case.text, case.output) if part)
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n..."
        fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text) or [""]))
        where = f" of {_plain(case.sls)}" if case.sls else ""
        yield f"**{_plain(case.name)}**{where}\n\n{fence}\n{text}\n{fence}\n\n"
    if target.failed > len(target.bad):
        yield f"… and {target.failed - len(target.bad)} more\n\n"
    yield "</details>\n\n"


def _plain(text: str) -> str:
    """Text on one line, without Markdown syntax."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def _html(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
