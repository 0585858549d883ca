"""A login by SSH, and the commands that run on it."""

from __future__ import annotations

import asyncio
import contextlib
import signal as signals
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pushsalt.bundle.shim import shell_line
from pushsalt.errors import TargetError
from pushsalt.transport.hostkeys import KnownHosts
from pushsalt.transport.program import Program, ProxyCommand
from pushsalt.transport.ssh_library import asyncssh
from pushsalt.transport.sshkeys import Keys
from pushsalt.transport.sshtrouble import message_of, printable
from pushsalt.transport.stream import Gate, Inbox, keep_tail

CLOSE_TIMEOUT = 3.0

_TERMINAL_MODES = (
    "ECHO",
    "ICANON",
    "ISIG",
    "IEXTEN",
    "OPOST",
    "ONLCR",
    "ICRNL",
    "INLCR",
    "IGNCR",
    "IXON",
    "IXOFF",
    "ISTRIP",
    "PARMRK",
    "INPCK",
    "ECHOE",
    "ECHOK",
    "ECHONL",
)
_RAW = {getattr(asyncssh, f"PTY_{mode}"): 0 for mode in _TERMINAL_MODES}


class SshConnection:
    """A login."""

    def __init__(
        self,
        id: str,
        connection: asyncssh.SSHClientConnection,
        user: str,
        jump: Jump | None,
        proxy: ProxyCommand | None,
    ) -> None:
        self.id = id
        self.user: str | None = user
        self.connection = connection
        self._jump, self._proxy = jump, proxy

    @property
    def is_open(self) -> bool:
        """Whether the connection is open, as far as the controller knows."""
        return not self.connection.is_closed()

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> SshStream:
        line: Any = words if isinstance(words, str) else shell_line(words)
        if not _is_utf8(line):  # bytes of a command line that are no valid text; text is logged as text
            line = line.encode("utf-8", "surrogateescape")
        terminal = {"term_type": "dumb", "term_modes": _RAW} if pty else {}
        try:
            _, stream = await self.connection.create_session(
                lambda: SshStream(self.id, on_stderr),
                line,
                encoding=None,
                request_pty="force" if pty else False,
                **terminal,  # type: ignore[arg-type]
            )
        except asyncssh.ChannelOpenError as exc:
            message = f"{self.id}: the server opens no session: {printable(exc.reason)}"
            raise TargetError("no_shell", message, "allow sessions and commands for this login") from exc
        except (OSError, asyncssh.Error) as exc:
            message = f"{self.id}: the connection broke before anything was run: {message_of(exc)}"
            raise TargetError("bootstrap_failed", message, "it is safe to run again") from exc
        assert isinstance(stream, SshStream)
        return stream

    async def close(self) -> None:
        self.connection.close()
        try:
            await asyncio.wait_for(self.connection.wait_closed(), CLOSE_TIMEOUT)
        except (asyncio.TimeoutError, OSError, asyncssh.Error):
            self.connection.abort()
        finally:
            await let_go(self._jump, self._proxy)


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


class SshStream(asyncssh.SSHClientSession[bytes]):
    """The SSH channel of one command."""

    def __init__(self, id: str, on_stderr: Callable[[bytes], None] | None) -> None:
        self.stderr = bytearray()
        self.exit_status: int | None = None
        self._id = id
        self._on_stderr = on_stderr
        self._gate = Gate()
        self._gone = asyncio.Event()

    def connection_made(self, chan: Any) -> None:
        self._channel: asyncssh.SSHClientChannel[bytes] = chan
        self._inbox = Inbox(chan.pause_reading, chan.resume_reading)

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if datatype is None:
            self._inbox.feed(data)
        else:
            keep_tail(self.stderr, data)
            if self._on_stderr is not None:
                self._on_stderr(data)

    def eof_received(self) -> bool:
        self._inbox.end()
        return True

    def exit_status_received(self, status: int) -> None:
        self.exit_status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.exit_status = -int(getattr(signals, f"SIG{signal}", 0)) or None

    def connection_lost(self, exc: Exception | None) -> None:
        error = None
        if exc is not None:
            error = TargetError(
                "connection_lost",
                f"{self._id}: the connection was lost: {message_of(exc)}",
                "the last action may or may not have been done: look at the target, and run again",
            )
        self._inbox.end(error)
        self._gate.open()
        self._gone.set()

    def pause_writing(self) -> None:
        self._gate.close()

    def resume_writing(self) -> None:
        self._gate.open()

    async def read(self) -> bytes:
        return await self._inbox.read()

    def write(self, data: bytes) -> None:
        if not self._channel.is_closing():
            with contextlib.suppress(BrokenPipeError):
                self._channel.write(data)

    def write_eof(self) -> None:
        if not self._channel.is_closing():
            with contextlib.suppress(BrokenPipeError):
                self._channel.write_eof()

    async def drain(self) -> None:
        await self._gate.wait()

    async def wait_closed(self) -> None:
        await self._gone.wait()

    def close(self) -> None:
        self._inbox.end()
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()


class Jump:
    """A connection to a jump host; it is closed when the last connection through it is closed."""

    def __init__(self, chain: tuple[str, ...], shared: Shared) -> None:
        self._chain, self._shared = chain, shared
        self._users = 0
        self.opening: asyncio.Task[SshConnection] | None = None

    @property
    def connection(self) -> asyncssh.SSHClientConnection:
        assert self.opening is not None
        return self.opening.result().connection

    def broken(self) -> bool:
        done = self.opening is not None and self.opening.done() and not self.opening.cancelled()
        return done and (self.opening.exception() is not None or self.connection.is_closed())  # type: ignore[union-attr]

    def take(self) -> None:
        self._users += 1

    async def release(self) -> None:
        self._users -= 1
        if self._users == 0 and self.opening is not None and self.opening.done() and not self.opening.exception():
            if self._shared.jumps.get(self._chain) is self:
                del self._shared.jumps[self._chain]
            await self.opening.result().close()


async def let_go(jump: Jump | None, proxy: ProxyCommand | None) -> None:
    """Release the jump host and end the ProxyCommand of a connection that was closed, or failed."""
    try:
        if proxy is not None:
            await proxy.end()
    finally:
        if jump is not None:
            await jump.release()


@dataclass
class Shared:
    """Shared objects of the connections of one command."""

    keys: Keys = field(default_factory=Keys)
    known_hosts: dict[tuple[Path, ...], KnownHosts] = field(default_factory=dict)
    jumps: dict[tuple[str, ...], Jump] = field(default_factory=dict)
    #: ProxyCommands
    running: set[Program] = field(default_factory=set)
