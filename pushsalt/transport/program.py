"""Programs that transports start on the controller (a local target's shell, a ProxyCommand).

Each is ended and waited for. If one still ran when the event loop closes, asyncio would print a warning, and the
process would become a zombie.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, cast

from pushsalt.transport.stream import keep_tail

#: Seconds that a ProxyCommand has to end by itself after its connection was closed.
GRACE = 1.0
#: Seconds to wait for a killed program, which may run as another user (sudo) so that it cannot be signalled.
KILLED = 3.0


class Program(asyncio.SubprocessProtocol):
    """A child process; ``running`` has those that have not ended yet."""

    def __init__(self, running: set[Program]) -> None:
        self.gone = asyncio.Event()
        self.process: asyncio.SubprocessTransport | None = None
        self._running = running

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.process = cast(asyncio.SubprocessTransport, transport)
        self._running.add(self)

    def process_exited(self) -> None:
        self.gone.set()

    def signal(self, number: signal.Signals, send: Callable[[int, int], None] = os.kill) -> None:
        """Send it a signal, unless it has ended.

        asyncio's own methods are not used: they poll the process first, and may take the exit status from the task that
        waits for it.
        """
        if self.process is not None and not self.gone.is_set():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                send(self.process.get_pid(), number)

    def abort(self) -> None:
        """Kill it, and close its pipes."""
        self.signal(signal.SIGKILL)
        for fd in range(3):
            pipe = self.process.get_pipe_transport(fd) if self.process is not None else None
            if pipe is None or pipe.is_closing():
                continue
            if isinstance(pipe, asyncio.WriteTransport):
                pipe.abort()
            else:
                pipe.close()

    async def end(self) -> None:
        """Wait for the end of the program; it is killed if it does not end by itself."""
        self.abort()
        if self.process is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.gone.wait(), KILLED)
            self.forget()

    def forget(self) -> None:
        """Remove it from ``running``: it has ended, or cannot be signalled."""
        if self.process is not None:
            with contextlib.suppress(PermissionError):
                self.process.close()
        self._running.discard(self)


async def end_all(running: set[Program]) -> None:
    """End all programs that still run."""
    await asyncio.gather(*(program.end() for program in list(running)))


class ProxyCommand(Program):
    """The program of a ProxyCommand: the tunnel object for asyncssh, and the asyncio transport of its connection.

    asyncssh's own implementation does not end the program, and mixes its stderr into the SSH stream.
    """

    def __init__(self, words: Sequence[str], running: set[Program]) -> None:
        super().__init__(running)
        self.stderr = bytearray()
        self._words = words
        self._connection: Any = None

    async def create_connection(self, factory: Callable[[], Any], host: str, port: int) -> tuple[ProxyCommand, Any]:
        """As asyncssh calls it. Raises OSError when the program cannot be started."""
        self._connection = factory()
        await asyncio.get_running_loop().subprocess_exec(lambda: self, *self._words, start_new_session=True)
        return self, self._connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connection.connection_made(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._connection.data_received(data)
        else:
            keep_tail(self.stderr, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._connection.connection_lost(exc)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes) -> None:
        assert self.process is not None
        pipe = cast(asyncio.WriteTransport, self.process.get_pipe_transport(0))
        if not pipe.is_closing():
            pipe.write(data)

    def close(self) -> None:
        """Close stdin after sending buffered data; most programs end by themselves then."""
        pipe = self.process.get_pipe_transport(0) if self.process is not None else None
        if pipe is not None:
            pipe.close()

    def abort(self) -> None:
        """Called by asyncssh at the end of every connection, also of one that ends normally."""
        self.close()

    async def wait_closed(self) -> None:
        await self.gone.wait()

    async def end(self) -> None:
        """Send SIGHUP to the program and all that its shell has started, as OpenSSH does; kill it if it goes on."""
        self.close()
        self.signal(signal.SIGHUP, os.killpg)
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.gone.wait(), GRACE)
        finally:
            self.signal(signal.SIGKILL, os.killpg)
        super().abort()
        await super().end()
