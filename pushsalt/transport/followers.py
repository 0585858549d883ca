"""The keeper's side of the process that evaluates beacons: tells it the connections, and notes what it evaluates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from pushsalt.transport import lease


class Followers:
    """The processes that follow the connections; usually one. ``connections``: id -> a number that a change changes."""

    def __init__(self, connections: Callable[[], Mapping[str, int]]) -> None:
        self._connections = connections
        self._changed: set[asyncio.Event] = set()
        #: id -> names of the beacons that are evaluated, and the error if they cannot be
        self.beacons: dict[str, tuple[list[str], str]] = {}

    def tell(self) -> None:
        """Tell the followers the connections again, if they have changed."""
        for changed in self._changed:
            changed.set()

    async def follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, done: asyncio.Event) -> None:
        """Serve a follower until it ends, or until ``done`` is set."""
        changed = asyncio.Event()
        self._changed.add(changed)
        reported: dict[str, int] | None = None
        ends = [asyncio.ensure_future(self._note(reader)), asyncio.ensure_future(done.wait())]
        try:
            while not any(end.done() for end in ends):
                changed.clear()
                targets = dict(self._connections())
                if targets != reported:
                    reported = targets
                    writer.write(lease.message(b"!", targets=targets))
                    await writer.drain()
                waiting = asyncio.ensure_future(changed.wait())
                await asyncio.wait({waiting, *ends}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
        finally:
            self._changed.discard(changed)
            self.beacons.clear()
            for end in ends:
                end.cancel()

    async def _note(self, reader: asyncio.StreamReader) -> None:
        """Note the beacons that a follower evaluates, until it ends."""
        while (frame := await lease.read(reader)) is not None:
            values = lease.values(frame[2])
            self.beacons[str(values["id"])] = [str(name) for name in values["names"]], str(values["error"])
