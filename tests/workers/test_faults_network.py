"""Workers whose connection with the server is cut, or whose packets are lost."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pushsalt.workers import connection
from pushsalt.workers.names import STOPPED_BUCKET
from tests.beds import sshd
from tests.beds.faults import IDS, PATIENCE, FaultBed, finish, partition_seconds, repetitions, until
from tests.beds.nats import NatsServer, prepare, program
from tests.beds.networks import Networks, Relay, no_networks
from tests.beds.project import Project
from tests.beds.tlscerts import Authority

pytestmark = [pytest.mark.slow, pytest.mark.sshd]


def stopped_jobs(url: str) -> list[str]:
    """The keys of the jobs that were stopped."""

    async def work() -> list[str]:
        made = await connection.connect(url)
        try:
            info = await made.js.stream_info(f"KV_{STOPPED_BUCKET}", subjects_filter=">")
            return list(info.state.subjects or ())
        finally:
            await made.close()

    return asyncio.run(work())


def test_an_order_to_stop_is_read_after_a_reconnection(run: FaultBed):
    with Relay(run.server.port) as relay, run.worker(url=relay.url) as worker:
        process, _ = run.start()
        run.until_all_wait()
        relay.cut()
        until(lambda: "connection with the NATS server is lost" in worker.log.read_text())
        process.send_signal(signal.SIGINT)
        until(lambda: stopped_jobs(run.server.url))
        relay.mend()
        until(lambda: "is restored" in worker.log.read_text())
        until(lambda: "was stopped" in worker.log.read_text())
        run.go()
        done = finish(process)
        assert done.code == 130
        for id in IDS:
            assert run.counted(id) == ["one", "two"]


@pytest.fixture
def networks() -> Iterator[Networks]:
    if reason := no_networks():
        pytest.skip(reason)
    with Networks() as found:
        yield found


@pytest.fixture(params=range(repetitions()))
def fault_bed(networks: Networks, tmp_path: Path) -> Iterator[FaultBed]:
    """SSH servers, and a NATS server in another network, with TLS and keys."""
    with sshd.sshd_bed(tmp_path / "sshd", 3) as bed, KeyedServer(tmp_path / "nats", networks) as server:
        project = Project(tmp_path, bed.inventory()["hosts"], workers=server.at(0))
        shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
        found = FaultBed(project, bed, server)
        server.serve(project, bed.key)
        yield found
        found.go()


class KeyedServer(NatsServer):
    """A server in a network of its own, with the users of ``worker init`` and a certificate for both addresses."""

    def __init__(self, folder: Path, networks: Networks) -> None:
        super().__init__(folder)
        self._networks = networks

    def at(self, link: int) -> str:
        return f"tls://{self._networks.ADDRESSES[link]}:{self.port}"

    def __enter__(self) -> KeyedServer:
        return self

    def serve(self, project: Project, ssh_key: Path) -> None:
        """Make the keys of the site, and start with them."""
        done = project.run("worker", "init", "default", timeout=PATIENCE)
        assert done.code == 0, done.err
        workers, site = project.folder / "workers", project.folder / "worker-default"
        self.folder.mkdir(parents=True, exist_ok=True)
        authority = Authority(self.folder)
        certificate, key = authority.server("nats", *self._networks.ADDRESSES)
        for folder in (workers, site):
            shutil.copy(authority.ca, folder / "ca.pem")
        shutil.copy(ssh_key, site / "ssh")
        tls = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
        config = (workers / "nats.conf").read_text().replace("127.0.0.1:4222", f"0.0.0.0:{self.port}")
        (self.folder / "nats.conf").write_text(tls + config)
        found = program()
        assert found
        with (self.folder / "log").open("ab") as log:
            argv = [*self._networks.enter(), found, "-c", str(self.folder / "nats.conf")]
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        until(self._answers)
        prepare(self.at(0), project, "default")

    def _answers(self) -> bool:
        assert self.process is not None and self.process.poll() is None, (self.folder / "log").read_text()
        with contextlib.suppress(OSError), socket.create_connection((self._networks.ADDRESSES[0], self.port), 1):
            return True
        return False


def test_a_worker_whose_packets_are_lost_is_replaced_and_may_come_back(fault_bed: FaultBed, networks: Networks):
    server = fault_bed.server
    assert isinstance(server, KeyedServer)
    keys = ("--keys", str(fault_bed.project.folder / "worker-default"))
    with fault_bed.worker("w1", None, server.at(1), *keys), fault_bed.worker("w2", None, server.at(0), *keys) as second:
        second.process.send_signal(signal.SIGSTOP)  # the first one takes all
        process, _ = fault_bed.start()
        fault_bed.until_all_wait()
        networks.set_link(2, up=False)
        lost = time.monotonic()
        second.process.send_signal(signal.SIGCONT)
        time.sleep(partition_seconds() / 2)
        fault_bed.go()
        time.sleep(max(0.0, lost + partition_seconds() - time.monotonic()))
        networks.set_link(2, up=True)
        fault_bed.all_once(finish(process))
        assert second.stop() == 0
        assert fault_bed.json("run", "*", "test.ping").data == dict.fromkeys(IDS, True)
        assert all(fault_bed.counted(id) == ["one", "two", "three"] for id in IDS)
