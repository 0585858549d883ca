"""Every case of ``cases/``, by real Salt and by pushsalt on separate machines: all compared values are equal.

`make differential-states` runs them all and writes the record from which docs/states-compared.md is generated.
``CASES=ci`` runs those that ``chosen.py`` chooses for the day, and ``CASES=differs`` those that differ by design.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.machines import missing
from tests.differential import chosen
from tests.differential.casefiles import Case, CaseFile, load_all
from tests.differential.compare_cases import OTHERS, UNKNOWN, run, temporary_machines
from tests.differential.sidebyside import Bench

pytestmark = [pytest.mark.machines, pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

WANTED = os.environ.get("CASES", "")
#: a folder for the outcome of each case
OUTCOMES = os.environ.get("OUTCOMES", "")
#: whether the lines of cases that differ by design are recorded in this run
RECORDING = os.environ.get("RECORD") == "differing"
FILES = load_all()
CHOICE = chosen.choose(FILES, chosen.today()) if WANTED == "ci" else None


def _cases() -> Iterator[object]:
    for file in FILES:
        for case in file.cases:
            if case.differs if WANTED == "differs" else CHOICE is None or (file, case) in CHOICE:
                name = f"{file.name}: {case.title}"
                yield pytest.param(file, case, id=name, marks=pytest.mark.xdist_group(file.name))


class Benches:
    """The machines of the current file: one pair at a time."""

    def __init__(self, salt_python: Path) -> None:
        self._python = salt_python
        self._open = contextlib.ExitStack()
        self._file: CaseFile | None = None
        self._bench: Bench | None = None

    def of(self, file: CaseFile) -> Bench:
        if self._bench is None or self._file is not file:
            self.close()
            self._bench = self._open.enter_context(temporary_machines(file, self._python))
            self._file = file
        return self._bench

    def close(self) -> None:
        self._open.close()
        self._bench = None


@pytest.fixture(scope="module")
def benches(salt_python: Path) -> Iterator[Benches]:
    machines = Benches(salt_python)
    yield machines
    machines.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("file", "case"), list(_cases()))
def test_states(file: CaseFile, case: Case, benches: Benches) -> None:
    good, message, lines = run(benches.of(file), case, Path(OUTCOMES) if OUTCOMES else None)
    if not good and not (RECORDING and message.startswith((UNKNOWN, OTHERS))):
        pytest.fail(f"{file.name}: {case.title}: {message}\n" + "\n".join(lines), pytrace=False)
