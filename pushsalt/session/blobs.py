"""Sends blobs to a target in pieces, one blob at a time; at most a few pieces are in memory."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, BinaryIO

from pushsalt.errors import PushsaltError
from pushsalt.model import Blob
from thin import wire

log = logging.getLogger(__name__)


class Sender:
    """``write`` queues a frame (kind, payload); ``drain`` waits until the queue is short."""

    def __init__(self, write: Callable[[bytes, bytes], None], drain: Callable[[], Awaitable[None]]) -> None:
        self._write, self._drain = write, drain
        # The pieces of two blobs must not interleave: the target assembles one blob at a time.
        self._turn = asyncio.Lock()

    async def send(self, blob: Blob, part: Any = None) -> None:
        """Send all pieces of the blob, then an empty piece as the end mark.

        ``part`` describes the beginning that the target already has: ``[bytes, their SHA-256]``. If the blob begins
        with it, only the rest is sent.
        A file that changed after it was digested, or that cannot be read any more, is sent incompletely or with other
        content: the target detects that by the digest, and the reason is logged here.
        """
        name = bytes.fromhex(blob.digest)
        async with self._turn:
            try:
                at = await asyncio.to_thread(_begins, blob, part)
                if at:
                    self._write(b"M", wire.pack({"k": "resume", "digest": blob.digest, "at": at}))
                async for piece in _pieces(blob, at):
                    if piece:  # an empty piece is the end mark
                        self._write(b"B", name + piece)
                        await self._drain()
            except (OSError, PushsaltError, _ChangedError) as exc:
                log.warning("%s cannot be sent: %s", blob.path or "rendered text", exc)
            self._write(b"B", name)
            await self._drain()


class _ChangedError(Exception):
    pass


def _begins(blob: Blob, part: Any) -> int:
    """How many leading bytes the target has: the size in ``part``, if its digest is that of the blob's beginning."""
    match part:
        case [int(size), str(digest)] if blob.data is None and 0 < size <= blob.size:
            hasher = hashlib.sha256()
            with (blob.open or _file(blob))() as stream:
                left = size
                while left and (piece := stream.read(min(left, 1024 * 1024))):
                    hasher.update(piece)
                    left -= len(piece)
            return size if not left and hasher.hexdigest() == digest else 0
    return 0


async def _pieces(blob: Blob, skip: int = 0) -> AsyncIterator[bytes]:
    """The pieces of the blob after its first ``skip`` bytes."""
    if blob.data is not None:
        for at in range(skip, len(blob.data), wire.BLOB_PIECE):
            yield blob.data[at : at + wire.BLOB_PIECE]
        return
    if blob.size <= wire.BLOB_PIECE and not skip:
        yield await asyncio.to_thread(_whole, blob)
        return
    stream = await asyncio.to_thread(blob.open or _file(blob))
    try:
        digest = hashlib.sha256()
        held = b""
        while True:
            piece = await asyncio.to_thread(stream.read, min(wire.BLOB_PIECE, skip) or wire.BLOB_PIECE)
            # The last piece is sent only after the digest was verified: a changed file never arrives complete.
            if piece:
                digest.update(piece)
            elif digest.hexdigest() != blob.digest:
                raise _ChangedError("it has changed since the run began")
            if held:
                yield held
            if not piece:
                return
            held = b"" if skip else piece
            skip -= min(skip, len(piece))
    finally:
        stream.close()


def _whole(blob: Blob) -> bytes:
    """The whole content of a small blob."""
    with (blob.open or _file(blob))() as stream:
        data = stream.read(wire.BLOB_PIECE + 1)
    if hashlib.sha256(data).hexdigest() != blob.digest:
        raise _ChangedError("it has changed since the run began")
    return data


def _file(blob: Blob) -> Callable[[], BinaryIO]:
    """A function that opens the blob's path without blocking, in case a FIFO has replaced the file."""
    path = blob.path
    assert path is not None
    return lambda: os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
