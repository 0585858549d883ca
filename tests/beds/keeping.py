"""A project whose commands keep a session: a short private folder for sockets, and brokers that end with the test."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.beds.project import Project


class Keeping:
    """The brokers of a project."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project, self.folder = project, folder / "pushsalt"
        project.variables["XDG_RUNTIME_DIR"] = str(folder)

    @property
    def brokers(self) -> list[dict[str, Any]]:
        """The descriptions of all brokers, by ``pushsalt session list``."""
        document: list[dict[str, Any]] = json.loads(self.project.run("session", "list", "--out", "json").out)
        return document

    @property
    def pid(self) -> int:
        """The process id of the only broker."""
        (path,) = self.folder.glob("*.json")
        return int(json.loads(path.read_text())["pid"])

    def idle(self) -> list[str]:
        """The ids with which connections are kept."""
        return [row["id"] for broker in self.brokers for row in broker["targets"]]

    def end(self) -> None:
        for path in self.folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                os.kill(int(json.loads(path.read_text())["pid"]), signal.SIGKILL)


@contextlib.contextmanager
def keeping(project: Project) -> Iterator[Keeping]:
    """The project with a folder for its brokers."""
    folder = Path(tempfile.mkdtemp(prefix="ps-"))
    found = Keeping(project, folder)
    try:
        yield found
    finally:
        found.end()
        shutil.rmtree(folder, ignore_errors=True)
