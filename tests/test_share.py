"""``--share N``: each slow file has its day; its tests that are marked ``gate``, and all other tests, run each time."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

from tests.beds.share import left_out

ROOT = Path(__file__).parents[1]
FILES = [f"tests/test_{number}.py" for number in range(20)]
DAY = datetime.date(2026, 11, 23)


def test_each_file_has_one_day_of_three() -> None:
    taken = [set(FILES) - left_out(FILES, 3, DAY + datetime.timedelta(days=later)) for later in range(3)]
    assert sorted(name for day in taken for name in day) == sorted(FILES)
    assert {len(day) for day in taken} == {6, 7}
    assert left_out(FILES, 3, DAY) == left_out(FILES, 3, DAY + datetime.timedelta(days=3))
    assert left_out(FILES, 1, DAY) == set()


def collected(*words: str, **env: str) -> set[str]:
    files = ["tests/formula/test_formula.py", "tests/ca/test_ca_command.py", "tests/thin/test_old_pythons.py"]
    files += ["tests/source/test_stubs.py", "tests/test_share.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *words, *files],
        cwd=ROOT,
        env={**os.environ, **env, "REQUIRE": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_what_a_run_takes() -> None:
    everything = collected()
    days = [collected("--share", "2", DAY=f"2026-11-{day}") for day in (23, 24)]
    assert days[0] != days[1] and days[0] | days[1] == everything
    each_time = {name for name in everything if "test_formula.py" not in name and "test_ca_command.py" not in name}
    assert all(each_time <= day for day in days) and any("test_old_pythons.py" in name for name in each_time)
    assert len(days[0] & days[1]) < len(everything)
