"""Every Python from 3.6 on that this machine has loads all modules, isolated, and runs the engine's cases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def pythons() -> dict[str, str]:
    """version -> path, of pyenv's and those on PATH, from 3.6 on."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    folders = [Path(part) for part in os.environ.get("PATH", "").split(":") if part]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for path in sorted(pyenv.glob("versions/3.*/bin/python3")):
        version = ".".join(path.parts[-3].split(".")[:2])
        found.setdefault(version, str(path))
    for minor in range(6, 20):
        for folder in folders:
            path = folder / f"python3.{minor}"
            if os.access(path, os.X_OK) and ".pyenv/shims" not in str(path):
                found.setdefault(f"3.{minor}", str(path))
                break
    order = sorted((version for version in found if int(version[2:]) >= 6), key=lambda version: int(version[2:]))
    return {version: found[version] for version in order}


@pytest.mark.parametrize("version, python", pythons().items(), ids=list(pythons()))
def test_all_of_thin(version: str, python: str) -> None:
    script = [str(HERE / "old_python_run.py"), str(ROOT), str(HERE / "cases" / "engine")]
    command = [python, "-I", "-S", "-W", "error", *script]
    got = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (got.stdout.strip().split("\n")[-1], got.returncode) == ("OK", 0), got.stderr
