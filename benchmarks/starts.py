"""The processor time of one start on a target, without SSH: ``python benchmarks/starts.py [ROUNDS]``.

Each contender runs in turn, on this machine, with a home of its own. The time is that of the started processes (user +
system, of all their children), not of this one; and the bytes that went to the target.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from pushsalt.bundle.runtime import Runtime  # noqa: E402
from pushsalt.model import Target  # noqa: E402
from pushsalt.session.session import Session  # noqa: E402
from pushsalt.transport import ConnectOptions, connect  # noqa: E402

TARGET = Target("here", transport="local", python="/usr/bin/python3")


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


class Starts:
    """Starts of one runtime."""

    def __init__(self, cache: Path) -> None:
        self.runtime = Runtime.load(cache)

    async def call(self, fun: str, *args: Any, by_shell: bool = False, first: bool = False) -> int:
        """One session with one call; returns the bytes that were sent."""
        met = self.runtime.met(TARGET, None if os.geteuid() else "root")
        if first:
            self.runtime.remember(TARGET, "root", None)
            shutil.rmtree(Path(os.environ["HOME"]) / ".cache", ignore_errors=True)
        elif by_shell and met is not None:
            self.runtime.remember(TARGET, "root", replace(met, exe=""))
        message = {"k": "call", "fun": fun, "args": list(args), "kwargs": {}, "cli": True}
        connection = await connect(TARGET, ConnectOptions())
        session = await Session.open(TARGET, connection, self.runtime, first=[message])
        await session.first[0]
        sent = session.bytes_sent
        await session.close()
        await connection.close()
        return sent


async def _bare(argv: list[str]) -> int:
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.DEVNULL)
    await process.wait()
    return 0


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        os.environ["SHELL"] = "/bin/bash"
        starts = Starts(Path(folder) / "cache")
        python = [str(TARGET.python), "-I", "-S", "-c"]
        contenders: dict[str, Callable[[], Awaitable[int]]] = {
            "python3 -I -S -c pass": lambda: _bare([*python, "pass"]),
            "python3, and hostname by the login's shell": lambda: _bare(
                [*python, "import os; os.system('/bin/bash -c hostname')"]
            ),
            "test.ping": lambda: starts.call("test.ping"),
            "cmd.run hostname": lambda: starts.call("cmd.run", "hostname"),
            "cmd.run hostname, interpreter not known": lambda: starts.call("cmd.run", "hostname", by_shell=True),
            "first contact: cmd.run hostname": lambda: starts.call("cmd.run", "hostname", first=True),
        }
        costs: dict[str, list[float]] = {name: [] for name in contenders}
        sent: dict[str, int] = {}
        for number in range(rounds + 1):
            for name, run in contenders.items():
                if "first" not in name:
                    await run()  # fills caches of the processor and the kernel
                before = _used()
                sent[name] = await run()
                costs[name] += [_used() - before] if number else []
        for name, times in costs.items():
            print(f"{statistics.median(times):7.2f} ms  {min(times):7.2f} least  {sent[name]:8} bytes  {name}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
