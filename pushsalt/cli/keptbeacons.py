"""The process that evaluates the beacons of a kept session (``pushsalt.watch.keptbeacons``), one for each session.

A command that uses the session starts it when it finds that a target has beacons.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import signal
import sys
from typing import Final

from pushsalt.cli.options import GLOBAL, LOGIN, Given

#: The options of the command that this process uses, too.
OPTIONS: Final = tuple(
    opt.name for opt in (*GLOBAL, *LOGIN) if opt.name not in ("session", "log_file", "log_file_level")
)


def lock(path: str) -> int | None:
    """Take the lock that allows one process per session; None if another process has it, or it cannot be taken."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def main() -> None:
    """Entry point, with the arguments ``LOCK SOCKET OPTIONS``. OPTIONS: values of ``Given``, as JSON."""
    path, socket, options = sys.argv[1:4]
    if lock(path) is None:
        return
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logging.getLogger().setLevel(logging.CRITICAL)  # there is no one to read them: errors are in `session list`
    asyncio.run(_serve(Given(json.loads(options)), socket))


async def _serve(given: Given, socket: str) -> None:
    from pushsalt.api import Client
    from pushsalt.log import DEFAULT_LEVEL
    from pushsalt.transport.brokered import GuestKeeper
    from pushsalt.watch.clients import Clients
    from pushsalt.watch.keptbeacons import serve
    from pushsalt.workers.jobevents import open_journal

    client = Client(given.settings())
    client.project.keeper = GuestKeeper(socket)
    journal = open_journal(client.project)
    try:
        await serve(socket, Clients(client, given.job(DEFAULT_LEVEL)), journal)
    finally:
        journal.close()
