"""Salt: ``salt/log``; the standard ``logging`` does it all here."""

import logging

__all__ = ["is_console_configured", "is_logging_configured", "logging"]


def is_logging_configured():
    return True


is_console_configured = is_logging_configured
