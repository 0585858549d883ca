"""Workers whose connection with the server is cut, or whose packets are lost."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest

from pushsalt.workers import connection
from pushsalt.workers.names import STOPPED_BUCKET
from tests.beds import sshd
from tests.beds.faults import IDS, PATIENCE, FaultBed, finish, partition_seconds, repetitions, until
from tests.beds.nats import NatsServer, prepare, program
from tests.beds.networks import Networks, Relay, no_networks
from tests.beds.project import Project

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
def apart(networks: Networks, tmp_path: Path) -> Iterator[FaultBed]:
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

    def at(self, cable: int) -> str:
        return f"tls://{self._networks.ADDRESSES[cable]}:{self.port}"

    def __enter__(self) -> KeyedServer:
        return self

    def serve(self, project: Project, ssh_key: Path) -> None:
        """Make the keys of the site, and start with them."""
        done = project.run("worker", "init", "default", timeout=PATIENCE)
        assert done.code == 0, done.err
        workers, site = project.folder / "workers", project.folder / "worker-default"
        self.folder.mkdir(parents=True, exist_ok=True)
        certificate(self.folder, self._networks.ADDRESSES)
        for folder in (workers, site):
            shutil.copy(self.folder / "cert.pem", folder / "ca.pem")
        shutil.copy(ssh_key, site / "ssh")
        tls = f'tls {{ cert_file: "{self.folder}/cert.pem", key_file: "{self.folder}/key.pem" }}\n'
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


def certificate(folder: Path, addresses: Sequence[str]) -> None:
    """cert.pem, which is its own authority, and key.pem."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nats")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(each)) for each in addresses]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").touch(mode=0o600)
    (folder / "key.pem").write_bytes(private)


def test_a_worker_whose_packets_are_lost_is_replaced_and_may_come_back(apart: FaultBed, networks: Networks):
    server = apart.server
    assert isinstance(server, KeyedServer)
    keys = ("--keys", str(apart.project.folder / "worker-default"))
    with apart.worker("w1", None, server.at(1), *keys), apart.worker("w2", None, server.at(0), *keys) as second:
        second.process.send_signal(signal.SIGSTOP)  # the first one takes all
        process, _ = apart.start()
        apart.until_all_wait()
        networks.plug(2, False)
        lost = time.monotonic()
        second.process.send_signal(signal.SIGCONT)
        time.sleep(partition_seconds() / 2)
        apart.go()
        time.sleep(max(0.0, lost + partition_seconds() - time.monotonic()))
        networks.plug(2, True)
        apart.all_once(finish(process))
        assert second.stop() == 0
        assert apart.json("run", "*", "test.ping").data == dict.fromkeys(IDS, True)
        assert all(apart.counted(id) == ["one", "two", "three"] for id in IDS)
