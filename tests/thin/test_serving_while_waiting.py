"""While the worker waits for the controller it serves the children of parallel states, which send requests,
too.
"""

from __future__ import annotations

import hashlib
import os
import select
import socket
import threading

import pytest

from thin import blobs, channel, controller, waiting, wire

DATA = b"the rest of the runtime" * 1000
DIGEST = hashlib.sha256(DATA).hexdigest()


class Child:
    """Sends a request once, when its descriptor is readable, while the worker waits for something else."""

    def __init__(self, ask):
        self.reader, self.writer = os.pipe()
        os.write(self.writer, b"!")
        self.answers = []
        self._ask = ask

    def descriptors(self):
        return () if self.answers else [self.reader]

    def attend(self):
        self.answers.append("asking")
        self.answers.append(self._ask())


@pytest.fixture
def link(tmp_path, monkeypatch):
    ours, theirs = socket.socketpair()
    received = []

    def serve():
        frames = wire.Frames()
        while data := ours.recv(65536):
            frames.feed(data)
            for _, payload in frames:
                message = wire.unpack(payload)
                received.append(message)
                select.select([], [], [], 0.1)  # the child's question comes first
                if message["k"] == "need":
                    name = bytes.fromhex(message["digests"][0])
                    ours.sendall(wire.frame(b"B", name + DATA) + wire.frame(b"B", name))
                else:
                    answer = {"k": "answer", "re": message["n"], "ret": message["fun"]}
                    ours.sendall(wire.frame(b"M", wire.pack(answer)))

    serving = threading.Thread(target=serve)
    serving.start()
    store = blobs.Blobs(str(tmp_path))
    link = controller.Controller(channel.Channel(theirs, lambda: store), store)
    link.received = received
    monkeypatch.setattr(waiting, "current", None)
    yield link
    theirs.close()
    serving.join()
    ours.close()


def test_worker_and_child_request_the_same_pack(link):
    waiting.current = child = Child(lambda: link.packs([DIGEST]))
    assert link.packs([DIGEST]) == [DATA]
    assert child.answers == ["asking", [DATA]]
    assert link.packs([DIGEST]) == [DATA]
    assert [message["k"] for message in link.received] == ["need"]


def test_an_answer_that_arrives_while_the_child_is_served_is_not_lost(link):
    waiting.current = child = Child(lambda: link.ask("second"))
    assert link.ask("first") == "first"
    assert child.answers == ["asking", "second"]
