"""JUnit XML of a job: a suite for each target, a case for each state."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr

from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.cases import Case, cases_of
from pushsalt.reports.files import is_replaced, write_whole

#: Characters that XML 1.0 does not allow, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_MEMORY = 8 << 20
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped"}


class JUnit:
    """Writes the file when the job begins, with all targets as not returned, and again when the job has ended.

    So the file is correct if the program is killed in between, and is never that of an earlier job.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._job = JobStart("", "")
        self._suites: IO[str] | None = None
        self._counts: Counter[str] = Counter()
        self._time = 0.0
        self._left: dict[str, None] = {}

    def job_begins(self, job: JobStart) -> None:
        self._job = job
        self._left = dict.fromkeys(job.ids)
        self._suites = tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="")  # noqa: SIM115
        if is_replaced(self._path):
            self._write("the job did not end")

    def target_returned(self, ret: TargetReturn) -> None:
        assert self._suites is not None, "the job has begun"
        self._left.pop(ret.id, None)
        cases = list(cases_of(ret, self._job.fun))
        self._suites.writelines(_suite(self._job, ret.id, cases, ret.phases))
        self._counts.update(_counts(cases))
        self._time += sum(ret.phases.values())

    def job_ends(self, end: JobEnd) -> None:
        try:
            self._write("the job was stopped before the target returned")
        finally:
            self.close()

    def close(self) -> None:
        """Delete the temporary file of the suites."""
        if self._suites is not None:
            self._suites.close()

    def _write(self, why: str) -> None:
        write_whole(self._path, self._document(why))

    def _document(self, why: str) -> Iterator[str]:
        left = [(id, [Case(self._job.fun, "error", "interrupted", text=f"no return: {why}")]) for id in self._left]
        counts = self._counts + Counter({"tests": len(left), "errors": len(left)})
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield f"<testsuites{_attributes(name=_title(self._job), **_numbers(counts), time=f'{self._time:.3f}')}>\n"
        assert self._suites is not None, "the job has begun"
        self._suites.seek(0)
        while piece := self._suites.read(1 << 16):
            yield piece
        for id, cases in left:
            yield from _suite(self._job, id, cases, {})
        yield "</testsuites>\n"


def _title(job: JobStart) -> str:
    return " ".join(["pushsalt", job.fun, *map(str, job.arg)])


def _numbers(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts.get(name, 0) for name in ("tests", "failures", "errors", "skipped")}


def _counts(cases: list[Case]) -> Counter[str]:
    counts = Counter({"tests": len(cases)})
    counts.update({"failed": "failures", "error": "errors"}.get(case.outcome, case.outcome) for case in cases)
    return counts


def _suite(job: JobStart, id: str, cases: list[Case], phases: Mapping[str, float]) -> Iterator[str]:
    began = datetime.fromtimestamp(job.start, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    time = f"{sum(phases.values()):.3f}"
    yield f"  <testsuite{_attributes(name=id, **_numbers(_counts(cases)), time=time, timestamp=began)}>\n"
    yield "    <properties>\n"
    for name, value in (
        ("jid", job.jid),
        ("fun", job.fun),
        *((f"time.{phase}", f"{phases[phase]:.3f}") for phase in phases),
    ):
        yield f"      <property{_attributes(name=name, value=value)}/>\n"
    yield "    </properties>\n"
    for case in cases:
        yield from _case(id, case)
    yield "  </testsuite>\n"


def _case(id: str, case: Case) -> Iterator[str]:
    place = f"{id}.{case.sls}" if case.sls else id
    yield f"    <testcase{_attributes(classname=place, name=case.name, time=f'{case.time:.3f}')}"
    element = _ELEMENTS.get(case.outcome)
    if element is None and not case.output:
        yield "/>\n"
        return
    yield ">\n"
    if element == "skipped":
        yield f"      <skipped{_attributes(message=case.message)}/>\n"
    elif element is not None:
        text = "\n\n".join(part for part in (case.text, case.output) if part)
        about = _attributes(message=case.message or "failed", type=case.kind)
        yield f"      <{element}{about}>{_text(text)}</{element}>\n"
    else:
        yield f"      <system-out>{_text(case.output)}</system-out>\n"
    yield "    </testcase>\n"


def _attributes(**values: Any) -> str:
    return "".join(f" {name}={quoteattr(_valid(str(value)))}" for name, value in values.items())


def _text(text: str) -> str:
    return xml_escape(_valid(text)).replace("\r", "&#13;")


def _valid(text: str) -> str:
    return _NO_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
