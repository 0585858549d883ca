"""Two servers, one a leaf of the other: workers of a site connect to the leaf, controllers to the hub."""

from __future__ import annotations

import contextlib
import json

import pytest

from pushsalt.demo.sshd import free_port
from pushsalt.workers import connection, names, objects, setup
from pushsalt.workers.connection import Pull
from pushsalt.workers.seal import controller_keys, site_keys
from tests.beds import natsserver
from tests.beds.natsserver import NatsServer
from tests.beds.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(natsserver.missing()), reason=natsserver.missing() or "-")]


@pytest.fixture
def servers(site, tmp_path):
    """(hub, leaf of the site a)."""
    for name in ("a", "b"):
        setup.init(name, tmp_path / f"worker-{name}", site.folder, None)
    port = free_port()
    hub_config, leaf_config = site.folder / "workers/nats.conf", tmp_path / "worker-a/leaf.conf"
    hub_config.write_text(f'{hub_config.read_text()}\nleafnodes {{ listen: "127.0.0.1:{port}" }}\n')
    leaf_config.write_text(leaf_config.read_text().replace(setup.HUB, f"nats-leaf://127.0.0.1:{port}"))
    with NatsServer(tmp_path / "hub", hub_config) as hub, NatsServer(tmp_path / "leaf", leaf_config) as leaf:
        wait_until(lambda: "Leafnode connection created" in leaf.log.read_text())
        yield hub, leaf


async def test_work_objects_and_returns_pass_a_leaf(site, tmp_path, servers):
    hub, leaf = servers
    controller = await connection.connect(hub.url, site.folder / "workers")
    worker = await connection.connect(leaf.url, tmp_path / "worker-a")
    try:
        await controller.setup(["a", "b"])
        found = await objects.upload(controller.nc, site.open(), ["a"], controller_keys(site.folder / "workers"))
        keys = site_keys(tmp_path / "worker-a")
        folder = await objects.materialize(worker.nc, found.of("a"), tmp_path / "cache", keys)
        assert (folder / "inventory.rows").is_file()
        await controller.store(names.work_subject("a"), b"a shard", "1")
        pull = Pull(worker, names.work_stream("a"), names.CONSUMER)
        taken = [message async for message in pull.messages(1, 5.0)]
        assert [message.data for message in taken] == [b"a shard"]
        await taken[0].ack_sync(timeout=5)
        await worker.store(names.returns_subject("a", "w", "20261127000000000000"), b"a return", "2")
        info = await controller.js.stream_info(names.RETURNS_STREAM)
        assert info.state.messages == 1
    finally:
        await worker.close()
        await controller.close()


async def test_a_leaf_passes_on_nothing_of_another_site(site, tmp_path, servers):
    """The leaf has the credentials of its site, so even a worker with those of another one gets nothing through it."""
    hub, leaf = servers
    controller = await connection.connect(hub.url, site.folder / "workers")
    await controller.setup(["a", "b"])
    await controller.store(names.work_subject("b"), b"a shard", "1")
    stranger = await connection.connect(leaf.url, tmp_path / "worker-b")
    try:
        inbox = stranger.nc.new_inbox()
        sub = await stranger.nc.subscribe(inbox)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{names.work_stream('b')}.{names.CONSUMER}"
        await stranger.nc.publish(subject, json.dumps({"batch": 1, "no_wait": True}).encode(), reply=inbox)
        received = None
        with contextlib.suppress(Exception):
            received = (await sub.next_msg(timeout=1)).data
        assert not received
        assert (await controller.js.stream_info(names.work_stream("b"))).state.messages == 1
    finally:
        await stranger.close()
        await controller.close()
