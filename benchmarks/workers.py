"""Measures workers and the plain controller: ``python benchmarks/workers.py``.

``apply``: 50 unchanged ``file.managed`` on 100 loopback servers, and ``run``: ``cmd.run hostname`` there: by two
workers on this machine, and by the controller itself (at most 1.15 times its wall time). Both take turns; the whole
command is measured, from start to exit. Workers have keys, so all work, returns and files are sealed. Connections are
made anew by both each time.

``handoff``: 10,000 ids without a worker: shards, and seconds from the first to the last one in the queue of the site,
by the server's clock (at most 1 s).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import contenders  # noqa: E402
import yaml  # noqa: E402
from fleet import sshd_fleet  # noqa: E402

from pushsalt.demo import natsserver, sshd  # noqa: E402
from pushsalt.demo.natsserver import NatsServer  # noqa: E402

SECTIONS = ("apply", "run", "handoff")
SITE = "here"
FILES = 50
BEFORE = 2


class Bed:
    """A project with keys of one site, a NATS server, and commands in it."""

    def __init__(self, work: Path, hosts: dict[str, Any]) -> None:
        self.folder = work / "project"
        self.folder.mkdir(parents=True)
        self.env = {**contenders.environment(work), "HOME": str(work)}
        self.managed = work / "managed"
        files = self.folder / "salt/files"
        files.mkdir(parents=True)
        high = {}
        for number in range(FILES):
            (files / f"{number:02}.conf").write_text(f"# file {number}\n" + "setting = value\n" * 20)
            arguments = [{"source": f"salt://files/{number:02}.conf"}, {"makedirs": True}]
            high[str(self.managed / f"{number:02}.conf")] = {"file.managed": arguments}
        (self.folder / "salt/bench.sls").write_text(yaml.safe_dump(high, sort_keys=False))
        (self.folder / "pushsalt.yaml").write_text("file_roots: {base: [salt]}\n")
        (self.folder / "inventory.yaml").write_text(json.dumps({"defaults": {"site": SITE}, "hosts": hosts}))
        self.run("worker", "init", SITE)

    def argv(self, *arguments: str) -> list[str]:
        return [*map(str, contenders.PUSHSALT), *arguments]

    def run(self, *arguments: str) -> tuple[float, str]:
        """Seconds of a whole command, and its output. Raises RuntimeError when it fails."""
        began = time.perf_counter()
        done = subprocess.run(self.argv(*arguments), env=self.env, cwd=self.folder, capture_output=True, text=True)
        took = time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(f"{arguments}: status {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
        return took, done.stdout

    @contextlib.contextmanager
    def workers(
        self, url: str, count: int, work: Path, program: list[str] | None = None
    ) -> Iterator[list[subprocess.Popen[str]]]:
        """Processes of ready workers. ``program``: the beginning of their command lines, in place of pushsalt."""
        asyncio.run(_prepare(url, self.folder / "workers"))
        running: list[subprocess.Popen[str]] = []
        try:
            for number in range(count):
                arguments = ("worker", "--keys", str(self.folder / f"worker-{SITE}"), "--workers", url)
                arguments += ("--cache-dir", str(work / f"cache-{number}"))
                argv = [*program, *arguments] if program else self.argv(*arguments)
                log = (work / f"worker-{number}.log").open("w")
                running.append(
                    subprocess.Popen(argv, env=self.env, cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True)
                )
                log.close()
            for process in running:
                assert process.stdout is not None and "ready" in process.stdout.readline()
            yield running
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()


def compare_with_controller(section: str, options: argparse.Namespace, work: Path) -> None:
    arguments = {"apply": ("apply", "*", "bench"), "run": ("run", "*", "cmd.run", "hostname")}[section]
    with sshd_fleet(options.targets, work) as fleet:
        hosts = {host.id: fleet._native(host) for host in fleet.hosts}
        bed = Bed(work / "bed2", hosts)
        shutil.copy(fleet.key, bed.folder / f"worker-{SITE}/ssh" / fleet.key.name)
        (work / "bed2/.ssh").mkdir(mode=0o700)
        shutil.copy(fleet.known_hosts, work / "bed2/.ssh/known_hosts")
        seconds: dict[str, list[float]] = {"controller": [], "workers": []}
        with (
            NatsServer(work / "nats", bed.folder / "workers/nats.conf") as server,
            bed.workers(server.url, options.workers, work),
        ):
            for number in range(options.rounds + BEFORE):
                for name, worker_options in (("controller", ()), ("workers", ("--workers", server.url))):
                    took, out = bed.run(
                        *arguments, "--out", "json", "--cache-dir", str(work / f"cache-{name}"), *worker_options
                    )
                    returns = json.loads(out)
                    assert len(returns) == len(fleet), out[:500]
                    if number >= BEFORE:
                        seconds[name].append(took)
                    print(f"  {section} {name}: {took:.2f} s{'' if number >= BEFORE else ' (not counted)'}", flush=True)
    plain, ours = (statistics.median(seconds[name]) for name in ("controller", "workers"))
    print(f"| {section} {len(fleet)} | {plain:.2f} s | {ours:.2f} s | {ours / plain:.2f} |", flush=True)


def handoff(options: argparse.Namespace, work: Path) -> None:
    hosts = {f"t{number}": {"host": "127.0.0.1", "port": 9} for number in range(options.ids)}
    bed = Bed(work, hosts)
    with NatsServer(work / "nats", bed.folder / "workers/nats.conf") as server:
        for number in range(3):
            argv = bed.argv("run", "*", "test.ping", "--workers", server.url, "--out", "json")
            began = time.time()
            process = subprocess.Popen(
                argv, env=bed.env, cwd=bed.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                shards, first, last = asyncio.run(shards_stored(server.url, bed.folder / "workers", process))
            finally:
                process.kill()
                process.wait()
            print(
                f"  handoff {options.ids} ids: {shards} shards in {last - first:.2f} s; the last one "
                f"{last - began:.2f} s after the start of the command (run {number + 1})",
                flush=True,
            )


async def _prepare(url: str, folder: Path) -> None:
    """Create the streams of the site, for which workers wait."""
    from pushsalt.workers import connection

    client = await connection.connect(url, folder)
    await client.setup([SITE])
    await client.close()


async def shards_stored(
    url: str, folder: Path, process: subprocess.Popen[bytes], purge: bool = True
) -> tuple[int, float, float]:
    """(shards, Unix time of the first one, of the last one) when no more come. ``purge``: empty the queue."""
    from pushsalt.workers import connection, names

    client = await connection.connect(url, folder)
    before = -1
    try:
        while True:
            await asyncio.sleep(1.0)
            assert process.poll() is None
            try:
                answer = await client.nc.request(f"$JS.API.STREAM.INFO.{names.work_stream(SITE)}", b"")
            except Exception:
                continue
            state = json.loads(answer.data).get("state") or {}
            count = int(state.get("messages") or 0)
            if count and count == before:
                times = [_seconds(state[name]) for name in ("first_ts", "last_ts")]
                if purge:
                    await client.js.purge_stream(names.work_stream(SITE))
                return count, times[0], times[1]
            before = count
    finally:
        await client.close()


def _seconds(text: str) -> float:
    """A time of NATS, which has nanoseconds, as Unix time."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{rest or 0}")


def main(options: argparse.Namespace) -> None:
    if reason := sshd.missing() or natsserver.missing():
        sys.exit(reason)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="pushsalt-workers-") as folder:
        for section in options.section or SECTIONS:
            work = Path(folder) / section
            work.mkdir()
            if section == "handoff":
                handoff(options, work)
            else:
                compare_with_controller(section, options, work)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []], help=f"some of: {', '.join(SECTIONS)}")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (default: %(default)s)")
    parser.add_argument("--targets", type=int, default=100, help="loopback servers (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="workers (default: %(default)s)")
    parser.add_argument("--ids", type=int, default=10_000, help="ids of handoff (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
