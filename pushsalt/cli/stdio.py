"""Writing to stdout and stderr, which may be closed, full, or a reader that has left.

``Stdout`` keeps the trouble as a value: the work of a run goes on, and the exit code is never 0 then. This module
imports next to nothing: ``--version`` needs no more.
"""

from __future__ import annotations

import errno
import os
import sys
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pushsalt.log import Handler


def open_missing() -> None:
    """Puts /dev/null on descriptors 0, 1 and 2 where they are closed: no socket or cache file may get their number."""
    while True:
        number = os.open(os.devnull, os.O_RDWR)
        if number > 2:
            os.close(number)
            return


READER_GONE = "the reader of stdout is gone"


class Stdout:
    """The process's stdout. ``trouble`` says why something could not be written, or is empty."""

    def __init__(self) -> None:
        self.trouble = "stdout is closed" if sys.stdout is None else ""

    @property
    def is_terminal(self) -> bool:
        return not self.trouble and sys.stdout.isatty()

    def write(self, text: str, *, utf8: bool = False) -> None:
        """Writes and flushes ``text``; in UTF-8 whatever the locale if ``utf8``. Never raises over stdout's state."""
        if self.trouble or not text:
            return
        encoding = "utf-8" if utf8 else sys.stdout.encoding or "utf-8"
        data = text.encode(encoding, "backslashreplace")
        try:
            buffer = getattr(sys.stdout, "buffer", None)
            if buffer is None:  # replaced by something that takes text only
                sys.stdout.write(data.decode(encoding))
            else:
                sys.stdout.flush()
                buffer.write(data)
            sys.stdout.flush()
        except (OSError, ValueError) as exc:
            self.failed(exc)

    def failed(self, exc: Exception) -> None:
        """Notes the trouble, and keeps Python from trying again at exit."""
        self.trouble = getattr(exc, "strerror", None) or str(exc)
        if getattr(exc, "errno", None) == errno.EPIPE:
            self.trouble = READER_GONE
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)
        except OSError:
            pass


class Terminal:
    """What one invocation has in hand: its stdout and its log."""

    def __init__(self, log: Handler, stdout: Stdout) -> None:
        self.log = log
        self.stdout = stdout

    @property
    def color(self) -> bool:
        """Whether stdout wants colours."""
        return color_wanted(self.stdout.is_terminal)


#: The invocation's stdout and log, set by main().
TERMINAL: ContextVar[Terminal] = ContextVar("terminal")


def final_code(code: int, stdout: Stdout) -> int:
    """The exit code, never 0 when output could not be written. Says why, unless it is only a reader who left."""
    if not stdout.trouble:
        return code
    if stdout.trouble != READER_GONE:
        print_error(f"the output could not be written: {stdout.trouble}")
    return code or 1


def print_error(message: str, hint: str = "") -> None:
    """``error: message`` and ``hint: ...`` on stderr, escaped; in colour on a terminal."""
    from pushsalt.display.safe import escape

    color = color_wanted(stderr_is_terminal())
    for label, text, sgr in (("error", message, "1;31"), ("hint", hint, "1")):
        if text:
            write_stderr(f"\x1b[{sgr}m{label}:\x1b[0m {escape(text)}\n" if color else f"{label}: {escape(text)}\n")


def write_stderr(text: str) -> None:
    """Writes finished text to stderr; where that fails there is nobody to tell."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


def stderr_is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


#: Set by --no-color.
no_color = False


def color_wanted(is_terminal: bool) -> bool:
    """Whether colours are used: on terminals that know them; https://no-color.org, https://force-color.org."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and os.environ.get("TERM", "") != "dumb")
