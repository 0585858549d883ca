"""Measures kept sessions, and compares them with connections of a bare asyncssh program: ``python benchmarks/kept.py``.

``commands``: ``cmd.run hostname`` on 100 loopback servers (at most 2.5 times the floor). ``states``: 50 unchanged
``file.managed`` on 8 of them (at most 4 times). ``distance``: the second ``apply`` of these states on one target with a
round trip of 200 ms (at most 0.9 s). ``memory``: of a broker, without connections and with 100. ``lag``: how late the
event loop of a process is that applies the states to 100 targets (``--targets 500``), without a session; the first run
brings the runtime to the targets.

The floor opens its connections before the measurement, and runs one command on each: ``hostname`` for ``commands``,
else a Python that calls ``os.stat`` on the same 50 files. The time of pushsalt is that of the whole process, from start
to exit. Both take turns, with a pause before each (``--pause 0``: without). The first rounds are not counted: they
start the session, and fill caches on the targets.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import asyncssh  # noqa: E402
import contenders  # noqa: E402
import yaml  # noqa: E402
from fleet import Fleet, sshd_fleet  # noqa: E402

from pushsalt.demo import sshd  # noqa: E402

ROUND_TRIP = 0.2
#: Rounds that are not counted.
BEFORE = 3
FILES = contenders.FILES


class KeptSession:
    """pushsalt with a kept session, for the targets of a fleet."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet = fleet
        self.env = {**contenders.environment(fleet.home), "XDG_RUNTIME_DIR": str(folder)}
        self.managed = fleet.work / "managed"
        self._folder = folder / "pushsalt"
        roots = fleet.work / "salt"
        (roots / "files").mkdir(parents=True)
        high = {}
        for number in range(FILES):
            (roots / "files" / f"{number:02}.conf").write_text(f"# file {number}\n" + "setting = value\n" * 20)
            arguments = {"source": f"salt://files/{number:02}.conf", "mode": "0644", "makedirs": True}
            high[str(self.managed / f"{number:02}.conf")] = {
                "file.managed": [{name: arguments[name]} for name in arguments]
            }
        (roots / "bench.sls").write_text(yaml.safe_dump(high, sort_keys=False))
        (fleet.work / "kept.yaml").write_text(yaml.safe_dump({"file_roots": {"base": [str(roots)]}, "session": "10m"}))

    async def run(self, *arguments: str, inventory: Path | None = None) -> tuple[float, str]:
        """Seconds of a whole command, and its output. Raises RuntimeError when it fails."""
        options = ["-i", inventory or self.fleet.native, "-c", self.fleet.work / "kept.yaml"]
        argv = [*contenders.PUSHSALT, *options, "--cache-dir", self.fleet.work / "cache", *arguments, "--out", "json"]
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *map(str, argv), env=self.env, cwd=self.fleet.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await process.communicate()
        took = time.perf_counter() - began
        if process.returncode:
            raise RuntimeError(f"{arguments}: status {process.returncode}: {out.decode()[-500:]} {err.decode()[-500:]}")
        return took, out.decode()

    def pids(self) -> list[int]:
        """The broker's process."""
        return [int(json.loads(path.read_text())["pid"]) for path in self._folder.glob("*.json")]

    def memory(self) -> float:
        """MiB of all processes of the broker; a page that several share is divided between them (PSS)."""
        (broker,) = self.pids()
        inner = Path(f"/proc/{broker}/task/{broker}/children").read_text().split()
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in (str(broker), *inner)]
        return sum(int(text.partition("\nPss:")[2].split()[0]) for text in rollups) / 1024

    def end(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)


@contextlib.contextmanager
def keeping(fleet: Fleet) -> Iterator[KeptSession]:
    folder = Path(tempfile.mkdtemp(prefix="ps-"))  # a socket's path is short
    session = KeptSession(fleet, folder)
    try:
        yield session
    finally:
        session.end()
        shutil.rmtree(folder, ignore_errors=True)


class Floor:
    """Connections of a bare asyncssh program, open from before the measurement."""

    def __init__(self, connections: Sequence[asyncssh.SSHClientConnection]) -> None:
        self.connections = connections

    async def run(self, command: str) -> tuple[float, list[str]]:
        """Seconds for one command on each connection, all at once, and its outputs."""
        began = time.perf_counter()
        outputs = await asyncio.gather(*(connection.run(command, check=True) for connection in self.connections))
        return time.perf_counter() - began, [str(connection.stdout).strip() for connection in outputs]


@contextlib.asynccontextmanager
async def connect_floor(fleet: Fleet, ports: Sequence[int] = ()) -> AsyncIterator[Floor]:
    async with contextlib.AsyncExitStack() as stack:
        connections = []
        for number, host in enumerate(fleet.hosts):
            port = ports[number] if ports else host.port
            connection = asyncssh.connect(
                host.host,
                port,
                username=host.user,
                client_keys=[str(fleet.key)],
                known_hosts=None,  # on loopback, of servers that we have started
                config=None,
                agent_path=None,
            )
            connections.append(await stack.enter_async_context(connection))
        yield Floor(connections)


class Figures:
    """Seconds of each round, by section and contender."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, list[float]]] = {}

    def add(self, section: str, name: str, seconds: float) -> None:
        self.runs.setdefault(section, {}).setdefault(name, []).append(round(seconds, 4))

    def table(self) -> str:
        lines = ["| section | floor | pushsalt, session kept | |", "|---|---|---|---|"]
        for section, seconds in self.runs.items():
            floor_time, our_time = (statistics.median(seconds[name]) for name in ("floor", "pushsalt"))
            lines.append(f"| {section} | {floor_time:.3f} s | {our_time:.3f} s | {our_time / floor_time:.2f} |")
        return "\n".join(lines)


async def commands(figures: Figures, options: argparse.Namespace, work: Path) -> None:
    name = os.uname().nodename
    with sshd_fleet(options.targets, work) as fleet, keeping(fleet) as session:
        async with connect_floor(fleet) as bare:
            for number in range(options.rounds + BEFORE):
                await asyncio.sleep(options.pause)
                floor_time, texts = await bare.run("hostname")
                await asyncio.sleep(options.pause)
                our_time, out = await session.run(
                    "run", "*", "cmd.run", "hostname", "--concurrency", str(options.targets)
                )
                assert texts == [name] * len(fleet) and out.count(f'"{name}"') == len(fleet), out
                _note(figures, f"commands {len(fleet)}", number, floor_time, our_time)


async def states(figures: Figures, options: argparse.Namespace, work: Path) -> None:
    with sshd_fleet(options.machines, work) as fleet, keeping(fleet) as session:
        await session.run("apply", "t1", "bench")
        async with connect_floor(fleet) as bare:
            for number in range(options.rounds + BEFORE):
                await asyncio.sleep(options.pause)
                floor_time, texts = await bare.run(_stat(session.managed))
                await asyncio.sleep(options.pause)
                our_time, out = await session.run("apply", "*", "bench")
                assert texts == [str(FILES)] * len(fleet)
                assert out.count('"changes": {}') == FILES * len(fleet), out[-2000:]
                _note(figures, f"states {len(fleet)}", number, floor_time, our_time)


async def distance(figures: Figures, options: argparse.Namespace, work: Path) -> None:
    with sshd_fleet(1, work) as fleet, keeping(fleet) as session, distant_target(fleet) as (inventory, port):
        async with connect_floor(fleet, [port]) as bare:
            for number in range(options.rounds + BEFORE):
                floor_time, _ = await bare.run(_stat(session.managed) if number else "true")
                our_time, out = await session.run("apply", "t1", "bench", inventory=inventory)
                assert out.count('"result": true') == FILES, out[-2000:]
                _note(figures, f"distance {ROUND_TRIP * 1000:.0f} ms", number, floor_time, our_time)


async def memory(figures: Figures, options: argparse.Namespace, work: Path) -> None:
    with sshd_fleet(options.targets, work) as fleet, keeping(fleet) as session:
        await session.run("session", "start")
        await asyncio.sleep(2)  # until its starter has loaded all
        print(f"  memory: {session.memory():.0f} MiB without connections", flush=True)
        await session.run("run", "*", "cmd.run", "hostname")  # a thousand logins at once would take too long
        for _ in range(3):
            took, _ = await session.run("run", "*", "cmd.run", "hostname", "--concurrency", str(options.targets))
            print(f"  memory: a command on {len(fleet)} targets takes {took:.1f} s", flush=True)
        await asyncio.sleep(1)
        print(f"  memory: {session.memory():.0f} MiB with {len(fleet)} connections", flush=True)


async def lag(figures: Figures, options: argparse.Namespace, work: Path) -> None:
    from pushsalt.api import Client
    from pushsalt.job import JobOptions, Selection, Settings

    with sshd_fleet(options.targets, work) as fleet, keeping(fleet):
        os.environ["HOME"] = str(fleet.home)
        settings = Settings([fleet.native], config=fleet.work / "kept.yaml", cache_dir=fleet.work / "cache")
        client = Client(settings)
        for number in (1, 2):
            late: list[float] = []
            watch = asyncio.ensure_future(_lateness(late))
            began = time.perf_counter()
            returns = [ret async for ret in client.stream_apply(Selection("*"), ["bench"], JobOptions())]
            took = time.perf_counter() - began
            watch.cancel()
            late.sort()
            worst, usual = late[-1] * 1000, late[int(len(late) * 0.99)] * 1000
            good = sum(not ret.exit_code for ret in returns)
            print(f"  lag: run {number} on {len(fleet)} targets, {good} good, took {took:.1f} s; the loop was late by")
            print(f"    {usual:.0f} ms (99 %), at most {worst:.0f} ms", flush=True)


async def _lateness(late: list[float]) -> None:
    """Add the seconds by which each turn of a timer of 10 ms was late."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.01)
        late.append(time.perf_counter() - began - 0.01)


@contextlib.contextmanager
def distant_target(fleet: Fleet) -> Iterator[tuple[Path, int]]:
    """(inventory file, port): only the first target, reached through a proxy with a delay."""
    argv = [sys.executable, HERE / "distance.py", str(ROUND_TRIP), str(fleet.hosts[0].port)]
    process = subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        document: dict[str, Any] = yaml.safe_load(fleet.native.read_text())
        id = fleet.hosts[0].id
        document["hosts"] = {id: {**document["hosts"][id], "port": port}}
        path = fleet.work / "far.yaml"
        path.write_text(yaml.safe_dump(document))
        known_hosts = fleet.known_hosts.read_text()
        with fleet.known_hosts.open("a") as stream:
            stream.write(known_hosts.replace(f":{fleet.hosts[0].port} ", f":{port} "))
        yield path, port
    finally:
        process.kill()
        process.wait()


def _stat(folder: Path) -> str:
    names = f'f"{folder}/{{n:02}}.conf"'
    return f"python3 -I -S -c 'import os; print(sum(os.stat({names}).st_size > 0 for n in range({FILES})))'"


def _note(figures: Figures, section: str, number: int, floor_time: float, our_time: float) -> None:
    counts = number >= BEFORE
    print(
        f"  {section}: floor {floor_time:.3f} s, pushsalt {our_time:.3f} s{'' if counts else ' (not counted)'}",
        flush=True,
    )
    if counts:
        figures.add(section, "floor", floor_time)
        figures.add(section, "pushsalt", our_time)


SECTIONS = {"commands": commands, "states": states, "distance": distance, "memory": memory, "lag": lag}


async def main(options: argparse.Namespace) -> None:
    if reason := sshd.missing():
        sys.exit(reason)
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="pushsalt-kept-") as folder:
        for section in options.section or SECTIONS:
            measure = SECTIONS[section]
            await measure(figures, options, Path(folder) / section)
    if figures.runs:
        print(figures.table())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []], help=f"some of: {', '.join(SECTIONS)}")
    parser.add_argument("--rounds", type=int, default=9, help="rounds that count (default: %(default)s)")
    parser.add_argument("--targets", type=int, default=100, help="targets of commands (default: %(default)s)")
    parser.add_argument(
        "--pause", type=float, default=2.0, help="seconds before each command, of both (default: %(default)s)"
    )
    parser.add_argument("--machines", type=int, default=8, help="targets of states (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(_options()))
