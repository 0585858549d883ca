"""Hostile SSH servers: they speak the protocol of thin, and send what a script tells them.

One server for any number of targets, each with its own login. A conversation begins as with a valid target: the first
stage is read, a hello is sent. Then every message of the controller is answered by the script's frames for its kind, or
else as a valid target would. ``heard`` has everything that the controller writes.
"""

from __future__ import annotations

import ast
import asyncio
import shlex
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from thin import boot, wire

#: A kind of frame and its content: a message's map, a text of key=value lines, or bytes. The kind ``raw`` has no head;
#: ``together`` has frames that are written at once.
Frame = tuple[str, Any]
#: The answer to a message: frames, or a function of the message that returns them, possibly without end.
Reply = Iterable[Frame] | Callable[[dict[str, Any]], Iterable[Frame]]

#: In a scripted message: replaced by the number of the answered message.
NUMBER = "<number>"


@dataclass(repr=False)
class Script:
    """``replies``: kind of the controller's message -> answer, in place of the valid one. ``opening`` is sent after the
    hello. ``stderr`` is sent too. ``stays``: the peer does not end when the controller says bye.
    """

    grains: Any = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    opening: Reply = ()
    stderr: Iterable[bytes] = ()
    stays: bool = False

    def __repr__(self) -> str:
        """Short, since pytest shows it."""
        fields = (self.grains, self.replies, self.opening, self.stays)
        return f"Script({', '.join(repr(field)[:1500] for field in fields)})"


@dataclass
class Heard:
    """What the controller sent to one target: bytes and messages."""

    data: bytearray = field(default_factory=bytearray)
    messages: list[dict[str, Any]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


class Peers:
    """A context manager: the server, in a thread. ``scripts`` by login."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.heard: dict[str, Heard] = {}
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.key = asyncssh.generate_private_key("ssh-ed25519")

    def __enter__(self) -> Peers:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result()
        self.port = self._server.get_port()
        return self

    def __exit__(self, *exc: object) -> None:
        async def end() -> None:
            self._server.close()
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(20)
        self.loop.close()

    def host(self, id: str, key: Path, script: Script) -> dict[str, Any]:
        """The inventory entry of a target with this script."""
        self.scripts[id], self.heard[id] = script, Heard()
        return {"host": "127.0.0.1", "port": self.port, "user": id, "priv": str(key)}

    def known_hosts(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.key.export_public_key().decode()}"

    async def _listen(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self.key],
            server_factory=_Server,
            process_factory=self._serve,
            encoding=None,
            login_timeout=30,
        )

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        name = process.get_extra_info("username")
        try:
            await Conversation(process, self.scripts[name], self.heard[name]).go()
        except (asyncssh.Error, OSError, EOFError, asyncio.IncompleteReadError):
            pass
        finally:
            process.exit(0)


class _Server(asyncssh.SSHServer):
    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return True


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value == NUMBER


class Conversation:
    """One session with one controller."""

    def __init__(self, process: asyncssh.SSHServerProcess[bytes], script: Script, heard: Heard) -> None:
        self._process, self._script, self._heard = process, script, heard
        self._nonce = b""

    async def go(self) -> None:
        words = shlex.split(self._process.command or "")
        self._heard.commands.append(self._process.command or "")
        at = words.index("pushsalt")
        program = (await self._read(int(words[at + 3].lstrip("g")))).decode("ascii")
        call = ast.parse(program[program.rindex("\nbegin(") + 1 :], mode="eval").body
        assert isinstance(call, ast.Call)
        parameters = ast.literal_eval(call.args[0])
        self._nonce = parameters["nonce"]
        sha = parameters["sha"] or parameters["archives"][0][0]
        hello = [("python", "3.11.0"), ("exe", "/usr/bin/python3"), ("uid", 0), ("pid", 1), ("dir", ""), ("sha", sha)]
        self._write(boot.frame(self._nonce, b"H", [*hello, ("have", 1), ("warm", 1)]))
        for piece in self._script.stderr:
            self._process.stderr.write(piece)
            await self._process.stderr.drain()
        await self._say(self._script.opening, {})
        while True:
            head = await self._read(wire.HEAD.size)
            kind, length = wire.HEAD.unpack(head)
            payload = await self._read(length)
            if kind != b"M":
                continue
            message = wire.unpack(payload)
            self._heard.messages.append(message)
            if message["k"] in self._script.replies:
                await self._say(self._script.replies[message["k"]], message)
            else:
                await self._say(self._sound(message), message)
            if message["k"] == "bye":
                if self._script.stays:
                    await asyncio.sleep(3600)
                return

    def _sound(self, message: dict[str, Any]) -> Iterable[Frame]:
        """The answer of a valid target."""
        ret = {"k": "ret", "re": NUMBER, "retcode": 0}
        match message["k"]:
            case "init":
                yield "M", {"k": "ready", "python": "3.11.0", "grains": self._script.grains, "warnings": []}
            case "call":
                yield "M", {**ret, "ret": True}
            case "grains":
                yield "M", {**ret, "ret": self._script.grains}
            case "resources":
                yield "M", {**ret, "ret": {"found": {}, "failed": {}}}
            case "run":
                for number, chunk in enumerate(message["chunks"]):
                    tag = f"{chunk['state']}_|-{chunk['__id__']}_|-{chunk['name']}_|-{chunk['fun']}"
                    yield "M", {"k": "start", "tag": tag}
                    done = {"result": True, "changes": {}, "comment": "done", "name": chunk["name"]}
                    yield "M", {"k": "state", "tag": tag, "ret": {**done, "__run_num__": number}}
                yield "M", {**ret, "ret": {"states": len(message["chunks"])}}
                for then in message.get("then") or ():
                    yield "M", {**ret, "re": then["n"], "ret": True}

    async def _say(self, reply: Reply, message: dict[str, Any]) -> None:
        for frame in reply(message) if callable(reply) else reply:
            self._write(self._framed(frame, message))
            await self._process.stdout.drain()

    def _framed(self, frame: Frame, message: dict[str, Any]) -> bytes:
        kind, content = frame
        if kind == "together":
            return b"".join(self._framed(one, message) for one in content)
        if isinstance(content, dict):
            content = {key: message.get("n") if _is_number(value) else value for key, value in content.items()}
            content = wire.pack(content)
        elif isinstance(content, str):
            content = content.encode("utf-8", "surrogateescape")
        return content if kind == "raw" else self._nonce + wire.frame(kind.encode(), content)

    def _write(self, data: bytes) -> None:
        self._process.stdout.write(data)

    async def _read(self, size: int) -> bytes:
        data = await self._process.stdin.readexactly(size)
        self._heard.data += data
        return data
