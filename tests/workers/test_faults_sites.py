"""A worker that claims to be of another site: it gets no work, and its messages are not accepted."""

from __future__ import annotations

import shutil

import pytest

from pushsalt.workers.setup import Authority
from tests.beds.faults import PATIENCE, repetitions, until
from tests.beds.nats import WorkerProcess, prepare
from tests.beds.natsserver import NatsServer, missing
from tests.beds.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.sshd, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

STATES = """
one:
  cmd.run:
    - name: echo one >> $HOME/count
"""


@pytest.fixture(params=range(repetitions()))
def sites(tmp_path, bed):
    """A project with t1 at the site a and t2 at b, its server with keys, and a worker of each site."""
    hosts = {**bed.inventory()["hosts"]}
    hosts["t1"]["site"], hosts["t2"]["site"] = "a", "b"
    del hosts["t3"]
    project = Project(tmp_path, hosts)
    shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
    project.write("salt/one.sls", STATES)
    for id in hosts:
        (bed.targets[id].home / "count").unlink(missing_ok=True)
    for site in ("a", "b"):
        done = project.run("worker", "init", site, timeout=PATIENCE)
        assert done.code == 0, done.err
        shutil.copy(bed.key, project.folder / f"worker-{site}" / "ssh")
    with NatsServer(tmp_path / "nats", project.folder / "workers/nats.conf") as server:
        prepare(server.url, project, "a", "b")
        yield project, server, {id: bed.targets[id].home / "count" for id in hosts}


def keys_of(project, site):
    return ("--keys", str(project.folder / f"worker-{site}"))


def impostor(project, login):
    """The folder of a worker that claims site a with the keys of site b. ``login``: credentials for NATS."""
    folder = project.folder / "worker-impostor"
    shutil.copytree(project.folder / "worker-b", folder)
    (folder / "worker.yaml").write_text("site: a\n")
    shutil.copy(login, folder / "site.creds")
    return folder


def run_once(project, server, counts):
    done = project.json("apply", "*", "one", "--workers", server.url, timeout=PATIENCE)
    assert done.code == 0, done.err
    assert {id: path.read_text().split() for id, path in counts.items()} == {"t1": ["one"], "t2": ["one"]}


def test_the_server_sends_it_no_work_with_its_own_login(sites):
    project, server, counts = sites
    folder = impostor(project, project.folder / "worker-b/site.creds")
    with (
        WorkerProcess(project, server.url, "a", "wa", None, *keys_of(project, "a")),
        WorkerProcess(project, server.url, "b", "wb", None, *keys_of(project, "b")),
    ):
        false = WorkerProcess(project, server.url, "a", "false", None, "--keys", str(folder))
        try:
            until(lambda: "the site a has no stream" in false.log.read_text())  # it cannot see it
            run_once(project, server, counts)
            status = project.json("worker", "status", "--workers", server.url, timeout=PATIENCE).data["sites"]
            assert {site: len(entry["workers"]) for site, entry in status.items()} == {"a": 1, "b": 1}
            assert "is ready" not in false.log.read_text()
        finally:
            false.__exit__()


def test_it_cannot_decrypt_work_with_a_login_that_has_all_permissions(sites):
    """It can drop the work, as the server can, but not read it."""
    project, server, counts = sites
    login = project.folder / "all.creds"
    login.touch(mode=0o600)
    login.write_text(Authority(project.folder / "workers").user("all", [">"], [">"])[0])
    folder = impostor(project, login)
    with WorkerProcess(project, server.url, "b", "wb", None, *keys_of(project, "b")):
        done = project.json("run", "t2", "test.ping", "--workers", server.url, timeout=PATIENCE)
        assert done.code == 0, done.err
        process = project.start("apply", "--out", "json", "*", "one", "--workers", server.url)
        with WorkerProcess(project, server.url, "a", "false", None, "--keys", str(folder)) as false:
            until(lambda: false.log.read_text().count("refused: ") > 1)  # it has told the first one to controllers
            false.kill()
        with WorkerProcess(project, server.url, "a", "wa", None, *keys_of(project, "a")):
            done = project.finish(process, PATIENCE)
    assert done.code == 0, done.err
    assert "forged message" in done.err or "is dropped" in done.err
    assert {id: path.read_text().split() for id, path in counts.items()} == {"t1": ["one"], "t2": ["one"]}
