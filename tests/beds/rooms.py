"""Rooms: a Debian root with some packages unpacked, in separate namespaces, for programs that need no booted machine.

The steps of a case file (see ``steps``) run there in one process tree, which ends with them.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushsalt.demo.machines import _path
from tests.beds import steps
from tests.beds.machines import AptRepository, base_root
from tests.beds.steps import HERE, THIN


@dataclass
class Room:
    """A root; ``shell`` runs a command in it, in a separate process namespace."""

    root: Path

    def take(self, asked: list[dict[str, Any]]) -> list[Any]:
        """Run the steps; returns the outcome of each."""
        return steps.take(self, asked)

    def shell(self, command: str) -> str:
        """Return the output of the command. Raises AssertionError with all of its output if it fails."""
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.root}/proc"]
        done = subprocess.run(
            [*apart, "chroot", str(self.root), "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            env={"PATH": _path(), "HOME": "/root", "LC_ALL": "C"},
        )
        errors = self.root / "opt/steps/errors"
        said = done.stderr + (errors.read_text(errors="replace") if errors.exists() else "")
        assert done.returncode == 0, f"{command}\n{done.stdout}{said}"
        return done.stdout


@contextmanager
def room(packages: Sequence[str]) -> Iterator[Room]:
    """A root with the runtime's files and these packages, unpacked but not configured."""
    debs = AptRepository("bookworm", list(packages)).fill() if packages else None
    work = Path(tempfile.mkdtemp(prefix="pushsalt-room-"))
    for name in ("upper", "work", "merged"):
        (work / name).mkdir()
    root = work / "merged"
    places = f"lowerdir={base_root('bookworm')},upperdir={work}/upper,workdir={work}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", places, root], check=True)
    try:
        made = Room(root)
        for package in packages:
            assert debs is not None
            (deb,) = debs.glob(f"{package}_*.deb")
            shutil.copy(deb, root / "tmp" / deb.name)
        if packages:
            made.shell("dpkg --unpack --force-depends --force-breaks --force-conflicts /tmp/*.deb && rm /tmp/*.deb")
        place = root / "opt" / "steps"
        place.mkdir(parents=True)
        shutil.copy(HERE / "run_steps.py", place)
        shutil.copytree(THIN, place / "thin", ignore=shutil.ignore_patterns("__pycache__"))
        yield made
    finally:
        subprocess.run(["umount", root], check=True)
        shutil.rmtree(work, ignore_errors=True)
