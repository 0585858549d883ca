"""Runs case files from the command line: ``scripts/compare-cases.sh host`` (see cases/README.md)."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import difflib
import fcntl
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from tests.beds.machines import cache_dir
from tests.differential import code
from tests.differential import pair as pairs
from tests.differential.casefiles import CASES, DIFFERING, Case, CaseFile, differing, load
from tests.differential.pair import Pair
from tests.differential.sidebyside import Bench, SetupError

#: outcomes of cases that were run by hand, for `scripts/states_compared.py --record`
OUTCOMES = cache_dir() / "outcomes"


#: errors of a case that differs by design: its lines are not recorded, or differ from the recorded ones
UNKNOWN, OTHERS = "the differing lines are not recorded", "differs in other lines than it should"


class Outcome(NamedTuple):
    """The outcome of a case: whether it is as expected, a message, and the lines of difference."""

    good: bool
    message: str
    lines: list[str]


def run(bench: Bench, case: Case, record: Path | None = None) -> Outcome:
    """Run the case, and write its outcome to the folder ``record``."""
    try:
        lines = bench.run(case)
    except SetupError as exc:
        return Outcome(False, "its set-up failed", exc.lines)
    if record:
        write_outcome(record, bench.file, case, lines)
    return outcome(case, lines, differing().get(bench.file.name, {}).get(case.title))


def outcome(case: Case, lines: list[str], recorded: list[str] | None) -> Outcome:
    """The outcome of a case with these lines of difference; ``recorded``: the lines of one that differs by design."""
    if not case.differs:
        return Outcome(not lines, "different" if lines else "equal", lines)
    if not lines:
        return Outcome(False, "should differ, and does not", lines)
    lines = without_volatile_parts(lines)
    if lines == recorded:
        return Outcome(True, f"differs by design: {case.differs}", lines)
    if recorded is None:
        return Outcome(False, f"{UNKNOWN}; RECORD=differing writes to {DIFFERING.name}", lines)
    lines_of_diff = [
        line.rstrip("\n") for line in difflib.unified_diff(recorded, lines, "as recorded", "now", lineterm="", n=1)
    ]
    return Outcome(False, OTHERS, lines_of_diff)


#: volatile parts of a line: (pattern, replacement)
VOLATILE = (
    # stack frames of Salt's: the following line names the exception
    (re.compile(r"Traceback \(most recent call last\):\n.*? … \(\d+ characters\)", re.S), "Traceback …"),
    (re.compile(r"Traceback \(most recent call last\):\n(?:\s+.*\n)*"), "Traceback: "),
    (re.compile(r"/\S+/site-packages/"), "<site-packages>/"),
    (re.compile(r"-> /\S+/bin/python[\d.]*"), "-> <python>"),
    (re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})\b"), "<digest>"),
    (re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d 202\d"), "<time>"),
    (re.compile(r"\b202\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?"), "<time>"),
    (re.compile(r"__salt\.tmp\.\w{8}"), "__salt.tmp.<name>"),
    (re.compile(r"(['\"]pid['\"]: )\d+"), r"\1<pid>"),
    (re.compile(r"(['\"](?:duration|start_time)['\"]: )[\"']?[\d.:]+[\"']?"), r"\1<time>"),
    (re.compile(r"\bssh-ed25519 AAAA[\w+/=]+"), "ssh-ed25519 <key>"),
)


def without_volatile_parts(lines: list[str]) -> list[str]:
    """The lines without volatile parts."""
    stable = []
    for line in lines:
        for pattern, replacement in VOLATILE:
            line = pattern.sub(replacement, line)
        stable.append(line)
    return stable


def write_outcome(folder: Path, file: CaseFile, case: Case, lines: list[str]) -> None:
    """Write the outcome of a case for the record."""
    about: dict[str, object] = {"file": file.name, "title": case.title, "digest": case.digest}
    about["date"] = datetime.date.today().isoformat()
    about["outcome"] = "different" if lines else "equal"
    about["code"] = code.digest(case)
    about["lines"] = without_volatile_parts(lines)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{file.name}-{case.digest}.json").write_text(json.dumps(about), encoding="utf-8")


B = TypeVar("B", bound=Bench)


@contextlib.contextmanager
def temporary_machines(file: CaseFile, salt_python: Path, kind: type[B] = Bench) -> Iterator[B]:  # type: ignore[assignment]
    """New machines for this file, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="pushsalt-pair-"))
    pair = Pair.of(file, salt_python, folder)
    bench = kind(file, salt_python, pair)
    try:
        bench.start()
        yield bench
    finally:
        bench.close()
        pair.close()


@contextlib.contextmanager
def kept_machines(file: CaseFile, salt_python: Path, new: bool) -> Iterator[Bench]:
    """The machines that an earlier command kept, or new ones, which are kept. Commands that run at the same time use
    different machines. ``new``: replace machines that were kept.
    """
    with _free_bed(file.name) as folder:
        pair = Pair.of(file, salt_python, folder)
        bench = Bench(file, salt_python, pair)
        exists = pair.find()
        if new and exists:
            pair.stop()
            exists = False
        try:
            bench.start(fresh=not exists)
            yield bench
        except BaseException:
            bench.close()
            pair.close()
            raise
        bench.close()
        pair.save()


@contextlib.contextmanager
def _free_bed(name: str) -> Iterator[Path]:
    for number in range(1, 100):
        folder = pairs.beds_dir() / f"{name}-{number}"
        with folder.with_suffix(".lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield folder
            return
    raise RuntimeError(f"too many beds of {name}")


def stop(name: str) -> None:
    """Remove the machines that are kept for this file and not in use."""
    for lock in pairs.beds_dir().glob(f"{name}-*.lock"):
        with lock.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                print(f"{lock.stem}: in use")
                continue
            pairs.remove(lock.with_suffix(""))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="compare-cases.sh", description="Run cases by real Salt and by pushsalt, and compare."
    )
    parser.add_argument("files", nargs="*", help="names of case files (host), or paths")
    parser.add_argument("-k", metavar="WORDS", default="", help="only cases whose title or functions have these words")
    parser.add_argument("--keep", action="store_true", help="keep the machines for the next time (an hour or two)")
    parser.add_argument("--again", action="store_true", help="with --keep: begin with new machines")
    record_help = "folder for the outcome of each case"
    parser.add_argument("--record", type=Path, metavar="DIR", default=OUTCOMES, help=record_help)
    parser.add_argument("--stop", action="store_true", help="remove the kept machines of these files (default: of all)")
    options = parser.parse_args()
    if options.stop:
        for name in options.files or ["*"]:
            stop(Path(name).stem)
        return 0
    python = Path(os.environ["SALT_PYTHON"])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # every signal removes the machines
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    pairs.sweep()
    wrong = 0
    for name in options.files:
        path = Path(name) if name.endswith(".yaml") else CASES / f"{name}.yaml"
        file = load(path)
        start = time.monotonic()
        with kept_machines(file, python, options.again) if options.keep else temporary_machines(file, python) as bench:
            print(f"{file.name}: machines ready after {time.monotonic() - start:.1f} s", flush=True)
            for case in file.cases:
                if options.k and not _matches(options.k, case):
                    continue
                start = time.monotonic()
                good, message, lines = run(bench, case, options.record if path.resolve().parent == CASES else None)
                wrong += not good
                duration = f"{time.monotonic() - start:.1f} s"
                print(f"{'ok ' if good else 'NOT'} {file.name}: {case.title}: {message} ({duration})")
                if not good:
                    print("\n".join(f"    {line}" for line in lines))
                sys.stdout.flush()
    print(f"{wrong} not as they should be" if wrong else "all as they should be")
    return 1 if wrong else 0


def _matches(pattern: str, case: Case) -> bool:
    text = " ".join([case.title, *case.covers]).lower()
    return all(word in text for word in pattern.lower().split())


if __name__ == "__main__":
    sys.exit(main())
