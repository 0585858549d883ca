"""Runs one command and measures it: ``python measure.py RESULT.json SECONDS COMMAND [ARG ...]``.

Wall time ends with the command's process. CPU (user + system, seconds) is that of its whole process tree: processes
that it leaves running (such as a multiplexing ``ssh`` master) are ended afterwards and counted, so every run begins
without connections of the previous one. ``rss`` (MiB) is the largest peak of a single process of the tree. Linux only.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def main(result: str, limit: str, *argv: str) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    # Not wait(timeout): it polls at growing intervals, up to 50 ms late.
    timer = threading.Timer(float(limit), process.kill)
    timer.start()
    status = process.wait()
    wall = time.perf_counter() - began
    timer.cancel()
    _end_leftovers()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {"status": status, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss / 1024}
    Path(result).write_text(json.dumps(cost))


def _end_leftovers() -> None:
    """End the daemons of the command, which are children of this process now, until none is left."""
    end = time.monotonic() + 10
    while children := _children():
        signal_number = signal.SIGTERM if time.monotonic() < end - 5 else signal.SIGKILL
        for pid in children:
            os.kill(pid, signal_number)
        time.sleep(0.02)
        while children and os.waitpid(-1, os.WNOHANG)[0]:
            children.pop()
        if time.monotonic() > end:
            break


def _children() -> list[int]:
    own = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{own}/task/{own}/children").read_text().split()]


if __name__ == "__main__":
    main(*sys.argv[1:])
