"""Workers and controllers over TLS, with the keys and the server configuration of ``worker init``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.beds import natsserver
from tests.beds.nats import WorkerProcess
from tests.beds.natsserver import NatsServer
from tests.beds.processes import wait_until
from tests.beds.project import Project
from tests.beds.tlscerts import Authority

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(natsserver.missing()), reason=natsserver.missing() or "-"),
]

LONG = 180


class Bed:
    """A project with keys of the site ``default``, an authority, and servers with certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = Project(folder, {"l1": {"transport": "local"}})
        made = self.project.run("worker", "init", "default", timeout=LONG)
        assert made.code == 0, made.err
        self.authority = Authority(folder)
        self.keys = folder / "w1" / "worker-default"
        shutil.copytree(self.project.folder / "worker-default", self.keys)
        self.trust(self.authority)

    def trust(self, authority: Authority) -> None:
        """Let workers and controllers trust an authority."""
        for place in (self.keys, self.project.folder / "workers"):
            shutil.copy(authority.ca, place / "ca.pem")

    @contextmanager
    def server(self, certificate: tuple[Path, Path] | None) -> Iterator[str]:
        """The URL of a server with this certificate; without one it has no TLS."""
        config = self.folder / "nats.conf"
        text = (self.project.folder / "workers" / "nats.conf").read_text()
        if certificate is not None:
            text += f'tls {{ cert_file: "{certificate[0]}", key_file: "{certificate[1]}" }}\n'
        config.write_text(text)
        with NatsServer(self.folder / "server", config) as server:
            yield f"tls://127.0.0.1:{server.port}"

    def error_message(self, url: str) -> str:
        """The error message of a controller that cannot use the server."""
        done = self.project.run("run", "l1", "test.ping", "--workers", url, timeout=LONG)
        assert done.code == 1 and not done.out, done.err
        return done.err


@pytest.fixture
def bed(tmp_path):
    return Bed(tmp_path)


def test_a_job_runs_over_tls_with_the_keys_of_worker_init(bed):
    with bed.server(bed.authority.server("nats")) as url:
        worker = WorkerProcess(bed.project, url)  # it is ready when the controller has created the site's streams
        try:
            done = bed.project.json("run", "l1", "test.ping", "--workers", url, timeout=LONG)
            assert (done.code, done.data) == (0, {"l1": True}), done.err
            assert "eof_received" not in done.err
        finally:
            worker.__exit__()


def test_a_certificate_of_another_authority_is_refused_by_both(bed):
    with bed.server(Authority(bed.folder, "other").server("nats")) as url:
        said = bed.error_message(url)
        assert "its certificate is not trusted" in said and "workers/ca.pem" in said
        worker = WorkerProcess(bed.project, url)
        try:
            wait_until(lambda: "its certificate is not trusted" in worker.log.read_text(), LONG)
            assert "trying again" in worker.log.read_text()
        finally:
            worker.__exit__()


def test_the_error_names_an_expired_certificate(bed):
    with bed.server(bed.authority.server("nats", days=-1)) as url:
        said = bed.error_message(url)
        assert "its certificate has expired" in said and "renew" in said


def test_a_certificate_for_another_address_is_refused(bed):
    with bed.server(bed.authority.server("nats", "192.0.2.1")) as url:
        assert "its certificate is for another name" in bed.error_message(url)


def test_a_server_without_tls_is_refused(bed):
    with bed.server(None) as url:
        assert "the server has no TLS" in bed.error_message(url)


def test_no_request_goes_to_another_machine_without_tls(bed):
    assert "without TLS" in bed.error_message("nats://192.0.2.1:4222")
