"""The progress of a fetch as a short text; GitPython parses git's output."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

# Without git the import of GitPython would fail with GitPython's own error.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

import git
from git import RemoteProgress

__all__ = ["Listener", "git"]

#: Seconds between two progress texts of one remote, since git reports each percent.
_PAUSE: Final = 0.1
_WORDS: Final = {
    RemoteProgress.COUNTING: "counting",
    RemoteProgress.COMPRESSING: "compressing",
    RemoteProgress.RECEIVING: "receiving",
    RemoteProgress.RESOLVING: "resolving",
    RemoteProgress.FINDING_SOURCES: "counting",
}


class Listener(RemoteProgress):  # type: ignore[misc, unused-ignore]
    """``line`` is called with git's output; it calls ``say`` with texts like ``receiving 42 %, 1.2 MiB``."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        super().__init__()
        self._say = say
        self._last = 0.0
        self.line: Callable[[str], None] = self.new_message_handler()

    def update(
        self, op_code: int, cur_count: str | float, max_count: str | float | None = None, message: str | None = ""
    ) -> None:
        word = _WORDS.get(op_code & self.OP_MASK)
        now = time.monotonic()
        if self._say and word and now - self._last >= _PAUSE:
            self._last = now
            share = f" {100 * float(cur_count or 0) / float(max_count):.0f} %" if max_count else ""
            volume = f", {message.split('|')[0].strip()}" if message else ""
            self._say(f"{word}{share}{volume}")
