"""The worker over a socket pair, in place of the supervisor: calls, grains, runs, questions and blobs."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thin import wire, worker

Message = dict[str, Any]


class Peer:
    """The side of the controller. ``answers`` maps the kind of a question to a function that answers it."""

    def __init__(self, private: Path | None) -> None:
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(20)
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self.sock.close()
                worker.main(theirs, {"dir": str(private) if private else None})
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        self.frames = wire.Frames()
        self.answers: dict[str, Callable[[Message], Message]] = {}
        self.blobs: dict[str, bytes] = {}
        self.others: list[Message] = []
        self.count = 0

    def send(self, **message: Any) -> None:
        self.sock.sendall(wire.frame(b"M", wire.pack(message)))

    def blob(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def send_blob(self, digest: str) -> None:
        data = self.blobs[digest]
        for piece in (data[:3], data[3:], b""):
            if piece or piece == b"":
                self.sock.sendall(wire.frame(b"B", bytes.fromhex(digest) + piece))

    def receive(self) -> Message:
        while True:
            for _, payload in self.frames:
                return wire.unpack(payload)
            data = self.sock.recv(65536)
            assert data, "the worker has ended"
            self.frames.feed(data)

    def request(self, kind: str, **message: Any) -> Message:
        """Send a request and return its ``ret`` or ``exc``; earlier questions are answered."""
        self.count += 1
        self.send(k=kind, n=self.count, **message)
        while True:
            reply = self.receive()
            if reply["k"] in ("ret", "exc") and reply["re"] == self.count:
                return reply
            if reply["k"] in self.answers:
                answer = dict(self.answers[reply["k"]](reply))
                follow = answer.pop("follow", None)
                self.send(k="answer", re=reply["n"], **answer)
                if follow:
                    self.send_blob(follow)
            elif reply["k"] == "need":
                for digest in reply["digests"]:
                    self.send_blob(digest)
            self.others.append(reply)

    def call(self, fun: str, *args: Any, cli: bool = False, **kwargs: Any) -> Any:
        reply = self.request("call", fun=fun, args=list(args), kwargs=kwargs, cli=cli)
        return reply["ret"] if reply["k"] == "ret" else reply

    def close(self) -> None:
        # a worker that was forked later has a copy of this socket: closing ours does not end the connection
        self.send(k="bye")
        self.sock.close()
        assert os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) == 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Peer]]:
    peers = []

    def start_peer(private: bool = True, **init: Any) -> Peer:
        peer = Peer(tmp_path if private else None)
        peers.append(peer)
        peer.send(
            **{
                "k": "init",
                "id": "m",
                "opts": {},
                "grains": {"os": "Debian"},
                "want_grains": False,
                "log_level": "warning",
                **init,
            }
        )
        ready = peer.receive()
        assert ready["k"] == "ready"
        peer.ready = ready  # type: ignore[attr-defined]
        return peer

    yield start_peer
    for peer in peers:
        peer.close()


@pytest.fixture
def peer(start: Callable[..., Peer]) -> Peer:
    return start()


@pytest.mark.parametrize(
    "fun, args, kwargs, cli, value",
    [
        ("test.ping", [], {}, False, True),
        ("cmd.run", ["echo $((1+1))"], {}, True, "2"),
        ("cmd.run", ["echo $((1+1))"], {}, False, "$((1+1))"),
        ("test.arg", [1], {"a": "b"}, False, {"args": [1], "kwargs": {"a": "b"}}),
        ("cmd.run_all", ["exit 3"], {"python_shell": True, "hide_output": True}, False, 3),
    ],
)
def test_a_call_returns_a_value(peer: Peer, fun: str, args: list[Any], kwargs: Message, cli: bool, value: Any) -> None:
    reply = peer.call(fun, *args, cli=cli, **kwargs)
    assert (reply["retcode"] if fun == "cmd.run_all" else reply) == value


@pytest.mark.parametrize(
    "fun, args, kwargs, kind, text",
    [
        ("test.pingg", [], {}, "KeyError", "'test.pingg' is not available."),
        ("test.ping", [1], {}, "TypeError", "Passed invalid arguments to test.ping: ping() takes 0 positional"),
        ("test.ping", [], {"a": 1}, "SaltInvocationError", "The following keyword arguments are not valid: a=1"),
        ("test.exception", ["Oh no"], {}, "Exception", "Oh no"),
        ("cmd.run", ["ls"], {"cwd": "/nowhere"}, "CommandExecutionError", "Specified cwd '/nowhere' either not"),
        ("test.cross_test", ["no.such"], {}, "KeyError", "'no.such' is not available."),
        ("test.raise_exception", ["SystemExit"], {}, None, False),
    ],
)
def test_a_failing_call_returns_the_error(
    peer: Peer, fun: str, args: list[Any], kwargs: Message, kind: str | None, text: Any
) -> None:
    reply = peer.call(fun, *args, cli=True, **kwargs)
    if kind is None:
        assert reply is text
        return
    assert (reply["k"], reply["type"]) == ("exc", kind)
    assert reply["message"].startswith(text)
    assert reply["known"] == (fun != "test.pingg")
    assert peer.call("test.ping") is True, "the worker continues"


def test_a_call_from_the_command_line_has_the_arguments_of_the_publisher(start: Callable[..., Peer]) -> None:
    peer = start(jid="20261121204500000000")
    reply = peer.call("test.kwarg", cli=True, a=1)
    assert reply["a"] == 1
    assert (reply["__pub_fun"], reply["__pub_tgt"]) == ("test.kwarg", "m")
    assert reply["__pub_jid"] == "20261121204500000000"


def test_grains_of_the_inventory_have_precedence(start: Callable[..., Peer]) -> None:
    peer = start(want_grains=True, grains={"os": "Mine", "role": "web"})
    assert peer.ready["grains"]["role"] == "web"  # type: ignore[attr-defined]
    assert peer.call("grains.get", "os") == "Mine"
    assert peer.call("grains.get", "kernel") == os.uname().sysname
    assert peer.request("grains", refresh=True)["ret"]["role"] == "web"


def test_pillar_is_requested_once_when_it_is_read(peer: Peer) -> None:
    questions = []
    peer.answers["pillar"] = lambda question: questions.append(question) or {"pillar": {"a": {"b": "c"}}}  # type: ignore[func-returns-value]
    assert peer.call("test.ping") is True
    assert questions == []
    assert peer.call("pillar.get", "a:b") == "c"
    assert peer.call("config.get", "a:b") == "c"
    assert len(questions) == 1


def test_calls_are_served_while_a_question_waits(peer: Peer) -> None:
    """A template that the controller renders for the target may call the target."""

    def nested(question: Message) -> Message:
        peer.send(k="call", n=99, fun="cmd.run", args=["echo from the target"], kwargs={})
        reply = peer.receive()
        assert reply["re"] == 99
        return {"text": question["text"].replace("HERE", reply["ret"]).encode()}

    peer.answers["template"] = nested
    assert peer.call("cmd.run", "echo rendered HERE", template="jinja") == "rendered from the target"


def test_an_answer_that_is_an_error_is_raised_as_its_class(peer: Peer) -> None:
    peer.answers["ask"] = lambda question: {"error": "no such nodegroup", "exception": "CommandExecutionError"}
    reply = peer.call("match.nodegroup", "web")
    assert (reply["type"], reply["message"]) == ("CommandExecutionError", "no such nodegroup")


SCRIPT = b'#!/bin/sh\necho script "$@"\n'


def run_script(peer: Peer, **plan: Any) -> Message:
    chunk = {
        "state": "cmd",
        "fun": "script",
        "name": "salt://s.sh",
        "args": "a",
        "__id__": "s",
        "__sls__": "x",
        "__env__": "base",
        "order": 1,
    }
    assert peer.request("run", chunks=[chunk], test=False, **plan)["ret"] == {"states": 1}
    [state] = [message for message in peer.others if message["k"] == "state"]
    peer.others.clear()
    return dict(state["ret"])


def test_a_source_file_of_the_plan_is_cached(start: Callable[..., Peer], tmp_path: Path) -> None:
    peer = start()
    digest = peer.blob(SCRIPT)
    plan = {"files": {"salt://s.sh?saltenv=base": digest}, "wants": [[digest, None]]}
    assert run_script(peer, **plan)["changes"]["stdout"] == "script a"
    assert (tmp_path / "files" / digest).read_bytes() == SCRIPT
    assert (tmp_path / "files").stat().st_mode & 0o777 == 0o700
    peer.others.clear()
    assert run_script(start(), **plan)["changes"]["stdout"] == "script a", "a second session requests nothing"


def test_a_damaged_file_of_the_cache_is_fetched_again(start: Callable[..., Peer], tmp_path: Path) -> None:
    peer = start()
    digest = peer.blob(SCRIPT)
    (tmp_path / "files").mkdir(mode=0o700)
    (tmp_path / "files" / digest).write_bytes(b"#!/bin/sh\necho evil\n")
    plan = {"files": {"salt://s.sh?saltenv=base": digest}, "wants": [[digest, None]]}
    assert run_script(peer, **plan)["changes"]["stdout"] == "script a"


def test_a_source_file_that_is_not_in_the_plan_is_requested(start: Callable[..., Peer]) -> None:
    peer = start(private=False)
    digest = peer.blob(SCRIPT)
    peer.answers["file"] = lambda question: {
        "digest": digest,
        "size": len(SCRIPT),
        "follow": None if question.get("stat") else digest,
    }
    assert run_script(peer)["changes"]["stdout"] == "script a"


def test_a_missing_source_file_is_an_error(start: Callable[..., Peer]) -> None:
    peer = start()
    peer.answers["file"] = lambda question: {"missing": True}
    ret = run_script(peer)
    assert (ret["result"], ret["comment"]) == (False, "Unable to cache script salt://s.sh from saltenv 'base'")


def test_a_source_file_that_changes_during_the_transfer_is_an_error(start: Callable[..., Peer]) -> None:
    peer = start()
    old, new = peer.blob(SCRIPT), peer.blob(b"other")
    peer.answers["file"] = lambda question: {"digest": old if question.get("stat") else new, "size": 5}
    ret = run_script(peer)
    assert ret["result"] is False
    assert "changed on the controller" in ret["comment"]


def test_a_rendered_template_is_not_written_to_the_disk(start: Callable[..., Peer], tmp_path: Path) -> None:
    peer = start()
    digest = peer.blob(b"#!/bin/sh\necho rendered\n")
    key = wire.template_key("salt://s.sh", "base", "jinja", {}, None, "")
    chunk = {
        "state": "cmd",
        "fun": "script",
        "name": "salt://s.sh",
        "template": "jinja",
        "__id__": "s",
        "__sls__": "x",
        "__env__": "base",
        "order": 1,
    }
    peer.request("run", chunks=[chunk], test=False, templates={key: digest}, wants=[[digest, None]])
    [state] = [message for message in peer.others if message["k"] == "state"]
    assert state["ret"]["changes"]["stdout"] == "rendered"
    assert not list(tmp_path.rglob("*")), "no folder, no file"


def test_the_start_and_the_return_of_each_state_are_sent(peer: Peer) -> None:
    chunks = [
        {"state": "test", "fun": "nop", "name": name, "__id__": name, "__sls__": "x", "order": 1} for name in "ab"
    ]
    assert peer.request("run", chunks=chunks, test=True)["ret"] == {"states": 2}
    assert [(message["k"], message["tag"][7:]) for message in peer.others] == [
        ("start", "a_|-a_|-nop"),
        ("state", "a_|-a_|-nop"),
        ("start", "b_|-b_|-nop"),
        ("state", "b_|-b_|-nop"),
    ]
    assert peer.call("test.get_opts")["test"] is False, "test mode ends with the run"


def test_log_lines_are_sent_from_the_requested_level_on(start: Callable[..., Peer]) -> None:
    peer = start(log_level="info")
    peer.call("log.debug", "quiet")
    peer.call("log.warning", "loud")
    assert [(message["level"], message["text"]) for message in peer.others] == [("WARNING", "loud")]
