"""What a NATS server with the generated configuration refuses: everything that is not of the worker's own site."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from pushsalt.workers import connection, names, setup
from pushsalt.workers.trust import connect_options
from tests.beds import natsserver
from tests.beds.natsserver import NatsServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(natsserver.missing()), reason=natsserver.missing() or "-"),
    # nats-py leaves the socket of a refused login to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

JID = "20261127000000000000"


@pytest.fixture(autouse=True)
def collected():
    """Sockets of refused logins are closed before the next test."""
    yield
    gc.collect()


@pytest.fixture
def server(site, tmp_path):
    for name in ("a", "b"):
        setup.init(name, tmp_path / f"worker-{name}", site.folder, None)
    with NatsServer(tmp_path / "nats", site.folder / "workers/nats.conf") as server:
        yield server


class Client:
    """A NATS client that records the errors that the server sends."""

    def __init__(self):
        self.errors = []

    async def open(self, server, folder, **options):
        import nats

        async def failed(exc):
            self.errors.append(str(exc).lower())

        self.nc = await nats.connect(
            **{**connect_options(server.url, folder), **options},
            allow_reconnect=False,
            connect_timeout=5,
            error_cb=failed,
        )
        return self

    async def refused(self, subject):
        """Whether the server refused the last publication or subscription."""
        await self.nc.flush(timeout=5)
        await asyncio.sleep(0.05)
        return any("permissions violation" in each and subject.lower() in each for each in self.errors)

    async def publish(self, subject, data=b"x", reply=""):
        await self.nc.publish(subject, data, reply=reply)
        return await self.refused(subject)

    async def subscribe(self, subject):
        await self.nc.subscribe(subject)
        return await self.refused(subject)


@pytest.fixture
async def clients(site, tmp_path, server):
    """The controller, and a worker of site b; the streams of both sites are there."""
    made = await connection.connect(server.url, site.folder / "workers")
    await made.setup(["a", "b"])
    controller = await Client().open(server, site.folder / "workers")
    worker = await Client().open(server, tmp_path / "worker-b")
    yield controller, worker
    for each in (controller.nc, worker.nc):
        await each.close()
    await made.close()


async def test_a_worker_cannot_take_work_of_another_site(clients):
    controller, worker = clients
    await controller.nc.jetstream().publish(names.work_subject("a"), b"a shard")
    await controller.nc.jetstream().publish(names.work_subject("b"), b"a shard")
    request = json.dumps({"batch": 1, "no_wait": True}).encode()

    async def taken(site):
        inbox = worker.nc.new_inbox()
        sub = await worker.nc.subscribe(inbox)
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{names.work_stream(site)}.{names.CONSUMER}"
        await worker.nc.publish(subject, request, reply=inbox)
        try:
            return (await sub.next_msg(timeout=1)).data
        except Exception:
            return None

    assert await taken("b") == b"a shard"
    assert await taken("a") is None
    assert await worker.refused(f"CONSUMER.MSG.NEXT.{names.work_stream('a')}")
    info = await controller.nc.jetstream().stream_info(names.work_stream("a"))
    assert info.state.messages == 1


@pytest.mark.parametrize(
    "subject",
    [
        names.returns_subject("a", "w", JID),
        names.progress_subject("a", JID),
        names.work_subject("a"),
        names.work_subject("b"),
        names.control_subject(JID),
        f"$KV.{names.WORKERS_BUCKET}.a.w",
        f"$KV.{names.JOBS_BUCKET}.{JID}",
        f"$KV.{names.STOPPED_BUCKET}.{JID}.a",
        f"$KV.{names.STOPPED_BUCKET}.{JID}.b",
        f"$KV.{names.objects_bucket('a')}.1.x",
        f"$KV.{names.objects_bucket('b')}.1.x",
        f"$JS.API.STREAM.INFO.{names.work_stream('a')}",
        f"$JS.API.STREAM.PURGE.{names.work_stream('b')}",
        f"$JS.API.STREAM.DELETE.{names.RETURNS_STREAM}",
        f"$JS.API.STREAM.MSG.GET.{names.RETURNS_STREAM}",
        f"$JS.API.CONSUMER.CREATE.{names.RETURNS_STREAM}.x.pushsalt.returns.a.>",
        f"$JS.API.CONSUMER.CREATE.{names.RETURNS_STREAM}.x.pushsalt.returns.>",
        f"$JS.API.CONSUMER.CREATE.{names.work_stream('a')}.x",
        f"$JS.API.CONSUMER.DELETE.{names.work_stream('b')}.{names.CONSUMER}",
        f"$JS.API.CONSUMER.NAMES.{names.RETURNS_STREAM}",
        f"$JS.ACK.{names.work_stream('a')}.{names.CONSUMER}.1.1.1.1.0",
        names.EVENTS_LOG,
        names.event_part_subject("x", 0),
        f"$KV.{names.EVENTS_BUCKET}.cursor.x",
        f"$KV.{names.LOCKS_BUCKET}.react",
        f"$JS.API.DIRECT.GET.{names.EVENTS_STREAM}.{names.EVENTS_LOG}",
        f"$JS.API.CONSUMER.CREATE.{names.EVENTS_STREAM}.x.{names.EVENTS_LOG}",
        f"$JS.API.CONSUMER.DURABLE.CREATE.{names.RETURNS_STREAM}.follow-x",
        "$JS.API.STREAM.CREATE.MINE",
        "$SYS.REQ.SERVER.PING",
    ],
)
async def test_a_worker_cannot_publish_there(clients, subject):
    _, worker = clients
    assert await worker.publish(subject)


@pytest.mark.parametrize(
    "subject",
    [
        ">",
        "pushsalt.>",
        "pushsalt.events.>",
        "pushsalt.work.a",
        "pushsalt.returns.>",
        "_INBOX.>",
        "_INBOX_pushsalt_a.>",
        "$KV.>",
        "$JS.>",
    ],
)
async def test_a_worker_cannot_listen_there(clients, subject):
    _, worker = clients
    assert await worker.subscribe(subject)


async def test_a_worker_publishes_returns_of_its_own_site(clients):
    controller, worker = clients
    assert not await worker.publish(names.returns_subject("b", "w", JID))
    info = await controller.nc.jetstream().stream_info(names.RETURNS_STREAM)
    assert info.state.messages == 1


async def test_a_login_without_credentials_is_refused(server):
    with pytest.raises(Exception, match=r"(?i)authorization|violation|nkeys|closed"):
        await Client().open(server, None)


async def test_credentials_of_another_operator_are_refused(server, tmp_path):
    setup.init("b", tmp_path / "elsewhere", None, None)
    with pytest.raises(Exception, match=r"(?i)authorization"):
        await Client().open(server, tmp_path / "elsewhere")


async def test_a_revoked_worker_cannot_come_back(server, site, tmp_path):
    worker = await Client().open(server, tmp_path / "worker-b")
    other = await Client().open(server, tmp_path / "worker-a")
    setup.revoke("b", site.folder)
    await worker.nc.close()
    server.stop()
    server.start()
    with pytest.raises(Exception, match=r"(?i)authorization|revoked"):
        await Client().open(server, tmp_path / "worker-b")
    await other.nc.close()
    again = await Client().open(server, tmp_path / "worker-a")
    assert not await again.publish(names.returns_subject("a", "w", JID))
    await again.nc.close()


async def test_a_new_site_needs_no_new_configuration_of_the_server(server, site, tmp_path):
    setup.init("c", tmp_path / "worker-c", site.folder, None)
    worker = await Client().open(server, tmp_path / "worker-c")
    assert not await worker.publish(names.returns_subject("c", "w", JID))
    await worker.nc.close()
