"""Runs one shell command on a target, without Python and without leaving files there.

Usually the command line is passed unchanged to the login shell, which need not be a POSIX shell (on a network switch,
for example). To become another user, or inside of a resource, /bin/sh reads the command from its stdin: then the
command is not in the process list, and no other shell interprets it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.session import handshake
from pushsalt.session.handshake import Ending, Opening
from pushsalt.session.intake import Intake, excess
from pushsalt.transport import Connection, Stream
from thin import wire
from thin.cut import CUT, TEXT_LIMIT

#: Seconds that becoming another user may take.
BEGIN_TIMEOUT: Final = 60.0
#: Seconds that a command has to end by itself after its output is no longer read.
CLOSE_TIMEOUT: Final = 5.0
# Prints the mark $1 when it begins to read (a password prompt is over by then), and reads $2 bytes. No single quotes:
# see pushsalt.bundle.shim.
_SCRIPT: Final = 'echo "$1"; c=$(dd bs=1 "count=$2" 2>/dev/null); eval "$c" </dev/null'


async def run(target: Target, connection: Connection, command: str) -> dict[str, Any]:
    """``stdout``, ``stderr`` and ``retcode`` of the command, as ``cmd.run_all`` has them. Raises TargetError."""
    call = _Call(target, connection.user)
    try:
        return await call.run(connection, command)
    finally:
        await call.close()


class _Call:
    def __init__(self, target: Target, login: str | None) -> None:
        self.target = target
        self.opening = Opening(target, login)
        self.intake = Intake(target)
        self.stdout, self.stderr = _Output(), _Output()
        self.stream: Stream | None = None
        self.trouble: TargetError | None = None
        self._told = False

    async def run(self, connection: Connection, command: str) -> dict[str, Any]:
        fed = f"{command}\n".encode("utf-8", "surrogateescape")
        if self.opening.become is None and not self.target.enter:
            self.stream = await connection.open(command, pty=self.target.tty, on_stderr=self._heard)
            self.stream.write_eof()
        else:
            words = ["/bin/sh", "-c", _SCRIPT, "pushsalt", self.opening.nonce, str(len(fed))]
            words = self.opening.as_user([*self.target.enter, *words])
            self.stream = await connection.open(words, pty=self.opening.tty, on_stderr=self._heard)
            try:
                await asyncio.wait_for(self._begun(), BEGIN_TIMEOUT)
            except asyncio.TimeoutError:
                said = handshake.printable(bytes(self.opening.output) + bytes(self.stream.stderr[-1000:]))
                message = f"{self.target.id}: the shell did not start within {BEGIN_TIMEOUT:g} s"
                hint = "look at the start-up files of the login's shell: something there may wait for input"
                message += f": {said}" if said else ""
                raise TargetError("bootstrap_failed", message, hint) from None
            self.stream.write(fed)
        while data := await self._read():
            self.stdout.add(data)
        if self.trouble is not None:
            raise self.trouble
        await self.stream.wait_closed()
        status = self.stream.exit_status
        if status is None:
            message = f"{self.target.id}: the command ended without an exit status"
            raise TargetError("connection_lost", message, "check the target: what the command did is unknown")
        return {"stdout": self.stdout.text(), "stderr": self.stderr.text(), "retcode": status}

    async def close(self) -> None:
        if self.stream is None:
            return
        self.stream.close()
        try:
            await asyncio.wait_for(self.stream.wait_closed(), CLOSE_TIMEOUT)
        except (asyncio.TimeoutError, asyncio.CancelledError):
            pass
        finally:
            self.stream.abort()

    async def _begun(self) -> None:
        """Wait until the shell reads; output before that came from the login."""
        marker, before = self.opening.nonce.encode() + b"\n", b""
        while True:
            data = await self._read()
            if self.trouble is not None:
                raise self.trouble
            if not data:
                await self._ended()
            self.opening.seen(data)
            self._asked(data, "stdout")
            before = (before + data).replace(b"\r\n", b"\n")
            if marker in before:
                self.stdout.add(before.partition(marker)[2])
                self._told = True
                self.stderr = _Output()
                return
            before = before[-wire.SMALL_LIMIT :]

    async def _ended(self) -> None:
        assert self.stream is not None
        await self.stream.wait_closed()
        ending = Ending(bytes(self.opening.output), bytes(self.stream.stderr), self.stream.exit_status)
        raise handshake.explain(self.opening, ending)

    async def _read(self) -> bytes:
        assert self.stream is not None
        data = await self.stream.read()
        try:
            self.intake.received(len(data))
        except wire.Excess as exc:
            raise excess(self.target.id, exc) from None
        return data

    def _heard(self, data: bytes) -> None:
        try:
            self.intake.heard(len(data))
        except wire.Excess as exc:
            self._fail(excess(self.target.id, exc))
            return
        self.stderr.add(data)
        if not self._told:
            self._asked(data, "stderr")

    def _asked(self, data: bytes, stream: str) -> None:
        """Answer a password prompt, once."""
        try:
            answer = self.opening.heard(data, stream)
        except TargetError as exc:
            self._fail(exc)
            return
        if answer and self.opening.reads_after:
            asyncio.get_running_loop().call_later(self.opening.reads_after, self._answer, answer)
        elif answer:
            self._answer(answer)

    def _answer(self, answer: bytes) -> None:
        if self.stream is not None and self.stream.exit_status is None:
            self.stream.write(answer)

    def _fail(self, trouble: TargetError) -> None:
        self.trouble = self.trouble or trouble
        if self.stream is not None:
            self.stream.close()


class _Output:
    """Output of the command, up to the limit for a return."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        self._data += data[: TEXT_LIMIT - len(self._data)]
        self._size += len(data)

    def text(self) -> str:
        text = self._data.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
        return text + CUT % (TEXT_LIMIT, self._size) if self._size > TEXT_LIMIT else text
