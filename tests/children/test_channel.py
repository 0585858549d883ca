"""The command's end of the channel to a render process."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

from pushsalt.children import codec
from pushsalt.children.process import Child, Request


class NoPool:
    """Ignores what a process reports."""

    def lost(self, child: Child) -> None:
        raise AssertionError("the channel was closed")


async def no_answer(question: dict[str, Any]) -> Any:
    raise AssertionError("nobody asks")


class Ends:
    """The command's end, and the messages that arrive at the other end."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.theirs.setblocking(False)
        reading, writing = os.pipe()
        pipes = os.fdopen(reading, "rb", 0), os.fdopen(writing, "wb", 0)
        self.pool = NoPool()
        self.child = Child(self.pool, ours, pipes, False)  # type: ignore[arg-type]
        self._data = b""

    def arrived(self) -> list[dict[str, Any]]:
        try:
            while data := self.theirs.recv(1024 * 1024):
                self._data += data
        except BlockingIOError:
            pass
        messages = []
        while len(self._data) >= codec.HEAD:
            end = codec.HEAD + int.from_bytes(self._data[: codec.HEAD], "big")
            if len(self._data) < end:
                break
            messages.append(codec.unpack(self._data[codec.HEAD : end]))
            self._data = self._data[end:]
        return messages

    def close(self) -> None:
        self.child.close()
        self.theirs.close()


async def test_what_is_sent_in_one_turn_of_the_loop_arrives_whole_and_in_order() -> None:
    ends = Ends()
    ends.child.attach()
    large = "x" * 3_000_000  # more than the socket's buffer takes
    for at in range(200):
        ends.child.send({"k": "call", "at": at, "text": large if at == 3 else ""})
    seen: list[dict[str, Any]] = []
    while len(seen) < 200:
        await asyncio.sleep(0.001)
        seen += ends.arrived()
    assert [message["at"] for message in seen] == list(range(200)) and seen[3]["text"] == large
    ends.close()


def test_what_one_event_loop_did_not_send_the_next_one_does() -> None:
    ends = Ends()

    async def first() -> None:
        ends.child.attach()
        ends.child.send({"k": "setup", "text": "x" * 3_000_000})
        await asyncio.sleep(0.01)
        ends.child.detach()

    async def second() -> list[dict[str, Any]]:
        ends.child.attach()
        ends.child.send({"k": "ping"})
        seen: list[dict[str, Any]] = []
        while len(seen) < 2:
            await asyncio.sleep(0.001)
            seen += ends.arrived()
        return seen

    asyncio.run(first())
    assert [message["k"] for message in asyncio.run(asyncio.wait_for(second(), 30))] == ["setup", "ping"]
    ends.close()


async def test_only_processes_that_worked_for_a_target_are_told_to_forget_it() -> None:
    ends = Ends()
    ends.child.attach()
    ends.child.begin(Request({"k": "call", "h": 7, "time": None}, no_answer))
    ends.child.forget(8)
    ends.child.forget(7)
    await asyncio.sleep(0.01)
    assert ends.arrived() == []
    ends.child.send({"k": "ping"})
    await asyncio.sleep(0.01)
    assert ends.arrived() == [{"k": "forget", "h": 7}, {"k": "ping"}]
    ends.close()
