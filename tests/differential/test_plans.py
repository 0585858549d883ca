"""Each run of every case of ``cases/`` is planned before. What the plan is sure of happens, with the same differences.

`PLAN=1 make differential-states` runs them. ``OUTCOMES`` is a folder for the marks of each case, from which
scripts/plans_compared.py makes docs/plans-compared.md.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.machines import missing
from tests.differential.casefiles import Case, CaseFile, load_all
from tests.differential.planned import PlanBench, bench
from tests.differential.sidebyside import SetupError

pytestmark = [
    pytest.mark.machines,
    pytest.mark.slow,
    pytest.mark.optional,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.skipif(not os.environ.get("PLAN"), reason="takes an hour: PLAN=1 make differential-states"),
]

OUTCOMES = os.environ.get("OUTCOMES", "")


def _cases() -> Iterator[object]:
    for file in load_all():
        for case in file.cases:
            if case.sls:
                name = f"{file.name}: {case.title}"
                yield pytest.param(file, case, id=name, marks=pytest.mark.xdist_group(file.name))


class Benches:
    """The machine of the current file."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._file: CaseFile | None = None
        self._bench: PlanBench | None = None

    def of(self, file: CaseFile) -> PlanBench:
        if self._bench is None or self._file is not file:
            self.close()
            self._bench = self._open.enter_context(bench(file))
            self._file = file
        return self._bench

    def close(self) -> None:
        self._open.close()
        self._bench = None


@pytest.fixture(scope="module")
def benches() -> Iterator[Benches]:
    machines = Benches()
    yield machines
    machines.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("file", "case"), list(_cases()))
def test_plans(file: CaseFile, case: Case, benches: Benches) -> None:
    plan_bench = benches.of(file)
    try:
        lines = plan_bench.run(case)
    except SetupError as exc:
        lines = ["its set-up failed", *exc.lines]
    if OUTCOMES:
        _write_outcome(Path(OUTCOMES), plan_bench, case, lines)
    if lines:
        pytest.fail(f"{file.name}: {case.title}: the plan was wrong\n" + "\n".join(lines), pytrace=False)


def _write_outcome(folder: Path, plan_bench: PlanBench, case: Case, lines: list[str]) -> None:
    marks: dict[str, dict[str, int]] = {}
    for (function, mark), number in plan_bench.marks.items():
        marks.setdefault(function, {})[mark] = number
    folder.mkdir(parents=True, exist_ok=True)
    document = {"file": plan_bench.file.name, "title": case.title, "marks": marks, "wrong": lines}
    (folder / f"{plan_bench.file.name}-{case.digest}.json").write_text(json.dumps(document), encoding="utf-8")
