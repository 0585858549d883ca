"""Sends blobs to a target: in pieces, one blob after the other, never more in memory than a few pieces."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import BinaryIO

from pushsalt.errors import PushsaltError
from pushsalt.model import Blob
from thin import wire

log = logging.getLogger(__name__)


class Sender:
    """``write`` queues a frame's kind and payload, ``drain`` waits until little is queued."""

    def __init__(self, write: Callable[[bytes, bytes], None], drain: Callable[[], Awaitable[None]]) -> None:
        self._write, self._drain = write, drain
        # The pieces of two blobs never mix: the target puts together one at a time.
        self._turn = asyncio.Lock()

    async def send(self, blob: Blob) -> None:
        """Send all pieces and the empty one that ends them.

        A file that has changed since it was digested, or cannot be read any more, ends early or differs: the target
        sees by the digest that it is not what was asked for, and the reason is logged here.
        """
        name = bytes.fromhex(blob.digest)
        async with self._turn:
            try:
                async for piece in _pieces(blob):
                    self._write(b"B", name + piece)
                    await self._drain()
            except (OSError, PushsaltError, _ChangedError) as exc:
                log.warning("%s cannot be sent: %s", blob.path or "rendered text", exc)
            self._write(b"B", name)
            await self._drain()


class _ChangedError(Exception):
    pass


async def _pieces(blob: Blob) -> AsyncIterator[bytes]:
    if blob.data is not None:
        for at in range(0, len(blob.data), wire.BLOB_PIECE):
            yield blob.data[at : at + wire.BLOB_PIECE]
        return
    stream = await asyncio.to_thread(blob.open or _file(blob))
    try:
        digest = hashlib.sha256()
        held = b""
        while True:
            piece = await asyncio.to_thread(stream.read, wire.BLOB_PIECE)
            # One piece is held back until the whole is known to be right: what changed never arrives complete.
            if piece:
                digest.update(piece)
            elif digest.hexdigest() != blob.digest:
                raise _ChangedError("it has changed since the run began")
            if held:
                yield held
            if not piece:
                return
            held = piece
    finally:
        stream.close()


def _file(blob: Blob) -> Callable[[], BinaryIO]:
    """Opens the blob's path; never waits for a FIFO that took its place."""
    path = blob.path
    assert path is not None
    return lambda: os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
