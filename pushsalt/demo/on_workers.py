"""``pushsalt demo --workers N``: a NATS server, N workers and thirty targets on loopback; one worker is killed.

What is shown is the real thing: keys of ``pushsalt worker init``, a server with JetStream, processes of ``pushsalt
worker``. Each target counts in a file of its own how often it was run.
"""

from __future__ import annotations

import contextlib
import getpass
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from pushsalt.demo import natsserver, on_servers, project
from pushsalt.demo.natsserver import NatsServer
from pushsalt.demo.tour import Tour
from pushsalt.errors import CommandError

IDS: Final = tuple(f"web{number:02}" for number in range(1, 31))
SITE: Final = "demo"
_STATES: Final = """\
# Three steps, so that a worker can be killed in the middle. The last one counts how often this target was run.
{% set folder = grains['folder'] %}
begun:
  file.managed:
    - name: {{ folder }}/begun
    - contents: {{ grains['id'] }}
work:
  cmd.run:
    - name: sleep 3
counted:
  cmd.run:
    - name: echo once >> {{ folder }}/count
"""
#: Seconds for the start of the workers, and for the run to begin.
_PATIENCE: Final = 120.0


class Worker:
    """A process of ``pushsalt worker``. ``id``: its name, once it is ready."""

    def __init__(self, tour: Tour, words: list[str], log: Path) -> None:
        self.id = ""
        self._log = log
        with log.open("wb") as stream:
            self.process = tour.start(words, stdout=subprocess.PIPE, stderr=stream)

    def wait(self) -> None:
        """Wait until the worker is ready. Raises CommandError with its log."""
        assert self.process.stdout is not None
        timer = threading.Timer(_PATIENCE, self.process.kill)
        timer.start()
        line = self.process.stdout.readline().decode()
        timer.cancel()
        words = line.split()
        if len(words) < 2:
            output = self._log.read_text(errors="replace").strip()
            raise CommandError(f"a worker did not start: {output}", hint="is pushsalt[nats] installed?")
        self.id = words[1]

    def stop(self) -> None:
        """End it in order."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def run(folder: Path, tour: Tour, stack: ExitStack, count: int) -> None:
    """Show it all. Raises CommandError if something that it needs is missing."""
    if natsserver.missing():
        raise CommandError(natsserver.missing(), hint="it has the client and a server of NATS")
    homes, words = _project(folder, tour, stack)
    tour.say(f"{IDS[0]} to {IDS[-1]} are running: {words}.\nTheir project is {tour.project}")
    tour.show("Keys of the site: its part of the project, and all work, are encrypted to it.", "worker", "init", SITE)
    shutil.copy(folder / "id", tour.project / f"worker-{SITE}" / "ssh" / "id_ed25519")
    server = stack.enter_context(NatsServer(folder / "nats", tour.project / "workers" / "nats.conf"))
    tour.say("\n# A NATS server with JetStream, from the configuration that was made.", "2")
    tour.say(f"$ nats-server -c {tour.project}/workers/nats.conf &", "1")
    with (tour.project / "pushsalt.yaml").open("a") as stream:
        stream.write(f"workers: {server.url}\n")
    workers = _workers(folder, tour, stack, count)
    tour.show("The first command of a controller makes the queue of the site.", "run", "web0[1-3]", "test.ping")
    for worker in workers:
        worker.wait()
    tour.show("Which workers are there?", "worker", "status")
    with _killing(tour, workers, homes):
        tour.show("Apply three states on thirty targets, and kill one worker in mid-run.", "apply", "*", "counted")
    _check(tour, homes)
    tour.show("The job has one return of each target.", "jobs", "list", "--limit", "1")


def _project(folder: Path, tour: Tour, stack: ExitStack) -> tuple[dict[str, Path], str]:
    """Start the targets, and write a project for them. Returns their home folders, and the server's description."""
    bed, server = on_servers.bed(folder, stack, IDS)
    shutil.copy(bed.key, folder / "id")
    user = getpass.getuser()
    defaults = {
        "host": "127.0.0.1",
        "user": user,
        "priv": "id_ed25519",
        "agent": False,
        "site": SITE,
        "ssh_options": [f"UserKnownHostsFile={bed.known_hosts}", "ProxyJump=none"],
    }
    homes = {id: bed.homes / id for id in IDS}
    hosts = {id: {"port": bed.targets[id].port, "grains": {"folder": str(homes[id])}} for id in IDS}
    project.write(tour.project, defaults, hosts, project.PILLAR_IN_FOLDER)
    for name, text in {
        "salt/counted.sls": _STATES,
        "pillar/top.sls": "base: {}\n",
        "salt/top.sls": "base: {}\n",
    }.items():
        (tour.project / name).write_text(text)
        (tour.project / name).chmod(0o644)
    return homes, f"{server} on 127.0.0.1, as {user}, each with a separate home folder"


def _workers(folder: Path, tour: Tour, stack: ExitStack, count: int) -> list[Worker]:
    """Start the workers, each for a part of the targets at a time."""
    width = -(-len(IDS) // count)
    words = ["worker", "--site", SITE, "--concurrency", str(width)]
    tour.say(f"\n# {count} workers near the targets; each would run on a machine of its own.", "2")
    workers = []
    for number in range(1, count + 1):
        own = [*words, "--cache-dir", str(folder / f"cache-{number}")]
        worker = Worker(tour, own, folder / f"worker-{number}.log")
        stack.callback(worker.stop)
        workers.append(worker)
        tour.say(f"$ pushsalt {' '.join(words)} &", "1")
    return workers


@contextmanager
def _killing(tour: Tour, workers: list[Worker], homes: dict[str, Path]) -> Iterator[None]:
    """While the block runs, the worker that has most targets is killed as soon as several have begun."""
    over = threading.Event()

    def kill() -> None:
        end = time.monotonic() + _PATIENCE
        while not over.wait(0.05) and time.monotonic() < end:
            if sum((home / "begun").exists() for home in homes.values()) >= len(homes) // 3:
                worker = workers[0]
                worker.process.send_signal(signal.SIGKILL)
                tour.say(f"\n--- kill -9: the worker {worker.id} is gone ---", "1;31")
                return

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if workers[0].process.poll() is None:
        tour.failed.append("the run ended before a worker could be killed")


def _check(tour: Tour, homes: dict[str, Path]) -> None:
    """Say how often each target was run."""
    counts = {id: _lines(home / "count") for id, home in homes.items()}
    lost = [id for id, count in counts.items() if count < 1]
    twice = [id for id, count in counts.items() if count > 1]
    tour.say("\n# How often was each target run? The last state of each counts it in a file there.", "2")
    tour.say(
        f"once: {len(counts) - len(lost) - len(twice)}   not at all: {len(lost)}   twice or more: {len(twice)}", "1"
    )
    if lost or twice:
        tour.failed.append(f"each target exactly once (lost: {', '.join(lost)}; twice: {', '.join(twice)})")


def _lines(path: Path) -> int:
    try:
        return len(path.read_text().splitlines())
    except OSError:
        return 0
