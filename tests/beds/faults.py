"""Jobs in whose middle something is broken: a project on three SSH servers whose states count their runs.

``PUSHSALT_FAULTS=10`` repeats each test of a fault, ``PUSHSALT_FAULTS_SECONDS=120`` and ``PUSHSALT_PARTITION=60`` give
the lengths of random kills and of the partition; without them the tests are short. ``PUSHSALT_FAULTS_PATIENCE`` gives
the time limit of each wait in seconds.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.beds.nats import NatsServer, WorkerProcess
from tests.beds.processes import wait_until
from tests.beds.project import Done, Project, values
from tests.beds.sshd import SshdBed

IDS = ["t1", "t2", "t3"]
#: Each state counts its runs; the second waits until it may continue.
STATES = """
one:
  cmd.run:
    - name: echo one >> $HOME/count
two:
  cmd.run:
    - name: echo two >> $HOME/count; while test ! -e $HOME/go; do sleep 0.05; done
three:
  cmd.run:
    - name: echo three >> $HOME/count
"""
#: For targets with the transport ``local``: the first two of these states, with files in ``{folder}``.
LOCAL_STATES = """
one:
  cmd.run:
    - name: echo one >> {folder}/{{{{ grains['id'] }}}}
two:
  cmd.run:
    - name: while test ! -e {folder}/go; do sleep 0.05; done
"""


#: Time limit of each wait in seconds, also on a machine with much other work.
PATIENCE = float(os.environ.get("PUSHSALT_FAULTS_PATIENCE", "180"))


def until(what: Callable[[], object]) -> None:
    wait_until(what, PATIENCE)


def finish(process: subprocess.Popen[bytes]) -> Done:
    return Project.finish(process, PATIENCE)


def repetitions() -> int:
    return int(os.environ.get("PUSHSALT_FAULTS", "1"))


def kill_seconds() -> float:
    return float(os.environ.get("PUSHSALT_FAULTS_SECONDS", "8"))


def partition_seconds() -> float:
    return float(os.environ.get("PUSHSALT_PARTITION", "14"))


class FaultBed:
    """A project on the three servers, with counters in their homes."""

    def __init__(self, project: Project, bed: SshdBed, server: NatsServer) -> None:
        self.project, self.server = project, server
        self.homes: dict[str, Path] = {id: bed.targets[id].home for id in IDS}
        for home in self.homes.values():
            for name in ("count", "go"):
                (home / name).unlink(missing_ok=True)
        project.write("salt/alone.sls", STATES)

    def json(self, *arguments: str) -> Done:
        return self.project.json(*arguments, timeout=PATIENCE)

    def worker(
        self, name: str = "w1", program: list[str] | None = None, url: str = "", *arguments: str
    ) -> WorkerProcess:
        return WorkerProcess(self.project, url or self.server.url, "default", name, program, *arguments)

    def counted(self, id: str) -> list[str]:
        """The names of the states that ran on a target, in order, one entry for each run."""
        path = self.homes[id] / "count"
        return path.read_text().split() if path.exists() else []

    def until_all_wait(self) -> None:
        """Wait until the second state runs on every target."""
        until(lambda: all("two" in self.counted(id) for id in IDS))

    def go(self) -> None:
        """Let the second state end on every target."""
        for home in self.homes.values():
            (home / "go").touch()

    def all_once(self, done: Done) -> None:
        """Assert that every state succeeded, and ran exactly once on every target."""
        assert done.code == 0, (done.out, done.err)
        for id in IDS:
            assert [ret["__id__"] for ret in values(done.data[id])] == ["one", "two", "three"]
            assert all(ret["result"] for ret in values(done.data[id]))
            assert self.counted(id) == ["one", "two", "three"]

    def start(self, *arguments: str) -> tuple[subprocess.Popen[bytes], str]:
        """Start ``apply`` of these states; returns its process and the JID."""
        path = self.project.folder.parent / "jid"
        path.unlink(missing_ok=True)
        process = self.project.start("apply", "--out", "json", "--jid-file", str(path), "*", "alone", *arguments)
        until(lambda: path.exists() and path.read_text().strip())
        return process, path.read_text().strip()
