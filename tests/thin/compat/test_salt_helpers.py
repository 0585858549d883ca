"""The helpers that users' modules import from Salt return the same as Salt 3008's, on old and new Pythons."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.beds import pythons

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]


@pytest.mark.parametrize("python", dict.fromkeys([sys.executable, *pythons.ends()]))
def test_helpers_return_the_values_of_salt(python: str) -> None:
    script = [str(HERE / "salt_helpers_run.py"), str(ROOT), str(HERE / "cases" / "salt_helpers.json")]
    process = subprocess.run(
        [python, "-I", "-S", "-W", "error", *script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (process.stdout, process.returncode) == ("OK\n", 0), process.stderr


def test_an_installed_salt_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "__init__.py").write_text("real = True\n")
    (tmp_path / "empty" / "salt").mkdir(parents=True)
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from thin import compat\ncompat.install()\nimport salt\nprint(getattr(salt, 'real', False))\n"
        "try:\n    import salt.utils.args\n    print('ours')\nexcept ImportError:\n    print('none')\n"
    )
    for folder, output in ((tmp_path, "True\nnone\n"), (tmp_path / "empty", "False\nours\n")):
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program, str(folder), str(ROOT)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (process.stdout, process.returncode) == (output, 0), process.stderr
