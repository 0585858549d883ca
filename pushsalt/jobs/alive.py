"""Whether the process that runs a job is still there: a mark of it that no later process has."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Final

#: In place of a mark: the process has left the job's runs to themselves.
LEFT: Final = "left"


def mark_of(pid: int) -> str:
    """``HOST BOOT PID BEGIN``: the process, as long as it lives; BEGIN is empty where there is no /proc."""
    return f"{socket.gethostname()} {_boot()} {pid} {_begin(pid)}"


def is_gone(mark: str) -> bool:
    """Whether the process of a mark is gone for sure. What runs on another machine cannot be known."""
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
    """When the process began, in ticks after the boot; empty if there is none, or it has ended and is not reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
