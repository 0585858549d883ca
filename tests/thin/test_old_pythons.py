"""Every Python from 3.6 on of this machine loads all modules, isolated, and runs the engine's cases."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.beds.pythons import pythons

pytestmark = [pytest.mark.slow, pytest.mark.gate]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize("version, python", pythons().items(), ids=list(pythons()))
def test_all_modules_load_and_the_engine_works(version: str, python: str) -> None:
    script = [str(HERE / "old_python_run.py"), str(ROOT), str(HERE / "cases" / "engine")]
    command = [python, "-I", "-S", "-W", "error", *script]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (process.stdout.strip().split("\n")[-1], process.returncode) == ("OK", 0), process.stderr
