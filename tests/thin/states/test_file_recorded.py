"""File states compared with the returns and files of real Salt for the same steps: dry runs, first runs, second runs.

The cases were recorded with Salt 3008 in a temporary folder; ``@`` stands for it. Intended differences from Salt have
no recorded case but a test in test_file_states.py. The cases change owners, so they need root.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.beds import pythons
from tests.thin import filebed

ROOT = Path(__file__).parents[3]
CASES = sorted((Path(__file__).parents[1] / "cases" / "file").glob("*.json"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.geteuid() != 0, reason="owners can only be changed by root")]


def cases():
    for path in CASES:
        for case in json.loads(path.read_text()):
            yield pytest.param(case, id=f"{path.stem}-{case['title']}")


@pytest.mark.parametrize("case", list(cases()))
def test_returns_and_files_equal_salts(case, tmp_path):
    assert filebed.play(case, tmp_path / "bed") == []


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons.ends())
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_returns_and_files_equal_salts_with_other_pythons(python, path, tmp_path):
    command = [python, "-I", "-S", filebed.__file__, str(ROOT), str(path), str(tmp_path / "bed")]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
