"""Checks whether the process that runs a job still exists, by a mark that no later process has."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

#: Instead of a mark: the job's runs were detached from their process.
LEFT: Final = "left"


def mark_of(pid: int) -> str:
    """The mark ``HOST BOOT PID BEGIN``, which identifies a running process; BEGIN is empty if there is no /proc."""
    return f"{socket.gethostname()} {_boot()} {pid} {_begin(pid)}"


def is_gone(mark: str) -> bool:
    """Whether the process of a mark has certainly ended. False for a process of another machine."""
    host, boot, pid, begin = (*mark.split(" "), "", "", "", "")[:4]
    if host != socket.gethostname() or not pid.isdigit():
        return False
    if boot != _boot():
        return True
    if Path("/proc/self/stat").exists():
        return not begin or _begin(int(pid)) != begin
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _begin(pid: int) -> str:
    """The start time of a process, in ticks after the boot; empty if there is no such process, or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
