"""Chooses the cases that `.ci/run` compares with Salt: fixed ones, those whose code changed since their record, and a
share of the others.

Machines and packages take time, so changed cases and the share are limited: they are taken file by file, beginning at a
place that depends on the day. ``DAY=2026-11-23`` takes those of that day; ``CHANGED=N`` and ``SHARE=N`` are the limits.
Cases that were left out are printed.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.beds.share import today
from tests.differential import code
from tests.differential.casefiles import Case, CaseFile, load_all

RECORD = Path(__file__).with_name("record.json")
#: limits: cases whose code changed, and all other cases
CHANGED, SHARE = 16, 8
#: the cost of a file's start (a machine is booted, packages are installed), in cases
BOOT, PACKAGES = 2, 8

Pick = tuple[CaseFile, Case]


@dataclass(frozen=True)
class Choice:
    """The chosen cases, with reasons; ``left_out`` are cases whose code changed and that exceed the limit."""

    day: datetime.date
    fixed: list[Pick]
    changed: list[Pick]
    share: list[Pick]
    left_out: list[Pick]

    def __contains__(self, pick: Pick) -> bool:
        return id(pick[1]) in {id(case) for _, case in (*self.fixed, *self.changed, *self.share)}

    def summary(self) -> list[str]:
        """The lines of a message that describes the choice."""
        lines = [
            f"compared with Salt: {len(self.fixed)} fixed cases, {len(self.changed)} of those whose code changed since "
            f"their record ({_files(self.changed)}), and of the others {len(self.share)} ({_files(self.share)}); "
            f"again: DAY={self.day.isoformat()} CASES=ci make differential-states"
        ]
        if self.left_out:
            prefix = f"LEFT OUT, though their code changed since their record: {len(self.left_out)} cases of "
            lines.append(f"{prefix}{_files(self.left_out)}; `make differential-states` runs all")
        return lines


def recorded() -> dict[tuple[str, str, str], str]:
    """The digest of the code with which each case was last compared, by file, title and digest of the case."""
    cases = json.loads(RECORD.read_text(encoding="utf-8"))["cases"]
    return {(case["file"], case["title"], case["digest"]): case.get("code", "") for case in cases}


def changed(file: CaseFile, case: Case, record: dict[tuple[str, str, str], str]) -> bool:
    """Whether the case or its code differs from the record."""
    return record.get((file.name, case.title, case.digest)) != code.digest(case)


def choose(files: Iterable[CaseFile], day: datetime.date, most_changed: int = 0, share: int = 0) -> Choice:
    """Choose the cases of that day."""
    most_changed = most_changed or int(os.environ.get("CHANGED") or CHANGED)
    share = share or int(os.environ.get("SHARE") or SHARE)
    files, record = list(files), recorded()
    picks = [(file, case) for file in files for case in file.cases]
    fixed = [pick for pick in picks if pick[1].ci]
    booted = {file.name for file, _ in fixed}
    stale = [pick for pick in picks if not pick[1].ci and changed(*pick, record)]
    taken = _fitting(stale, most_changed, day, booted)
    booted |= {file.name for file, _ in taken}
    old, run = {id(case) for _, case in stale}, {id(case) for _, case in taken}
    rest = [pick for pick in picks if not pick[1].ci and id(pick[1]) not in old]
    left_out = [pick for pick in stale if id(pick[1]) not in run]
    return Choice(day, fixed, taken, _fitting(rest, share, day, booted), left_out)


def _fitting(picks: list[Pick], room: int, day: datetime.date, booted: set[str]) -> list[Pick]:
    """Cases file by file, from the day's place on, up to the limit; the last file may be taken in part.

    The place advances by seven files a day, and by one case within a file, so that every case is compared in time.
    """
    if not picks:
        return []
    names = list(dict.fromkeys(file.name for file, _ in picks))
    begin = day.toordinal() * 7 % len(names)
    taken: list[Pick] = []
    for name in names[begin:] + names[:begin]:
        cases = [pick for pick in picks if pick[0].name == name]
        turn = day.toordinal() % len(cases)
        room -= _start(cases[0][0], booted)
        taken += (cases[turn:] + cases[:turn])[: max(0 if taken else 1, room)]  # the start alone may exceed the limit
        room -= len(cases)
        if room <= 0:
            break
    return taken


def _start(file: CaseFile, booted: set[str]) -> int:
    """The cost of a file's start, in cases."""
    if file.name in booted:
        return 0
    return BOOT + (PACKAGES if file.packages or file.repository else 0)


def _files(picks: list[Pick]) -> str:
    """The names of the files, each with the number of its cases."""
    names = [file.name for file, _ in picks]
    return ", ".join(f"{name} {names.count(name)}" for name in dict.fromkeys(names)) or "none"


if __name__ == "__main__":
    print("\n".join(choose(load_all(), today()).summary()))
