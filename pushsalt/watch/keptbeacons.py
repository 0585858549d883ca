"""The beacons of a kept session: those of the targets with which the session keeps connections.

The keeper (``pushsalt.transport.keeper``) tells this process with which targets it has connections, and lends them for
further channels. The process ends with the keeper, and when none of these targets has beacons for some time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from pushsalt.broker.client import connected
from pushsalt.transport import lease
from pushsalt.watch.beacons import Beacons, Evaluation

if TYPE_CHECKING:
    from pushsalt.journal.interface import EventJournal
    from pushsalt.watch.clients import Clients

#: Seconds to wait for a keeper that is being started, and between two attempts.
_START: Final = 30.0
_PAUSE: Final = 0.1
#: Seconds without beacons after which the process ends; a later command starts it again.
_IDLE: Final = 30.0
#: Seconds to wait for further changes of the connections.
_SETTLE: Final = 0.3


class _Connections:
    """The connections that the keeper has: id -> number of times that one was given back."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.targets: dict[str, int] = {}
        self.has_ended = False
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while (frame := await lease.read(reader)) is not None:
                self.targets = dict(lease.values(frame[2])["targets"])
                self._changed.set()
        finally:
            self.has_ended = True
            self._changed.set()

    async def change(self) -> bool:
        """Wait for a change, and for those that follow shortly after. Returns False if there was none for a time."""
        try:
            await asyncio.wait_for(self._changed.wait(), _IDLE)
        except asyncio.TimeoutError:
            return False
        if not self.has_ended:
            await asyncio.sleep(_SETTLE)
        self._changed.clear()
        return True

    def close(self) -> None:
        self._task.cancel()


async def serve(path: str, clients: Clients, journal: EventJournal) -> None:
    """Evaluate beacons until the keeper with the socket ``path`` ends, or no target has beacons."""
    opened = await _opened(path)
    if opened is None:
        return
    reader, writer = opened

    def tell(id: str, names: list[str], error: str = "") -> None:
        writer.write(lease.message(b"b", id=id, names=names, error=error))

    connections = _Connections(reader)
    evaluation = Evaluation(
        lambda: list(connections.targets),
        started=tell,
        failed=lambda id, text: tell(id, [], text),
        own_connections=False,
        unknown_pillar=True,
    )
    beacons = Beacons(clients, journal, evaluation)
    project = clients.client.project
    project.pool.start()
    await project.prepare(asyncio.Event())
    writer.write(lease.message(b"f"))
    try:
        while not connections.has_ended:
            was_idle = beacons.is_idle
            if await connections.change():
                await beacons.update()
            elif was_idle and beacons.is_idle:
                break
    finally:
        await beacons.close()
        await clients.close()
        connections.close()
        writer.close()


async def _opened(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    """A connection to the keeper; None if it does not start."""
    for _ in range(int(_START / _PAUSE)):
        try:
            sock = await asyncio.to_thread(connected, path)
        except OSError:
            sock = None
        if sock is not None:
            sock.setblocking(False)
            return await asyncio.open_unix_connection(sock=sock)
        await asyncio.sleep(_PAUSE)
    return None
