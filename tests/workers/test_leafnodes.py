"""Workers at a leaf node do work that is handed out at the hub: two real servers, and a domain of JetStream."""

from __future__ import annotations

import contextlib

import pytest

from pushsalt.workers.setup import DOMAIN
from tests.beds.faults import LOCAL_STATES, PATIENCE, finish, until
from tests.beds.nats import WorkerProcess, prepare
from tests.beds.natsserver import NatsServer, missing
from tests.beds.project import Project, values
from tests.beds.sshd import free_port

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

STATES = (
    LOCAL_STATES
    + """
three:
  test.show_notification:
    - text: {{{{ pillar['word'] }}}}
"""
)
IDS = ["l1", "l2"]


@pytest.fixture
def project(tmp_path):
    """Two targets of the site berlin, whose states count their runs, and wait for the file go."""
    made = Project(tmp_path, {id: {"transport": "local", "site": "berlin"} for id in IDS})
    made.write("salt/alone.sls", STATES.format(folder=tmp_path))
    made.write("pillar/top.sls", "base: {'*': [secret]}")
    made.write("pillar/secret.sls", "word: of-the-pillar")
    return made


def work_of_the_hub(project, hub, leaf, *keys):
    """An apply at the hub, by a worker at the leaf; the leaf is killed and comes back in between."""
    folder = project.folder.parent
    prepare(hub.url, project, "berlin")
    with WorkerProcess(project, f"{leaf.url}?domain={DOMAIN}", "berlin", "w1", None, *keys):
        process = project.start("apply", "--out", "json", "*", "alone", "--workers", hub.url)
        until(lambda: all((folder / id).exists() for id in IDS))
        status = project.json("worker", "status", "--workers", hub.url, timeout=PATIENCE).data["sites"]["berlin"]
        assert [each["busy"] for each in status["workers"]] == [2]
        leaf.kill()
        (folder / "go").touch()
        leaf.start()
        done = finish(process)
    assert done.code == 0, (done.out, done.err)
    for id in IDS:
        one, two, three = values(done.data[id])
        assert one["result"] and two["result"] and three["comment"] == "of-the-pillar"
        assert (folder / id).read_text() == "one\n"


@contextlib.contextmanager
def keyed(project, tmp_path, port):
    """The hub with the configuration of ``worker init``, in which leaf nodes are allowed."""
    done = project.run("worker", "init", "berlin", timeout=PATIENCE)
    assert done.code == 0, done.err
    text = (project.folder / "workers/nats.conf").read_text()
    config = tmp_path / "hub.conf"
    config.write_text(f'{text}\nleafnodes {{ listen: "127.0.0.1:{port}" }}\n')
    with NatsServer(tmp_path / "hub", config) as hub:
        yield hub


def test_a_leaf_of_the_same_account(project, tmp_path):
    """Its configuration is the one that ``worker init`` makes."""
    port = free_port()
    with keyed(project, tmp_path, port) as hub:
        folder = project.folder / "worker-berlin"
        config = folder / "leaf.conf"
        config.write_text(config.read_text().replace("127.0.0.1:7422", f"127.0.0.1:{port}"))
        with NatsServer(tmp_path / "leaf", config) as leaf:
            work_of_the_hub(project, hub, leaf, "--keys", str(folder))


def test_a_leaf_with_an_account_of_its_own_and_jetstream_of_its_own(project, tmp_path):
    port = free_port()
    with keyed(project, tmp_path, port) as hub:
        folder = project.folder / "worker-berlin"
        config = tmp_path / "leaf.conf"
        config.write_text(
            f'server_name: leaf\njetstream {{ store_dir: "{tmp_path}/leaf-store", domain: leaf }}\n'
            f'leafnodes {{ remotes: [{{ url: "nats-leaf://127.0.0.1:{port}",'
            f' credentials: "{folder}/leaf.creds" }}] }}\n'
        )
        with NatsServer(tmp_path / "leaf", config) as leaf:
            work_of_the_hub(project, hub, leaf, "--keys", str(folder))


def test_servers_without_accounts(project, tmp_path):
    port = free_port()
    config = tmp_path / "hub.conf"
    config.write_text(
        f'server_name: hub\njetstream {{ store_dir: "{tmp_path}/store", domain: {DOMAIN} }}\n'
        f'leafnodes {{ listen: "127.0.0.1:{port}" }}\n'
    )
    (tmp_path / "leaf.conf").write_text(
        f'server_name: leaf\nleafnodes {{ remotes: [{{ url: "nats-leaf://127.0.0.1:{port}" }}] }}\n'
    )
    with NatsServer(tmp_path / "hub", config) as hub, NatsServer(tmp_path / "leaf", tmp_path / "leaf.conf") as leaf:
        work_of_the_hub(project, hub, leaf)
        worker = WorkerProcess(project, leaf.url, "berlin", "w2")
        with contextlib.closing(worker._stream):
            assert worker.process.wait(PATIENCE) == 1
        assert "domain=NAME" in worker.log.read_text()
