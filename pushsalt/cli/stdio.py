"""Writing to stdout and stderr, which may be closed, or full, or a pipe without reader.

``Stdout`` stores errors instead of raising: the run continues, and the exit code is not 0 then. This module has few
imports, since ``--version`` needs no more.
"""

from __future__ import annotations

import errno
import os
import sys
from contextvars import ContextVar

# typing would delay the client of a broker
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from pushsalt.log import Handler


def open_missing() -> None:
    """Open /dev/null on those of the descriptors 0, 1 and 2 that are closed, so that no socket or file gets their
    number.
    """
    while True:
        number = os.open(os.devnull, os.O_RDWR)
        if number > 2:
            os.close(number)
            return


READER_GONE = "the reader of stdout has ended"


class Stdout:
    """The process's stdout. ``trouble`` is the error of a failed write, or empty."""

    def __init__(self) -> None:
        self.trouble = "stdout is closed" if sys.stdout is None else ""
        self._own: TextIO | None = None

    @property
    def _stream(self) -> TextIO:
        return self._own or sys.stdout

    def keep_to_itself(self) -> None:
        """After this only ``write`` writes to stdout: output of plug-ins and their programs goes to stderr.

        Does nothing if a caller in the same process has replaced stdout.
        """
        stream = sys.__stdout__
        if self.trouble or self._own is not None or stream is None or sys.stdout is not stream or stream.fileno() != 1:
            return
        try:
            stream.flush()
            self._own = open(os.dup(1), "w", encoding=stream.encoding, errors=stream.errors, closefd=False)  # noqa: SIM115
            os.dup2(2, 1)
        except OSError as exc:
            self.failed(exc)
        sys.stdout = sys.stderr

    @property
    def is_terminal(self) -> bool:
        return not self.trouble and self._stream.isatty()

    def write(self, text: str, *, utf8: bool = False) -> None:
        """Write and flush ``text``; with ``utf8`` always in UTF-8. Does not raise for errors of stdout."""
        if self.trouble or not text:
            return
        stream = self._stream
        encoding = "utf-8" if utf8 else stream.encoding or "utf-8"
        data = text.encode(encoding, "backslashreplace")
        try:
            buffer = getattr(stream, "buffer", None)
            if buffer is None:  # sys.stdout was replaced by an object that accepts text only
                stream.write(data.decode(encoding))
            else:
                stream.flush()
                buffer.write(data)
            stream.flush()
        except (OSError, ValueError) as exc:
            self.failed(exc)

    def failed(self, exc: Exception) -> None:
        """Store the error, and prevent Python from writing again at exit."""
        self.trouble = getattr(exc, "strerror", None) or str(exc)
        if getattr(exc, "errno", None) == errno.EPIPE:
            self.trouble = READER_GONE
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1 if self._own is None else self._own.fileno())
            os.close(null)
        except OSError:
            pass


class Terminal:
    """The stdout and the log of one invocation."""

    def __init__(self, log: Handler, stdout: Stdout) -> None:
        self.log = log
        self.stdout = stdout

    @property
    def color(self) -> bool:
        """Whether output on stdout is coloured."""
        return color_wanted(self.stdout.is_terminal)


#: The invocation's stdout and log, set by main().
TERMINAL: ContextVar[Terminal] = ContextVar("terminal")


def final_code(code: int, stdout: Stdout) -> int:
    """The exit code, not 0 if output could not be written; reports the error unless the reader closed a pipe."""
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
    """Write text to stderr; errors are ignored."""
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
    """Whether to use colours: on terminals that support them; https://no-color.org, https://force-color.org."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and os.environ.get("TERM", "") != "dumb")
