"""Programs that transports start here (a local target's shell, a ProxyCommand): each is ended, and waited for.

One that is left behind when the event loop closes has nobody who takes its exit status: asyncio complains about that
to the user, and the process stays as a zombie.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, cast

from pushsalt.transport.stream import keep_tail

#: Seconds that a ProxyCommand has to end by itself once nobody needs it.
GRACE = 1.0
#: Seconds for one that was killed: it may belong to another user (sudo), whom no signal of ours reaches.
KILLED = 3.0


class Program(asyncio.SubprocessProtocol):
    """A child process; ``running`` are those that somebody still has to end."""

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

        Not by asyncio: that looks first whether the process still runs, and may so take the exit status from the one
        who waits for it.
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
        """Killed if it has not ended by itself, and waited for."""
        self.abort()
        if self.process is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.gone.wait(), KILLED)
            self.forget()

    def forget(self) -> None:
        """It has ended, or nothing of ours reaches it."""
        if self.process is not None:
            with contextlib.suppress(PermissionError):
                self.process.close()
        self._running.discard(self)


async def end_all(running: set[Program]) -> None:
    """End those that nobody has ended."""
    await asyncio.gather(*(program.end() for program in list(running)))


class ProxyCommand(Program):
    """The program of a ProxyCommand: the tunnel that asyncssh asks for a connection, and that connection's transport.

    asyncssh's own leaves the program behind, and takes what it says on stderr for SSH.
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
        """Nothing more is written: what was is sent, and most programs then end by themselves."""
        pipe = self.process.get_pipe_transport(0) if self.process is not None else None
        if pipe is not None:
            pipe.close()

    def abort(self) -> None:
        """asyncssh's word for the end of every connection, also for one that ends in order."""
        self.close()

    async def wait_closed(self) -> None:
        await self.gone.wait()

    async def end(self) -> None:
        """As OpenSSH does: hung up, with all that its shell has started; killed if that is not enough."""
        self.close()
        self.signal(signal.SIGHUP, os.killpg)
        try:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.gone.wait(), GRACE)
        finally:
            self.signal(signal.SIGKILL, os.killpg)
        super().abort()
        await super().end()
