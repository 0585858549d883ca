"""Workers, servers and controllers are killed at random while jobs run: each state of each job runs once."""

from __future__ import annotations

import contextlib
import random
import subprocess
import time

import pytest

from tests.beds.faults import IDS, PATIENCE, FaultBed, finish, kill_seconds, repetitions
from tests.beds.nats import WorkerProcess
from tests.beds.project import values

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

STATES = """
{{% for n in range(4) %}}
{job}-{{{{ n }}}}:
  cmd.run:
    - name: echo {job}-{{{{ n }}}} >> $HOME/count; sleep 0.2
{{% endfor %}}
"""
#: Kinds of errors whose outcome is not known: their states may have run, but not twice.
UNKNOWN = {"worker_lost", "connection_lost"}


class RandomKills:
    """Kills processes at random: two workers, one server, and one controller after another."""

    def __init__(self, run: FaultBed, seed: int) -> None:
        self._run = run
        self._random = random.Random(seed)
        self._stack = contextlib.ExitStack()
        self.workers: list[WorkerProcess] = []
        self.kills = {"worker": 0, "server": 0, "controller": 0}
        self._named = 0

    def __enter__(self) -> RandomKills:
        for _ in range(2):
            self._add()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def _add(self) -> None:
        self._named += 1
        made = WorkerProcess(self._run.project, self._run.server.url, name=f"w{self._named}")
        self._stack.callback(made.__exit__)
        self.workers.append(made)

    def kill(self, controller: subprocess.Popen[bytes]) -> None:
        """Kill one process at random and start its replacement; the caller starts that of a controller."""
        what = self._random.choice(["worker", "worker", "server", "controller"])
        self.kills[what] += 1
        if what == "worker":
            self.workers.pop(self._random.randrange(2)).kill()
            self._add()
        elif what == "server":
            self._run.server.kill()
            self._run.server.start()
        else:
            controller.kill()

    def pause(self) -> None:
        time.sleep(self._random.uniform(0.3, 3.0))


class Job:
    """One job, whose command is begun again when it was killed, or could not use the server."""

    def __init__(self, run: FaultBed, number: int) -> None:
        self._run = run
        self.number = number
        self.resumed = 0
        self._path = run.project.folder.parent / f"jid{number}"
        run.project.write(f"salt/job{number}.sls", STATES.format(job=number))
        self.process = self._begin()

    def _begin(self) -> subprocess.Popen[bytes]:
        if self._path.exists():
            self.resumed += 1
            return self._run.project.start("jobs", "resume", "--out", "json", self._path.read_text().strip())
        words = ("--jid-file", str(self._path), "*", f"job{self.number}")
        return self._run.project.start("apply", "--out", "json", *words)

    def is_over(self) -> bool:
        """Whether the job has ended; a command that was killed or that ended without returns is begun again."""
        if self.process.poll() is None:
            return False
        if self.process.returncode in (0, 2, 3):
            return True
        _, err = self.process.communicate()
        assert self.process.returncode == -9 or (self.process.returncode == 1 and b"NATS" in err), err
        self.process = self._begin()
        return False

    def check(self) -> int:
        """Each target has one return, or a clear error, and each state ran once at most. Returns the errors."""
        done, lost = finish(self.process), 0
        states = [f"{self.number}-{n}" for n in range(4)]
        for id in IDS:
            ran = [each for each in self._run.counted(id) if each.startswith(f"{self.number}-")]
            assert len(ran) == len(set(ran)), (id, ran, done.err)
            ret = done.data[id]
            if isinstance(ret, dict) and "error" in ret:
                assert ret["error"]["kind"] in UNKNOWN, (ret, done.err)
                lost += 1
            else:
                assert [one["__id__"] for one in values(ret)] == ran == states, (id, ret, ran, done.err)
        return lost


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(repetitions()))
def test_kills_at_random(remote, bed, server, seed):
    run = FaultBed(remote(), bed, server)
    end, jobs, lost = time.monotonic() + kill_seconds(), list[Job](), 0
    with RandomKills(run, seed) as chaos:
        for worker in chaos.workers:
            worker.ready()
        while not jobs or time.monotonic() < end:
            jobs.append(job := Job(run, len(jobs) + 1))
            patience = time.monotonic() + PATIENCE
            while not job.is_over():
                chaos.pause()
                if time.monotonic() < end and job.process.poll() is None:
                    chaos.kill(job.process)
                assert time.monotonic() < patience + kill_seconds(), "the job does not end"
            lost += job.check()
    resumed = sum(job.resumed for job in jobs)
    print(f"seed {seed}: {len(jobs)} jobs, {chaos.kills} killed, {resumed} resumed, {lost} targets with a clear error")
