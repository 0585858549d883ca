"""Applies formulas by real Salt and by pushsalt on twin machines: ``scripts/differential-formulas.sh``
(formulas/README.md).
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.beds.machines import cache_dir
from tests.differential import alike
from tests.differential import pair as pairs
from tests.differential.casefiles import Case, CaseFile
from tests.differential.compare_cases import temporary_machines
from tests.differential.formulafiles import (
    FOLDER,
    Accepted,
    Checkouts,
    FormulaCase,
    FormulaFile,
    create_roots,
    load,
    load_all,
)
from tests.differential.pair import ROOTS
from tests.differential.sidebyside import SLS, Bench

#: outcomes of cases that were run by hand, for `scripts/formulas_compared.py --record`
OUTCOMES = cache_dir() / "formula-outcomes"
#: compared outputs: packages, units (enabled and running), users and groups; each line must be in both machines
LOOK = Path(__file__).with_name("formula_look.sh").read_text(encoding="utf-8")
#: attempts, a second apart, before a difference counts: services start with a delay
LOOKS = 4


@dataclass
class Block:
    """A difference: its text, and the reason for which it is accepted, or None."""

    text: str
    why: str = ""


@dataclass
class Run:
    """The outcome of one run: the number of chunks, how many are equal, and the differences."""

    name: str
    chunks: int = 0
    same: int = 0
    failed: int = 0
    refused: bool = False
    states: list[Block] = field(default_factory=list)
    machine: list[Block] = field(default_factory=list)

    @property
    def wrong(self) -> list[Block]:
        return [block for block in [*self.states, *self.machine] if not block.why]


def blocks(lines: list[str]) -> list[str]:
    """Joins lines to blocks: a line without indentation begins a difference."""
    result: list[list[str]] = []
    for line in lines:
        if line.startswith(" ") and result:
            result[-1].append(line)
        else:
            result.append([line])
    return ["\n".join(block) for block in result]


def with_reasons(texts: list[str], accepted: list[Accepted], seen: set[str]) -> list[Block]:
    """Each difference with the reason for which the case accepts it, if any; adds the patterns that matched to
    ``seen``.
    """
    result = []
    for text in texts:
        reasons = [difference for difference in accepted if re.search(difference.of, text, re.DOTALL | re.MULTILINE)]
        seen.update(difference.of for difference in reasons)
        result.append(Block(text, reasons[0].why if reasons else ""))
    return result


def unseen(accepted: list[Accepted], seen: set[str]) -> list[str]:
    """The accepted differences that did not occur, as errors."""
    return [f"accepted, but not seen: {difference.of}" for difference in accepted if difference.of not in seen]


def unequal_lines(theirs: str, ours: str) -> list[str]:
    """The lines that only one of two outputs has, each as a difference."""
    want, got = theirs.splitlines(), ours.splitlines()
    lines = [f"only with Salt: {line}" for line in want if line not in got]
    return lines + [f"only with pushsalt: {line}" for line in got if line not in want]


class FormulaBench(Bench):
    """The twin machines of a formula's cases."""

    timeout = 1500
    checkouts: Checkouts

    def __init__(self, file: CaseFile, salt_python: Path, pair: pairs.Pair) -> None:
        super().__init__(file, salt_python, pair)
        assert isinstance(file, FormulaFile)
        self.formula = file
        #: patterns of accepted differences that matched
        self.seen: set[str] = set()

    def compare(self, case: FormulaCase) -> tuple[list[Run], list[str]]:
        """Returns the outcome of each run, and errors of the case itself."""
        if self._dirty:
            self._reset()
        self._dirty = True
        self._place(case)
        errors = self._script("setup", case.setup)
        runs = [] if errors else [self._run(run, case) for run in case.runs]
        return runs, errors + (unseen(case.accepted, self.seen) if runs else [])

    def _reset(self) -> None:
        self.close()
        self.pair.stop()
        self.pair.start()

    def _place(self, case: Case) -> None:
        assert isinstance(case, FormulaCase)
        states, pillar = (self.pair.roots / name for name in ("states", "pillar"))
        create_roots(case, self.formula.formula, self.checkouts, states, pillar)
        (states / f"{SLS}.sls").write_text(case.sls)
        for path, text in {**self.file.files, **case.files}.items():
            file = states / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        roots = {"file_roots": {"base": [str(states)]}, "pillar_roots": {"base": [str(pillar)]}}
        self._configure({**roots, **case.opts})

    def _run(self, name: str, case: FormulaCase) -> Run:
        pillar = {**self.file.pillar, **case.pillar}
        inside = {"file_roots": {"base": [f"{ROOTS}/states"]}, "pillar_roots": {"base": [f"{ROOTS}/pillar"]}}
        want, got, low = self._both({**inside, **case.opts}, pillar, name == "test")
        run = Run(name, refused=not isinstance(want, dict) or "raised" in want)
        texts = blocks(alike.returns(want, got, low, case.blank, case.refused))
        accepted = [*case.accepted, *self.formula.accepted]
        run.states = with_reasons(texts, accepted, self.seen)
        if not run.refused:
            run.chunks = len(want)
            run.failed = sum(ret.get("result") is False for ret in want.values())
            run.same = run.chunks - len(texts)
        run.machine = with_reasons(self._machine(case), accepted, self.seen)
        return run

    def _machine(self, case: FormulaCase) -> list[str]:
        for number in range(LOOKS):
            if number:
                time.sleep(1)
            files = [text for text in blocks(self._other_files(case)) if not self._left_out(text)]
            done = {kind: case.blank(out) for kind, (_, out) in self.pair.shell(LOOK).items()}
            texts = files + unequal_lines(done["salt"], done["ours"])
            if case.look:
                done = {kind: case.blank(out) for kind, (_, out) in self.pair.shell(case.look).items()}
                texts += unequal_lines(done["salt"], done["ours"])
            if not texts:
                break
        return texts

    def _left_out(self, text: str) -> bool:
        path = text.split("\n", 1)[0]
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.formula.left_out)


def write_outcome(folder: Path, file: FormulaFile, case: FormulaCase, runs: list[Run], errors: list[str]) -> None:
    """Write the outcome of a case."""
    document: dict[str, Any] = {"formula": file.formula, "title": case.title, "digest": case.digest}
    document["date"] = datetime.date.today().isoformat()
    document["salt"] = salt_version(Path(os.environ["SALT_PYTHON"]))
    document["trouble"] = errors
    document["runs"] = [asdict(run) for run in runs]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{file.formula}-{case.digest}.json").write_text(json.dumps(document), encoding="utf-8")


@functools.cache
def salt_version(python: Path) -> str:
    """The version of the Salt of this Python."""
    script = "import salt.version; print(salt.version.__version__)"
    return subprocess.run([python, "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def outcome_lines(runs: list[Run], errors: list[str], verbose: bool) -> Iterator[str]:
    """The lines that describe the outcome of a case."""
    for run in runs:
        count = "refused" if run.refused else f"{run.same} of {run.chunks} states the same"
        failed = f", {run.failed} failed with Salt" if run.failed else ""
        accepted = sum(bool(block.why) for block in [*run.states, *run.machine])
        yield f"    {run.name}: {count}{failed}; {len(run.wrong)} differences, {accepted} accepted"
        for block in [*run.states, *run.machine] if verbose else run.wrong:
            lines = block.text.splitlines()
            yield from (f"      {line}" for line in [*lines, *([f"  accepted: {block.why}"] if block.why else [])])
    yield from (f"    {line}" for line in errors)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="differential-formulas.sh", description="Run formulas by real Salt and by pushsalt, and compare."
    )
    parser.add_argument("formulas", nargs="*", help="names (cron), default all")
    parser.add_argument("-k", metavar="WORD", default="", help="only cases whose title has this word")
    parser.add_argument("-v", action="store_true", help="show the differences that are accepted, too")
    parser.add_argument("--record", type=Path, metavar="DIR", default=OUTCOMES, help="folder for the outcomes")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # every signal removes the machines
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    python = Path(os.environ["SALT_PYTHON"])
    clones = os.environ.get("FORMULAS")
    checkouts = Checkouts(Path(clones) if clones else None)
    pairs.sweep()
    wrong = 0
    try:
        files = [load(FOLDER / f"{name}.yaml") for name in options.formulas] if options.formulas else load_all()
        for file in files:
            wrong += _formula(file, python, checkouts, options)
    finally:
        checkouts.close()
    print(f"{wrong} not as they should be" if wrong else "all as they should be")
    return 1 if wrong else 0


def _formula(file: FormulaFile, python: Path, checkouts: Checkouts, options: argparse.Namespace) -> int:
    cases = [case for case in file.cases if options.k in case.title]
    if not cases:
        return 0
    wrong = 0
    with temporary_machines(file, python, FormulaBench) as bench:
        bench.checkouts = checkouts
        for case in cases:
            start = time.monotonic()
            runs, errors = bench.compare(case)
            write_outcome(options.record, file, case, runs, errors)
            good = not errors and not any(run.wrong for run in runs)
            wrong += not good
            print(f"{'ok ' if good else 'NOT'} {file.formula}: {case.title} ({time.monotonic() - start:.0f} s)")
            for line in outcome_lines(runs, errors, options.v):
                print(line)
            sys.stdout.flush()
        unseen_lines = unseen(file.accepted, bench.seen) if not options.k else []
    for line in unseen_lines:
        print(f"NOT {file.formula}: {line}")
    return wrong + len(unseen_lines)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as exc:  # an error in a file of ours, or no formula
        sys.exit(f"error: {exc}")
