"""Logging to stderr in Salt's format, ``[WARNING ] text``, without secrets and control characters.

Records are buffered until ``configure`` sets the level, which may come from the configuration.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.redact import Redactor

#: Salt's level names and numbers.
LEVELS = {
    "all": 1,
    "garbage": 1,
    "trace": 5,
    "debug": logging.DEBUG,
    "profile": 15,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "quiet": 1000,
}
DEFAULT_LEVEL = "warning"
#: Verbose libraries; their records are logged one level lower.
_CHATTY = ("asyncio", "asyncssh", "git", "markdown_it")
_BACKLOG_LIMIT = 1000


def level_number(name: str) -> int:
    """The number of a level's name. Raises UsageError naming the levels."""
    try:
        return LEVELS[name.strip().lower()]
    except KeyError:
        raise UsageError(f"there is no log level {name!r}", hint=f"the levels are {', '.join(LEVELS)}") from None


class LogFile:
    """A file of log lines in Salt's format, with times, that only its owner can read. Raises UsageError."""

    def __init__(self, path: Path, level: str | None = None) -> None:
        """``level``: None for the level of the terminal."""
        self.path = path
        self.level = None if level is None else level_number(level)
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
            self._fd = os.open(path, flags, 0o600)
        except OSError as exc:
            raise UsageError(f"--log-file: {path}: {exc.strerror}", hint="name a file that can be written") from None
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            os.close(self._fd)
            raise UsageError(f"--log-file: {path} is not a regular file", hint="name a file that can be written")
        try:
            if os.fstat(self._fd).st_mode & 0o077:  # it was there before
                os.fchmod(self._fd, 0o600)
        except OSError as exc:
            os.close(self._fd)
            raise UsageError(
                f"--log-file: others can read {path}, and its mode cannot be changed: {exc.strerror}",
                hint="name a file of your own, or a new one",
            ) from None

    def write(self, record: logging.LogRecord, text: str) -> None:
        """Write one record with an escaped text. Lines of processes that share the file do not interleave."""
        id = getattr(record, "target", "")
        if id and not text.startswith(f"{id}: "):
            text = f"{id}: {text}"
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created)) + f",{int(record.msecs):03d}"
        place = f"[{record.name:<17}:{record.lineno:<4}][{record.levelname:<8}][{record.process}]"
        os.write(self._fd, f"{when} {place} {text}\n".encode("utf-8", "backslashreplace"))


class Handler(logging.Handler):
    """Passes records to ``write`` as soon as the level is set, and to ``file``."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.write: Callable[[str], None] = _to_stderr
        self.redactor: Redactor | None = None
        self.waiting: list[logging.LogRecord] | None = []
        self.file: LogFile | None = None
        #: the level of shown records
        self.shown = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self.waiting is not None:
            if len(self.waiting) < _BACKLOG_LIMIT:
                self.waiting.append(record)
            return
        try:
            text = self.text(record)
            if record.levelno >= self.shown:
                self.write(f"[{record.levelname:<8}] {text}\n")
            if self.file is not None and record.levelno >= (self.shown if self.file.level is None else self.file.level):
                self.file.write(record, text)
        except Exception:  # a log line that cannot be written must not end the program
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        pass

    def format(self, record: logging.LogRecord) -> str:
        return f"[{record.levelname:<8}] {self.text(record)}\n"

    def text(self, record: logging.LogRecord) -> str:
        """The text of a record, without secrets and control characters."""
        from pushsalt.display.safe import escape

        text = record.getMessage()
        if record.exc_info and record.exc_info[0] and logging.getLogger().isEnabledFor(logging.DEBUG):
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        if self.redactor is not None:
            text = self.redactor.text(text)
        # Continuation lines are indented, so that no text can imitate a log line.
        return escape(text).rstrip("\n").replace("\n", "\n    ")


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def install() -> Handler:
    """Add our handler to the root logger, once per process. It buffers records until ``configure``."""
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, Handler):
            return handler
    for name, number in LEVELS.items():
        if name not in ("all", "quiet"):
            logging.addLevelName(number, name.upper())
    handler = Handler()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    return handler


def configure(handler: Handler, level: str) -> None:
    """Set the level and write buffered records. May be called again, to change the level."""
    handler.shown = number = level_number(level)
    if handler.file is not None and handler.file.level is not None:
        number = min(number, handler.file.level)
    logging.getLogger().setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(number if number <= LEVELS["trace"] else max(number, logging.WARNING))
    waiting, handler.waiting = handler.waiting or [], None
    for record in waiting:
        if record.levelno >= number:
            handler.emit(record)
