"""What runs on this machine, from /proc."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def running(text: str | list[str], name: str = "cmdline") -> list[int]:
    """Processes whose ``/proc/PID/cmdline`` (or ``environ``) has this text, or is just these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            data = (path / name).read_bytes()
        except OSError:
            continue
        if isinstance(text, list):
            there = data == b"".join(word.encode() + b"\0" for word in text)
        else:
            there = text.encode() in data.replace(b"\0", b" ")
        if there:
            found.append(int(path.name))
    return found


def wait_until(what: Callable[[], object], seconds: float = 20) -> None:
    """Wait until it is true; fails when it never is."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)
