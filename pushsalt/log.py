"""Log lines as Salt writes them, ``[WARNING ] text``, to stderr; secrets and control characters do not show.

Records that come before the level is known (it may stand in the configuration) wait until ``configure``.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
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
#: Libraries that log more than anybody asked for: they say theirs from one level further down.
_CHATTY = ("asyncio", "asyncssh", "git", "markdown_it")
_BACKLOG_LIMIT = 1000


def level_number(name: str) -> int:
    """The number of a level's name. Raises UsageError naming the levels."""
    try:
        return LEVELS[name.strip().lower()]
    except KeyError:
        raise UsageError(f"there is no log level {name!r}", hint=f"the levels are {', '.join(LEVELS)}") from None


class Handler(logging.Handler):
    """Writes records to ``write``, or keeps them until the level is known."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.write: Callable[[str], None] = _to_stderr
        self.redactor: Redactor | None = None
        self.waiting: list[logging.LogRecord] | None = []

    def emit(self, record: logging.LogRecord) -> None:
        if self.waiting is not None:
            if len(self.waiting) < _BACKLOG_LIMIT:
                self.waiting.append(record)
            return
        try:
            self.write(self.format(record))
        except Exception:  # a log line is never worth a crash
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        pass

    def format(self, record: logging.LogRecord) -> str:
        from pushsalt.display.safe import escape

        text = record.getMessage()
        if record.exc_info and record.exc_info[0] and logging.getLogger().isEnabledFor(logging.DEBUG):
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        if self.redactor is not None:
            text = self.redactor.text(text)
        # Further lines are indented: no text can look like a log line of its own.
        shown = escape(text).rstrip("\n").replace("\n", "\n    ")
        return f"[{record.levelname:<8}] {shown}\n"


def _to_stderr(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def install() -> Handler:
    """Makes the root logger write through our handler, which waits for ``configure``. Once per process."""
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
    """Sets the level and lets out what has waited. May be called again, to change the level."""
    number = level_number(level)
    logging.getLogger().setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(number if number <= LEVELS["trace"] else max(number, logging.WARNING))
    waiting, handler.waiting = handler.waiting or [], None
    for record in waiting:
        if record.levelno >= number:
            handler.emit(record)
