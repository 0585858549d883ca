"""File states against what real Salt returned and wrote for the same steps: dry runs, first runs, second runs.

The cases were played with Salt 3008 in a scratch folder; ``@`` stands for it. Where pushsalt means to differ from Salt
there is no recorded case but a test in test_file_states.py. As the cases change owners they need root.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.thin import filebed

ROOT = Path(__file__).parent.parent.parent
CASES = sorted((Path(__file__).parent / "cases" / "file").glob("*.json"))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="owners can only be changed by root")


def cases():
    for path in CASES:
        for case in json.loads(path.read_text()):
            yield pytest.param(case, id=f"{path.stem}-{case['title']}")


@pytest.mark.parametrize("case", list(cases()))
def test_as_salt(case, tmp_path):
    assert filebed.play(case, tmp_path / "bed") == []


def pythons():
    """The oldest and the newest other Python 3 of this machine."""
    found = {}
    for minor in range(6, 30):
        places = [shutil.which(f"python3.{minor}")]
        places += sorted(Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python3"), reverse=True)
        for place in filter(None, places):
            if subprocess.run([place, "-I", "-S", "-c", ""], capture_output=True).returncode == 0:
                found[minor] = str(place)
                break
    return [found[minor] for minor in sorted({min(found), max(found)})] if found else []


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_as_salt_under_other_pythons(python, path, tmp_path):
    command = [python, "-I", "-S", filebed.__file__, str(ROOT), str(path), str(tmp_path / "bed")]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
