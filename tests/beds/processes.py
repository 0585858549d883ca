"""The processes of this machine, from /proc."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path


def running(text: str | list[str], name: str = "cmdline") -> list[int]:
    """Ids of processes whose ``/proc/PID/cmdline`` (or ``environ``) contains a text, or equals a list of words."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            data = (path / name).read_bytes()
        except OSError:
            continue
        if isinstance(text, list):
            matches = data == b"".join(word.encode() + b"\0" for word in text)
        else:
            matches = text.encode() in data.replace(b"\0", b" ")
        if matches:
            pids.append(int(path.name))
    return pids


def children(pid: int) -> list[int]:
    """The ids of the living child processes of a process."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                pids.append(int(path.parent.name))
    return pids


def cmdline(pid: int) -> bytes:
    """The command line of a process; empty if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def listens(path: Path) -> bool:
    """Whether a server accepts connections at a socket; its file exists a moment before."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def is_alive(pid: int) -> bool:
    """Whether a process runs: it exists, and is no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def leads_session(pid: int) -> bool:
    """Whether the process is a session leader; False if it has ended."""
    with contextlib.suppress(OSError):
        return os.getsid(pid) == pid
    return False


def wait_until(what: Callable[[], object], seconds: float = 20) -> None:
    """Wait until the condition is true; fails after a time limit."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.02)


class Watch(threading.Thread):
    """Inspects every process repeatedly while it is entered: ``seen`` has (what, name, command) of each find."""

    def __init__(self, words: dict[str, bytes]) -> None:
        super().__init__(daemon=True)
        self.words = words
        self.seen: set[tuple[str, str, bytes]] = set()
        self.rounds = 0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    command = (process / "cmdline").read_bytes()
                    self._look("arguments", command, command)
                    self._look("environment", (process / "environ").read_bytes(), command)
            self.rounds += 1

    def _look(self, what: str, data: bytes, command: bytes) -> None:
        self.seen.update((what, name, command) for name, word in self.words.items() if word in data)

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()
        assert self.rounds > 3
