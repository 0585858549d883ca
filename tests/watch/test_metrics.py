"""Figures in the text format of Prometheus."""

from __future__ import annotations

import asyncio

import pytest

from pushsalt.errors import CommandError
from pushsalt.watch import metrics
from pushsalt.watch.drift import TargetDrift

STATE = {"__id__": "a", "__sls__": "b", "name": "a", "comment": ""}


def test_what_a_round_has_found():
    figures = metrics.Metrics()
    figures.add(TargetDrift("web1", True, {"t": STATE}, {}, 3, 0.5))
    figures.add(TargetDrift('we"b2', False, error="unreachable"))
    figures.round_ended(1.5)
    lines = figures.text().splitlines()
    for line in (
        'pushsalt_up{id="web1"} 1',
        'pushsalt_up{id="we\\"b2"} 0',
        'pushsalt_drifted_states{id="web1"} 1',
        'pushsalt_states{id="web1"} 3',
        'pushsalt_failures_total{id="we\\"b2"} 1',
        "pushsalt_rounds_total 1",
        "# TYPE pushsalt_drifted_states gauge",
    ):
        assert line in lines
    assert not any(line.startswith('pushsalt_drifted_states{id="we\\\\') for line in lines)  # it is not known
    assert sum(line.startswith("# TYPE pushsalt_up ") for line in lines) == 1


def test_a_target_that_does_not_answer_keeps_its_last_result():
    figures = metrics.Metrics()
    figures.add(TargetDrift("web1", True, {"t": STATE}, {}, 3, 0.5))
    figures.add(TargetDrift("web1", False, error="unreachable"))
    assert 'pushsalt_drifted_states{id="web1"} 1' in figures.text()
    assert 'pushsalt_up{id="web1"} 0' in figures.text()


@pytest.mark.parametrize(
    "text, at",
    [
        (":9650", ("127.0.0.1", 9650)),
        ("0.0.0.0:9650", ("0.0.0.0", 9650)),
        ("[::1]:9650", ("::1", 9650)),
        ("watch.prom", None),
        ("/a:1/b", None),
        (":0", None),
        ("a:99999", None),
    ],
)
def test_addresses(text, at):
    assert metrics.address(text) == at


async def asked(port, data):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "request_line, status",
    [
        (b"GET /metrics HTTP/1.1", b"200 OK"),
        (b"HEAD /metrics HTTP/1.1", b"200 OK"),
        (b"GET /metrics?x=1 HTTP/1.1", b"200 OK"),
        (b"GET /etc/passwd HTTP/1.1", b"404"),
        (b"POST /metrics HTTP/1.1", b"405"),
        (b"nonsense", b"405"),
    ],
)
def test_the_server(request_line, status):
    async def run():
        server = await metrics.serve("127.0.0.1", 0, lambda: "pushsalt_x 1\n")
        port = server.sockets[0].getsockname()[1]
        try:
            answer = await asked(port, request_line + b"\r\nHost: x\r\n\r\n")
            large = await asked(port, b"GET /" + b"x" * 20000 + b"\r\n\r\n")
            return answer, large
        finally:
            server.close()

    answer, large = asyncio.run(run())
    assert answer.split(b"\r\n")[0].startswith(b"HTTP/1.1 " + status) and large == b""
    assert answer.endswith(b"pushsalt_x 1\n") == (status == b"200 OK" and not request_line.startswith(b"HEAD"))


def test_a_port_that_is_taken_is_said():
    async def run():
        server = await metrics.serve("127.0.0.1", 0, lambda: "")
        try:
            await metrics.serve("127.0.0.1", server.sockets[0].getsockname()[1], lambda: "")
        finally:
            server.close()

    with pytest.raises(CommandError, match="--metrics"):
        asyncio.run(run())
