"""Reads the stream of returns, of one job or of one site's part of it, and other streams."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator
from typing import Final

from pushsalt.errors import CommandError
from pushsalt.workers import connection as nats
from pushsalt.workers import names
from pushsalt.workers.connection import Connection, Pull

log = logging.getLogger(__name__)

#: Messages per request, and seconds after which the server forgets a consumer that nobody asks.
_BATCH: Final = 500
_IDLE: Final = 120.0


class Reader:
    """The messages of a subject in their order, each once, from a number on, also if the server was away."""

    def __init__(
        self,
        connection: Connection,
        subject: str,
        start: int,
        owner: str = "c",
        stream: str = names.RETURNS_STREAM,
    ) -> None:
        """``start``: the number of the first message. ``owner``: the beginning of the consumer's name."""
        self._stream = stream
        self._connection = connection
        self._subject = subject
        self._owner = owner
        #: number of the last message that was read
        self.seen = start - 1
        self._consumer = ""
        #: number of messages that the consumer has delivered; it does not deliver a message again
        self._delivered = 0
        self._pull: Pull | None = None
        #: the time at which the last message that was read was stored, in seconds since the epoch
        self.time = 0.0
        #: number of messages that were there when the consumer was created
        self.there = 0

    async def open(self) -> None:
        """Create the consumer, after the last message that was read. Raises ServerError."""
        from nats.js import api

        await self.close()
        self._consumer = f"{self._owner}-{secrets.token_hex(8)}"
        config = api.ConsumerConfig(
            name=self._consumer,
            filter_subject=self._subject,
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, self.seen + 1),
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=_IDLE,
        )
        with nats.explained("the returns cannot be read"):
            info = await self._connection.js.add_consumer(self._stream, config)
        self._delivered = 0
        self.there = int(info.num_pending or 0)
        self._pull = Pull(self._connection, self._stream, self._consumer)

    async def some(self, number: int = _BATCH, seconds: float = 10.0) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (subject, data) of messages that come within this time; 0: of those that are there.

        Raises ServerError.
        """
        if self._pull is None:
            await self.open()
        assert self._pull is not None
        try:
            async for message in self._pull.messages(number, seconds):
                at = message.metadata.sequence
                self._delivered += 1
                if int(at.consumer) != self._delivered:
                    raise LookupError("a message was lost")
                if int(at.stream) > self.seen:
                    self.seen, self.time = int(at.stream), message.metadata.timestamp.timestamp()
                    yield message.subject, message.data
            if self._pull.was_cut:
                raise LookupError("messages may have been lost with the connection")
        except LookupError:
            await asyncio.sleep(0.5)
            try:
                await self.open()
            except (CommandError, LookupError, OSError) as exc:
                log.debug("the returns cannot be read yet: %s", exc)

    async def close(self) -> None:
        """Remove the consumer."""
        if self._pull is not None:
            await self._pull.close()
            self._pull = None
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._connection.js.delete_consumer(self._stream, self._consumer), timeout=2.0)


async def read_all(
    connection: Connection, subject: str, owner: str = "c", start: int = 1, stream: str = names.RETURNS_STREAM
) -> AsyncIterator[tuple[str, bytes]]:
    """Yield (subject, data) of all messages of a subject that are stored now. Raises ServerError."""
    reader = Reader(connection, subject, start, owner, stream)
    await reader.open()
    try:
        left = reader.there
        while left > 0:
            got = 0
            async for each in reader.some(min(_BATCH, left), 5.0):
                got += 1
                yield each
            left -= got
            if not got:
                raise nats.ServerError("the returns that are stored cannot be read", "see the log of the NATS server")
    finally:
        await reader.close()
