"""A slow consumer: the server ends the connection of a controller that does not read, which goes on later."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.faults import PATIENCE, STATES, FaultBed, finish
from tests.beds.nats import NatsServer, patched
from tests.beds.processes import wait_until
from tests.beds.sshd import free_port

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

#: A client is a slow consumer if 2 MB wait for it, or one write takes a second.
LIMITS = 'max_pending: 2097152\nwrite_deadline: "1s"\nhttp: "127.0.0.1:{port}"\n'
#: Each target returns more than the buffers of a loopback connection and of the server hold.
COUNTS = "echo one >> $HOME/count"
LARGE = STATES.replace(COUNTS, f"{COUNTS}; head -c 6000000 /dev/urandom | base64 -w 0")


class LimitedServer(NatsServer):
    """A server that does not wait for slow clients, and counts them."""

    def __init__(self, folder: Path) -> None:
        self.monitor = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "limits.conf"
        config.write_text(LIMITS.format(port=self.monitor))
        super().__init__(folder, "-c", str(config))

    def slow_consumers(self) -> int:
        """How many connections the server has ended because their clients did not read."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/varz", timeout=10) as answer:
            return int(json.load(answer)["slow_consumers"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LimitedServer]:
    with LimitedServer(tmp_path / "nats") as found:
        yield found


@pytest.fixture
def large(run: FaultBed) -> FaultBed:
    """The controller asks for more at once than the server and the buffers of the connection hold."""
    run.project.write("salt/alone.sls", LARGE)
    run.project.argv = lambda *words: [*patched(connection__REQUEST=32 * 1024 * 1024), *words]
    return run


def until_cut_off(process: subprocess.Popen[bytes], server: LimitedServer) -> None:
    """Wait until the server has ended the connection of the suspended controller.

    If the controller was suspended between two requests, nothing is sent to it: it goes on for a moment to ask again.
    """
    end = time.monotonic() + PATIENCE
    while not server.slow_consumers():
        assert time.monotonic() < end, "the server has not ended the connection"
        with contextlib.suppress(AssertionError):
            wait_until(server.slow_consumers, 15)
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        process.send_signal(signal.SIGSTOP)


def test_a_controller_that_does_not_read_gets_all_returns_later(large: FaultBed):
    assert isinstance(large.server, LimitedServer)
    with large.worker():
        process, _ = large.start()
        large.until_all_wait()
        process.send_signal(signal.SIGSTOP)
        large.go()
        until_cut_off(process, large.server)
        process.send_signal(signal.SIGCONT)
        large.all_once(finish(process))
