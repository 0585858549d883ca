"""Logging for built-in modules: the methods of ``logging.Logger`` without the cost of importing ``logging``.

    from thin.log import getLogger
    log = getLogger(__name__)

The worker sets ``sink`` and ``level``; lines at or above the level are sent to the controller. Without a sink (on the
controller, in tests) they go to the standard ``logging``. If users' modules import ``logging``, the worker adds a
handler to it.
"""

TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL = 5, 10, 20, 30, 40, 50
NAMES = {TRACE: "TRACE", DEBUG: "DEBUG", INFO: "INFO", WARNING: "WARNING", ERROR: "ERROR", CRITICAL: "CRITICAL"}

level = WARNING
sink = None  # callable(level name, text)


def number(name, default=WARNING):
    """The number of a level's name (``debug``, ``quiet`` …), one of Salt's ``log_level``."""
    if name == "quiet":
        return CRITICAL + 1
    if name in ("all", "garbage"):
        return 1
    return {value.lower(): key for key, value in NAMES.items()}.get(str(name).lower(), default)


class Logger(object):
    """A logger that formats arguments into the text only if the level is enabled."""

    def __init__(self, name):
        self.name = name

    def isEnabledFor(self, severity):
        return severity >= level if sink is not None else _std(self.name).isEnabledFor(severity)

    def log(self, severity, text, *args, **kwargs):
        """Log one line. ``exc_info`` adds the traceback; ``exc_info_on_loglevel`` adds it at that level or below."""
        if sink is None:
            accepted = {key: kwargs[key] for key in ("exc_info", "extra") if key in kwargs}
            _std(self.name).log(severity, text, *args, **accepted)
            return
        if severity < level:
            return
        trace = kwargs.get("exc_info") or level <= kwargs.get("exc_info_on_loglevel", 0)
        sink(NAMES.get(severity, str(severity)), _format(text, args) + (_traceback() if trace else ""))

    def trace(self, text, *args, **kwargs):
        self.log(TRACE, text, *args, **kwargs)

    def debug(self, text, *args, **kwargs):
        self.log(DEBUG, text, *args, **kwargs)

    def info(self, text, *args, **kwargs):
        self.log(INFO, text, *args, **kwargs)

    def warning(self, text, *args, **kwargs):
        self.log(WARNING, text, *args, **kwargs)

    warn = warning

    def error(self, text, *args, **kwargs):
        self.log(ERROR, text, *args, **kwargs)

    def exception(self, text, *args, **kwargs):
        kwargs.setdefault("exc_info", True)
        self.log(ERROR, text, *args, **kwargs)

    def critical(self, text, *args, **kwargs):
        self.log(CRITICAL, text, *args, **kwargs)

    fatal = critical


def getLogger(name=""):
    return Logger(name)


def adopt():
    """Add a handler that calls ``sink`` to the standard ``logging``, if a user's module has imported it."""
    import sys

    logging = sys.modules.get("logging")
    if logging is None or sink is None or getattr(logging, "_adopted", False):
        return
    logging._adopted = True

    class Handler(logging.Handler):
        def emit(self, record):
            if sink is not None:  # the session may be over
                sink(record.levelname, self.format(record))

    logging.root.handlers[:] = [Handler()]
    logging.root.setLevel(level)


def _format(text, args):
    if not args:
        return str(text)
    if len(args) == 1 and isinstance(args[0], dict) and args[0]:
        args = args[0]
    try:
        return str(text) % args
    except (TypeError, ValueError, KeyError):
        return "%s %r" % (text, args)


def _traceback():
    import sys
    import traceback

    return "\n" + traceback.format_exc() if sys.exc_info()[0] else ""


def _std(name):
    import logging

    return logging.getLogger(name)
