"""Writes log messages, mostly from templates. Salt: ``salt/modules/logmod.py``."""

from thin.log import getLogger

__virtualname__ = "log"
__controller__ = True
__usual__ = True
__reads__ = ("debug", "info", "warning", "error", "critical", "exception")

log = getLogger(__name__)


def __virtual__():
    return __virtualname__


def debug(message):
    """
    Log a line at the level debug
    """
    log.debug("%s", message)
    return True


def info(message):
    """
    Log a line at the level info
    """
    log.info("%s", message)
    return True


def warning(message):
    """
    Log a line at the level warning
    """
    log.warning("%s", message)
    return True


def error(message):
    """
    Log a line at the level error
    """
    log.error("%s", message)
    return True


def critical(message):
    """
    Log a line at the level critical
    """
    log.critical("%s", message)
    return True


def exception(message):
    """
    Log a line at the level error, with the current exception
    """
    log.exception("%s", message)
    return True
