"""Two signals end a service: the first one lets running work finish, a second one ends the process."""

from __future__ import annotations

import asyncio
import os
import signal

from pushsalt.errors import EXIT_OK


def heed(stopped: asyncio.Event) -> None:
    """Set ``stopped`` at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process with exit code 0."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopped.is_set():
            os._exit(EXIT_OK)
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
