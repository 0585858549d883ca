"""What the broker of a kept session, and the starter of its render processes, run before they serve commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the rehearsal of a module in an empty home, and prints what is left of it.
PROGRAM = """
import importlib, os, sys, threading
before = set(sys.modules)
importlib.import_module(sys.argv[1]).rehearse()
from pushsalt import plugins
from pushsalt.modules import resourcetypes
print("threads:", threading.active_count())
print("installed:", plugins._entry_points.cache_info().currsize + resourcetypes._installed.cache_info().currsize)
try:
    print("children:", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("children: none")
"""


@pytest.mark.parametrize("module", ["pushsalt.cli.rehearsal", "pushsalt.children.rehearsal"])
def test_a_rehearsal_leaves_nothing_but_faster_code(tmp_path: Path, module: str) -> None:
    """No thread, since its process forks; no file and process; and no plug-ins, which may change before a command."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module],
        env={"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["threads: 1", "installed: 0", "children: none"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["home", "tmp"]
