"""The transport to the controller itself: a child process with the same frames as over SSH, without SSH."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
from collections.abc import Callable, Sequence
from typing import cast

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import ConnectOptions
from pushsalt.transport.program import Program, end_all
from pushsalt.transport.stream import Gate, Inbox, keep_tail


async def connect(target: Target, options: ConnectOptions) -> LocalConnection:
    """A connection to the controller itself; it never fails."""
    return LocalConnection(target, options.shared.setdefault("local", set()))


async def close(options: ConnectOptions) -> None:
    """End programs that still run, as they may after a cancellation."""
    await end_all(options.shared.get("local", set()))


class LocalConnection:
    """Runs commands as the current user."""

    def __init__(self, target: Target, running: set[Program]) -> None:
        self.id = target.id
        self._running = running
        self._streams: list[LocalStream] = []
        self.user: str | None = None
        with contextlib.suppress(OSError, KeyError):
            self.user = getpass.getuser() if os.geteuid() else "root"

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> LocalStream:
        """``pty`` has no effect: no terminal changes the bytes of a local process."""
        words = ["/bin/sh", "-c", words] if isinstance(words, str) else words
        pipe = asyncio.subprocess.PIPE
        loop = asyncio.get_running_loop()
        try:
            _, stream = await loop.subprocess_exec(
                lambda: LocalStream(on_stderr, self._running),
                *words,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as exc:
            hint = f"make {words[0]} available on this machine"
            raise TargetError("no_shell", f"{self.id}: cannot start {words[0]}: {exc.strerror}", hint) from exc
        self._streams.append(stream)
        return stream

    async def close(self) -> None:
        """End all commands that still run, also those whose streams are not used any more."""
        streams, self._streams = self._streams, []
        await asyncio.gather(*(stream.end() for stream in streams))


class LocalStream(Program):
    """A child process and its pipes."""

    def __init__(self, on_stderr: Callable[[bytes], None] | None, running: set[Program]) -> None:
        super().__init__(running)
        self.stderr = bytearray()
        self.exit_status: int | None = None
        self._on_stderr = on_stderr
        self._gate = Gate()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.process is not None
        out = cast(asyncio.ReadTransport, self.process.get_pipe_transport(1))
        self._inbox = Inbox(out.pause_reading, out.resume_reading)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._inbox.feed(data)
        else:
            keep_tail(self.stderr, data)
            if self._on_stderr is not None:
                self._on_stderr(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._inbox.end()
        elif fd == 0:
            self._gate.open()

    def process_exited(self) -> None:
        assert self.process is not None
        self.exit_status = self.process.get_returncode()
        super().process_exited()

    def pause_writing(self) -> None:
        self._gate.close()

    def resume_writing(self) -> None:
        self._gate.open()

    async def read(self) -> bytes:
        return await self._inbox.read()

    def write(self, data: bytes) -> None:
        stdin = self._stdin()
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    def write_eof(self) -> None:
        stdin = self._stdin()
        if stdin is not None and not stdin.is_closing():
            stdin.write_eof()

    async def drain(self) -> None:
        await self._gate.wait()

    async def wait_closed(self) -> None:
        await self.gone.wait()
        self.forget()

    def close(self) -> None:
        # The end of stdin makes the supervisor stop its worker properly, also where sudo prevents us from signalling.
        self._inbox.end()
        stdin = self._stdin()
        if stdin is not None:
            stdin.close()

    def _stdin(self) -> asyncio.WriteTransport | None:
        if self.process is None:
            return None
        return cast("asyncio.WriteTransport | None", self.process.get_pipe_transport(0))
