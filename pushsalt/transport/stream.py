"""Common parts of streams: bytes that arrive by callback and are read by a coroutine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

STDERR_KEPT = 64 * 1024
#: Bytes waiting to be read before the peer is no longer read from.
HIGH_WATER = 1024 * 1024


class Inbox:
    """Bytes from a peer, for one reader. ``pause`` and ``resume`` are called as it fills and empties."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause, self._resume = pause, resume
        self._pieces: list[bytes] = []
        self._size = 0
        self._paused = False
        self._ended = False
        self._error: Exception | None = None
        self._arrived = asyncio.Event()

    def feed(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        self._arrived.set()
        if self._size > HIGH_WATER and not self._paused:
            self._paused = True
            self._pause()

    def end(self, error: Exception | None = None) -> None:
        """End the stream: the reader gets the buffered bytes, then the error or the end."""
        if not self._ended:
            self._ended, self._error = True, error
            self._arrived.set()

    async def read(self) -> bytes:
        while not self._pieces:
            if self._ended:
                if self._error is not None:
                    raise self._error
                return b""
            self._arrived.clear()
            await self._arrived.wait()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces, self._size = [], 0
        if self._paused:
            self._paused = False
            self._resume()
        return data


class Gate:
    """Flow control: the gate is closed while the peer accepts no bytes; writers wait until it is open."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def wait(self) -> None:
        await self._open.wait()


def keep_tail(kept: bytearray, data: bytes) -> None:
    """Append to the buffer of stderr; its beginning is dropped if it exceeds the limit."""
    kept += data
    if len(kept) > STDERR_KEPT:
        del kept[: len(kept) - STDERR_KEPT]
