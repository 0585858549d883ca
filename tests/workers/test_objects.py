"""Projects as encrypted objects on a real NATS server: which are sent, and who can read them."""

from __future__ import annotations

import asyncio
import time
import zlib

import pytest

from pushsalt.planning import agefile
from pushsalt.workers import names, objects, setup
from pushsalt.workers.objects import StoreError
from pushsalt.workers.seal import NotAuthentic, controller_keys, site_keys
from pushsalt.workers.trust import connect_options
from tests.beds import natsserver
from tests.beds.natsserver import NatsServer
from thin import wire

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(natsserver.missing()), reason=natsserver.missing())]


@pytest.fixture
def server(site, tmp_path):
    for name in ("a", "b"):
        setup.init(name, tmp_path / f"worker-{name}", site.folder, None)
    with NatsServer(tmp_path / "nats", site.folder / "workers/nats.conf") as server:
        yield server


async def connect(server, folder):
    import nats

    return await nats.connect(**connect_options(server.url, folder), allow_reconnect=False, connect_timeout=5)


class Bed:
    def __init__(self, site, tmp_path, server):
        self.site, self.path, self.server = site, tmp_path, server

    async def upload(self, *sites):
        """Upload the project for these sites; returns (reference, number of messages that were stored)."""
        nc = await connect(self.server, self.site.folder / "workers")
        before = await self.stored(nc, sites)
        keys = controller_keys(self.site.folder / "workers")
        found = await objects.upload(nc, self.site.open(), sites, keys)
        after = await self.stored(nc, sites)
        await nc.close()
        return found, after - before

    @staticmethod
    async def stored(nc, sites):
        from nats.js.errors import NotFoundError

        count = 0
        for site in sites:
            try:
                count += (await nc.jetstream().stream_info(f"KV_{names.objects_bucket(site)}")).state.messages
            except NotFoundError:
                pass
        return count

    async def materialize(self, named, site="a", cache="cache-a"):
        nc = await connect(self.server, self.path / f"worker-{site}")
        try:
            return await objects.materialize(nc, named, self.path / cache, site_keys(self.path / f"worker-{site}"))
        finally:
            await nc.close()


@pytest.fixture
def bed(site, tmp_path, server):
    return Bed(site, tmp_path, server)


async def test_a_worker_makes_the_project_from_the_servers_objects(bed):
    bed.site.write("salt/big.bin", bytes(range(256)) * 8000)
    found, _ = await bed.upload("a")
    folder = await bed.materialize(found.of("a"))
    [tree] = [path for path in (folder / "trees").iterdir() if (path / "big.bin").exists()]
    assert (tree / "big.bin").read_bytes() == bytes(range(256)) * 8000
    assert (tree / "web/init.sls").read_text() == "x: {test.succeed_without_changes: []}"


async def test_stored_objects_are_not_sent_again(bed):
    first, count = await bed.upload("a")
    second, more = await bed.upload("a")
    assert first == second and count > 0 and more == 0
    bed.site.write("salt/web/init.sls", "y: {test.succeed_without_changes: []}")
    third, changed = await bed.upload("a")
    assert third != first
    assert changed == 4  # the file, the list of files, the list of pieces, the root


async def test_a_worker_requests_only_objects_that_it_lacks(bed):
    found, _ = await bed.upload("a")
    folder = await bed.materialize(found.of("a"))
    nc = await connect(bed.server, bed.site.folder / "workers")
    await nc.jetstream().purge_stream(f"KV_{names.objects_bucket('a')}")
    await nc.close()
    assert await bed.materialize(found.of("a")) == folder
    with pytest.raises(StoreError, match="not on the server any more"):
        await bed.materialize(found.of("a"), cache="another")


async def test_server_and_its_disk_see_nothing(bed, tmp_path):
    bed.site.write("salt/plain.sls", "# a line that would be found if it were stored openly\n" * 50)
    await bed.upload("a", "b")
    bed.server.stop()
    stored = b"".join(
        path.read_bytes() for path in (bed.site.folder / "workers/jetstream").rglob("*") if path.is_file()
    )
    assert b"age-encryption.org" in stored
    for secret in (b"of-the-pillar", b"only-of-a1", b"only-of-b1", b"would be found", b"plain.sls", b"192.0.2.1"):
        assert secret not in stored, secret


async def test_each_site_gets_its_own_part_only(bed):
    found, _ = await bed.upload("a", "b")
    folder = await bed.materialize(found.of("b"), site="b", cache="cache-b")
    rows = (folder / "inventory.rows").read_bytes()
    assert b"only-of-b1" in rows and b"only-of-a1" not in rows


async def test_a_worker_cannot_read_the_objects_of_another_site(bed):
    """The server refuses the request; and what it would have sent could not be decrypted."""
    found, _ = await bed.upload("a", "b")
    nc = await connect(bed.server, bed.path / "worker-b")
    generation, name, _ = found.of("a")["objects"].split(".")
    bucket = names.objects_bucket("a")
    with pytest.raises((asyncio.TimeoutError, Exception)):
        await nc.request(f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{generation}.{name}", b"", timeout=1)
    assert "permissions violation" in str(nc.last_error).lower()
    await nc.close()
    controller = await connect(bed.server, bed.site.folder / "workers")
    root = await objects._get(controller, bucket, f"{generation}.{name}")
    await controller.close()
    with pytest.raises(NotAuthentic):
        site_keys(bed.path / "worker-b").open("controller", root, "project")


async def test_objects_that_others_stored_are_refused(bed):
    """The server's owner can write to the bucket, but a worker refuses objects that no controller stored."""
    found, _ = await bed.upload("a")
    generation, name, _ = found.of("a")["objects"].split(".")
    bed.site.write("salt/web/init.sls", "other: {test.succeed_without_changes: []}")
    other, _ = await bed.upload("a")
    nc = await connect(bed.server, bed.site.folder / "workers")
    bucket = names.objects_bucket("a")
    older = await objects._get(nc, bucket, ".".join(other.of("a")["objects"].split(".")[:2]))
    for data in (b"nothing", older):
        await nc.jetstream().publish(f"$KV.{bucket}.{generation}.{name}", data)
        with pytest.raises(NotAuthentic):
            await bed.materialize(found.of("a"))
    await nc.close()


async def test_another_list_of_pieces_is_refused_before_it_is_unpacked(bed):
    """Pieces are not signed: the server's owner can make some with the site's public key."""
    found, _ = await bed.upload("a")
    generation, name, _ = found.of("a")["objects"].split(".")
    controller = controller_keys(bed.site.folder / "workers")
    nc = await connect(bed.server, bed.path / "worker-a")
    keys = site_keys(bed.path / "worker-a")
    reader = objects._Reader(nc, "a", generation, keys)
    opened = keys.open("controller", await reader.get(name), "project")
    [piece, *_] = wire.unpack(zlib.decompress(opened))["index"]
    await nc.close()
    nc = await connect(bed.server, bed.site.folder / "workers")
    bomb = b"\x81\xa1a\xdd" + (400_000).to_bytes(4, "big") + b"\x80" * 400_000
    data = agefile.encrypt(zlib.compress(bomb), [controller.peer("a").seal])
    await nc.jetstream().publish(f"$KV.{names.objects_bucket('a')}.{generation}.{piece}", data)
    await nc.close()
    with pytest.raises(NotAuthentic, match="was altered"):
        await bed.materialize(found.of("a"))


async def test_pieces_of_older_generations_are_removed(bed, monkeypatch):
    now = time.time()
    await bed.upload("a")
    monkeypatch.setattr(objects.time, "time", lambda: now + 3 * 30 * 86400)
    _, difference = await bed.upload("a")
    assert difference == 0  # as many were stored as removed


async def test_a_server_without_jetstream_is_an_error(site, tmp_path):
    setup.init("a", tmp_path / "worker-a", site.folder, None)
    config = tmp_path / "plain.conf"
    config.write_text("max_connections: 10\n")
    with NatsServer(tmp_path / "nats", config) as server:
        nc = await connect(server, None)
        with pytest.raises(StoreError, match="no JetStream"):
            await objects.upload(nc, site.open(), ["a"], controller_keys(site.folder / "workers"))
        await nc.close()
