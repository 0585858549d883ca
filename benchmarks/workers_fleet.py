"""Measures many ids at workers: ``python benchmarks/workers_fleet.py [fleet] [standins]``.

``fleet``: an apply of three states on ``--ids`` ids that share ``--servers`` real sshds, each id with a folder, a
runtime and a lock of its own, by four workers, one of which is killed when a third of the ids has run. Each id counts
its runs.
Printed: returns, wall time, CPU time of all processes divided by the cores (what CPU alone explains), and the largest
resident memory of the controller. The CPU time is that of a control group, so it needs root and cgroup v2.

``standins``: ``--standins`` ids whose worker answers without a connection: everything else is real (keys, shards,
server, controller). Printed: seconds until all shards are stored, with no worker there; returns a second of four
workers after that; and the largest resident memory of the controller.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from workers import SITE, Bed, shards_stored  # noqa: E402

from pushsalt.demo import natsserver, sshd  # noqa: E402
from pushsalt.demo.natsserver import NatsServer  # noqa: E402
from pushsalt.demo.sshd import SshdBed  # noqa: E402

SECTIONS = ("fleet", "standins")
WORKERS = 4
GROUPS = next((path for path in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")) if path.is_dir()), Path())
GROUP = GROUPS / f"pushsalt-fleet-{os.getpid()}"
#: A worker whose targets answer at once.
STAND_IN = """\
import sys
from pushsalt.model import TargetReturn
from pushsalt.workers import worker_job
async def run(runner, id):
    return TargetReturn(id, True, "value")
worker_job.run = run
from pushsalt.cli.__main__ import main
sys.argv[0] = "pushsalt"
sys.exit(main())
"""
STATES = """
count:
  cmd.run:
    - name: echo run >> {folder}/{{{{ grains['id'] }}}}.count
first:
  test.nop
second:
  test.nop
"""


class Command:
    """A controller's command, with its wall time and memory."""

    def __init__(self, bed: Bed, out: Path, *arguments: str) -> None:
        self._out = out
        self.began = time.time()
        with out.open("wb") as stream, out.with_suffix(".err").open("wb") as err:
            self.process = subprocess.Popen(
                bed.argv(*arguments), env=bed.env, cwd=bed.folder, stdout=stream, stderr=err
            )
        self.wall = self.mebibytes = 0.0

    def wait(self) -> dict[str, Any]:
        """Wait for its end. Returns the returns by id."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.wall, self.mebibytes = time.time() - self.began, usage.ru_maxrss / 1024
        self.process.returncode = os.waitstatus_to_exitcode(status)
        text = self._out.read_text()
        if not text.strip():
            raise RuntimeError(self._out.with_suffix(".err").read_text()[-2000:])
        return dict(json.loads(text))


@contextlib.contextmanager
def own_group() -> Iterator[None]:
    """A context in which all started processes belong to one control group, even if their parents have ended."""
    GROUP.mkdir()
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    before = GROUPS / next(line[4:] for line in lines if line.startswith("0::/"))
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))
        with contextlib.suppress(OSError):
            GROUP.rmdir()


def cpu_seconds() -> float:
    lines = dict(line.split() for line in (GROUP / "cpu.stat").read_text().splitlines())
    return int(lines["usage_usec"]) / 1e6


def fleet(options: argparse.Namespace, work: Path) -> None:
    with SshdBed(work / "sshd") as servers:
        targets = servers.start(options.servers)
        folder = work / "ids"
        folder.mkdir()
        hosts = {}
        for number in range(options.ids):
            host = targets[number % len(targets)].host()
            hosts[f"t{number}"] = {**host, "thin_dir": str(folder / f"t{number}")}
        bed = Bed(work / "bed", hosts)
        (bed.folder / "salt/counted.sls").write_text(STATES.format(folder=folder))
        shutil.copy(servers.key, bed.folder / f"worker-{SITE}/ssh" / servers.key.name)
        (work / "bed/.ssh").mkdir(mode=0o700)
        shutil.copy(servers.known_hosts, work / "bed/.ssh/known_hosts")
        with (
            NatsServer(work / "nats", bed.folder / "workers/nats.conf") as server,
            bed.workers(server.url, WORKERS, work) as workers,
        ):
            cpu = cpu_seconds()
            arguments = ("apply", "*", "counted", "--out", "json", "--workers", server.url)
            command = Command(bed, work / "out.json", *arguments, "--concurrency", str(options.ids))
            while sum(entry.name.endswith(".count") for entry in os.scandir(folder)) < options.ids / 3:
                time.sleep(1.0)
                assert command.process.poll() is None
            workers[0].kill()
            returns = command.wait()
            cpu = cpu_seconds() - cpu
    good = [ret for ret in returns.values() if "error" not in ret and all(state["result"] for state in ret.values())]
    errors: dict[str, int] = {}
    for ret in returns.values():
        if "error" in ret:
            errors[ret["error"]["kind"]] = errors.get(ret["error"]["kind"], 0) + 1
    runs = [len(path.read_text().split()) for path in folder.glob("*.count")]
    for path in folder.glob("*.count") if options.debug else ():
        if len(path.read_text().split()) != 1:
            print(path.name, list(returns[path.stem].items())[:1], flush=True)
    cores = os.cpu_count() or 1
    print(
        f"fleet {options.ids} ids, {options.servers} sshds, {WORKERS} workers, one killed: {len(returns)} returns, "
        f"{len(good)} good, errors {errors}; run once: {runs.count(1)}, more often: {sum(n > 1 for n in runs)}; "
        f"wall {command.wall:.1f} s, CPU {cpu:.1f} s / {cores} cores = {cpu / cores:.1f} s, "
        f"ratio {command.wall / (cpu / cores):.2f}; controller {command.mebibytes:.0f} MiB",
        flush=True,
    )


def standins(options: argparse.Namespace, work: Path) -> None:
    hosts = {f"t{number}": {"host": "127.0.0.1", "port": 9} for number in range(options.standins)}
    bed = Bed(work, hosts)
    with NatsServer(work / "nats", bed.folder / "workers/nats.conf") as server:
        arguments = ("run", "*", "test.ping", "--out", "json", "--workers", server.url)
        command = Command(bed, work / "out.json", *arguments, "--concurrency", str(options.standins))
        shards, first, last = asyncio.run(
            shards_stored(server.url, bed.folder / "workers", command.process, purge=False)
        )
        began = time.time()
        with bed.workers(server.url, WORKERS, work, [sys.executable, "-c", STAND_IN]):
            ready = time.time()
            returns = command.wait()
            end = time.time()
    good = sum(value is True for value in returns.values())
    print(
        f"standins {options.standins} ids: {shards} shards in {last - first:.2f} s, the last one "
        f"{last - command.began:.1f} s after the start of the command; {good} good returns in {end - began:.1f} s "
        f"from the start of {WORKERS} workers, {end - ready:.1f} s after they were ready: "
        f"{good / (end - ready):.0f} a second; controller {command.mebibytes:.0f} MiB",
        flush=True,
    )


def main(options: argparse.Namespace) -> None:
    if reason := sshd.missing() or natsserver.missing():
        sys.exit(reason)
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory(prefix="pushsalt-fleet-") as folder:
        for section in options.section or SECTIONS:
            work = Path(folder) / section
            work.mkdir()
            if section == "fleet":
                with own_group():
                    fleet(options, work)
            else:
                standins(options, work)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []], help=f"some of: {', '.join(SECTIONS)}")
    parser.add_argument("--ids", type=int, default=10_000, help="ids of fleet (default: %(default)s)")
    parser.add_argument("--debug", action="store_true", help="print the ids that have run more than once")
    parser.add_argument("--servers", type=int, default=20, help="sshds of fleet (default: %(default)s)")
    parser.add_argument("--standins", type=int, default=100_000, help="ids of standins (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
