"""A NATS server whose store is full: no return is lost, and the operator gets a message."""

from __future__ import annotations

import asyncio
import os
import select

import pytest

from pushsalt.workers import connection, names
from tests.beds.faults import IDS, FaultBed, finish, until
from tests.beds.nats import NatsServer, patched

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

#: The job of messages that only fill the store.
FILLER = names.returns_subject("default", "filler", "0")


@pytest.fixture
def server(tmp_path):
    """A server that stores 3 MB."""
    limits = tmp_path / "limits.conf"
    limits.write_text("jetstream { max_file_store: 3MB }\n")
    with NatsServer(tmp_path / "nats", "-c", str(limits)) as found:
        yield found


def ask(url, work):
    """The result of ``work(connection)``, awaited with a new connection."""

    async def asked():
        made = await connection.connect(url)
        try:
            return await work(made)
        finally:
            await made.close()

    return asyncio.run(asked())


async def fill(client):
    await client.setup(["default"])
    for size in (200_000, 20_000, 2_000, 200):
        while True:
            try:
                await client.store(FILLER, os.urandom(size), patience=0)
            except connection.FullError:
                break


async def make_room(client):
    await client.js.purge_stream(names.RETURNS_STREAM, subject=FILLER)


def test_returns_wait_for_room_in_the_store(run: FaultBed):
    with run.worker() as worker:
        process, _ = run.start()
        run.until_all_wait()
        ask(run.server.url, fill)
        run.go()
        until(lambda: "does not store a message" in worker.log.read_text())
        until(lambda: select.select([process.stderr], [], [], 0)[0])  # the command says so, too
        ask(run.server.url, make_room)
        done = finish(process)
        run.all_once(done)
        assert "its return is not stored yet: the NATS server does not store a message: insufficient" in done.err
        assert "limits of the account" in worker.log.read_text()


def test_a_worker_that_cannot_announce_itself_is_not_given_up(run: FaultBed):
    run.project.argv = lambda *words: [*patched(watching_NO_WORKER=1.0, watching__WARN=0.1), *words]
    with run.worker(program=patched(connection_PRESENCE=15.0)):
        process, _ = run.start()
        run.until_all_wait()
        ask(run.server.url, fill)
        told = b""
        while b"what workers return waits until there is room" not in told:  # once its entry has ended
            told += process.stderr.read1()
            assert process.poll() is None, told
        run.go()
        until(lambda: all("three" in run.counted(id) for id in IDS))
        ask(run.server.url, make_room)
        run.all_once(finish(process))


def test_a_job_for_a_full_store_does_not_begin(run: FaultBed):
    run.go()
    with run.worker():
        ask(run.server.url, fill)
        done = run.json("apply", "*", "alone")
        assert (done.code, done.out) == (1, "")
        assert "insufficient resources" in done.err and "look at the limits" in done.err
        assert not any(run.counted(id) for id in IDS)
        ask(run.server.url, make_room)
        run.all_once(run.json("apply", "*", "alone"))


def test_targets_that_a_full_queue_rejects_are_reported(run: FaultBed):
    async def small_queue(made):
        from nats.js import api

        await made._stream(
            name=names.work_stream("default"),
            subjects=[names.work_subject("default")],
            retention=api.RetentionPolicy.WORK_QUEUE,
            discard=api.DiscardPolicy.NEW,
            max_bytes=100,
        )

    run.go()
    ask(run.server.url, small_queue)
    run.project.argv = lambda *words: [*patched(dispatch_FULL=1.0), *words]
    with run.worker():
        done = run.json("apply", "*", "alone")
        assert done.code == 3
        assert [done.error(id)["kind"] for id in IDS] == ["store_full"] * 3
        assert "maximum bytes exceeded" in done.error("t1")["message"]
        assert not any(run.counted(id) for id in IDS)
