"""Runs case files from the command line: ``scripts/beside.sh host`` (see cases/README.md)."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from tests.beds.machines import cache_dir
from tests.differential import pair as pairs
from tests.differential.casefiles import CASES, Case, CaseFile, load
from tests.differential.pair import Pair
from tests.differential.sidebyside import Bench

#: what came of each case that was run by hand, for `scripts/states_compared.py --record`
OUTCOMES = cache_dir() / "outcomes"


def outcome(case: Case, lines: list[str]) -> tuple[bool, str]:
    """Whether that is as the case says, and how to say so."""
    if case.differs:
        return (True, f"differs by design: {case.differs}") if lines else (False, "should differ, and does not")
    return (not lines, "different" if lines else "equal")


def note(folder: Path, file: CaseFile, case: Case, lines: list[str]) -> None:
    """Write down what came of a case, for the record."""
    about: dict[str, object] = {"file": file.name, "title": case.title, "digest": case.digest}
    about["date"] = datetime.date.today().isoformat()
    about["outcome"] = "different" if lines else "equal"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{file.name}-{case.digest}.json").write_text(json.dumps(about), encoding="utf-8")


B = TypeVar("B", bound=Bench)


@contextlib.contextmanager
def thrown_away(file: CaseFile, salt_python: Path, kind: type[B] = Bench) -> Iterator[B]:  # type: ignore[assignment]
    """New machines for this file, gone afterwards."""
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
def kept(file: CaseFile, salt_python: Path, again: bool) -> Iterator[Bench]:
    """The machines that stayed from the last time, or new ones that stay; others who keep the same have their own."""
    with _free_bed(file.name) as folder:
        pair = Pair.of(file, salt_python, folder)
        bench = Bench(file, salt_python, pair)
        found = pair.find()
        if again and found:
            pair.stop()
            found = False
        try:
            bench.start(fresh=not found)
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
    """Take down the machines kept for this file that nobody is using now."""
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
        prog="beside.sh", description="Run cases by real Salt and by pushsalt, and compare."
    )
    parser.add_argument("files", nargs="*", help="names of case files (host), or paths")
    parser.add_argument("-k", metavar="WORDS", default="", help="only cases whose title or functions have these words")
    parser.add_argument("--keep", action="store_true", help="keep the machines for the next time (an hour or two)")
    parser.add_argument("--again", action="store_true", help="with --keep: begin with new machines")
    told = "where to write down what came of each case"
    parser.add_argument("--record", type=Path, metavar="DIR", default=OUTCOMES, help=told)
    parser.add_argument("--stop", action="store_true", help="take kept machines of these files down (default: of all)")
    asked = parser.parse_args()
    if asked.stop:
        for name in asked.files or ["*"]:
            stop(Path(name).stem)
        return 0
    python = Path(os.environ["SALT_PYTHON"])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # whatever started us: machines are taken down
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    pairs.sweep()
    wrong = 0
    for name in asked.files:
        path = Path(name) if name.endswith(".yaml") else CASES / f"{name}.yaml"
        file = load(path)
        begun = time.monotonic()
        with kept(file, python, asked.again) if asked.keep else thrown_away(file, python) as bench:
            print(f"{file.name}: machines ready after {time.monotonic() - begun:.1f} s", flush=True)
            for case in file.cases:
                if asked.k and not _matches(asked.k, case):
                    continue
                begun = time.monotonic()
                lines = bench.run(case)
                good, words = outcome(case, lines)
                if path.resolve().parent == CASES:
                    note(asked.record, file, case, lines)
                wrong += not good
                took = f"{time.monotonic() - begun:.1f} s"
                print(f"{'ok ' if good else 'NOT'} {file.name}: {case.title}: {words} ({took})")
                if not good:
                    print("\n".join(f"    {line}" for line in lines))
                sys.stdout.flush()
    print(f"{wrong} not as they should be" if wrong else "all as they should be")
    return 1 if wrong else 0


def _matches(words: str, case: Case) -> bool:
    text = " ".join([case.title, *case.covers]).lower()
    return all(word in text for word in words.lower().split())


if __name__ == "__main__":
    sys.exit(main())
