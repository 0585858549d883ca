"""Shards that nobody works on: their targets get a return, or are handed out again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pushsalt.events import Reporter
from pushsalt.model import TargetReturn
from pushsalt.workers import connection, messages, names, watching
from pushsalt.workers.ledger import Ledger
from pushsalt.workers.messages import Head
from pushsalt.workers.parties import Plain
from pushsalt.workers.reading import read_all
from pushsalt.workers.watching import Watch

pytestmark = pytest.mark.slow

JID = "20261126101500000000"


class Bed:
    """A job with the shard 1 of the site a, on a real server."""

    def __init__(self, made: connection.Connection) -> None:
        self.connection = made
        self.ledger = self.new_ledger()
        self.shard = self.ledger.add(1, "a", ["a1", "a2"])
        self.returns: list[TargetReturn] = []
        self.again: list[list[str]] = []

    @staticmethod
    def new_ledger() -> Ledger:
        return Ledger(JID, b"k" * 32, lambda text: None, lambda id: "a", Plain())

    def watch(self, *, resumes: bool = False, old: bool = True) -> Watch:
        ledger = self.ledger if old else self.new_ledger()
        found = Watch(self.connection, ledger, Reporter(), self.returns.append, self.again.append if resumes else None)
        found._ledger = self.ledger
        return found

    def take(self, kind: str, worker: str = "w1") -> None:
        head = messages.sealed(Head(kind, JID, "a", 1, worker), messages.pack_data({}), self.ledger.box("a"))
        self.ledger.take(names.returns_subject("a", worker, JID), messages.encode(head))

    async def queue(self, jid: str = JID, n: int = 1) -> int:
        head = messages.encode(Head("shard", jid, "a", n))
        return await self.connection.store(names.work_subject("a"), head)

    async def queued(self) -> int:
        return int((await self.connection.js.stream_info(names.work_stream("a"))).state.messages)

    @property
    def errors(self) -> list[tuple[str, Any]]:
        return [(each.id, each.error_kind) for each in self.returns]


@pytest.fixture
def within(server, monkeypatch) -> Callable[[Callable[[Bed], Awaitable[None]]], None]:
    monkeypatch.setattr(watching, "NO_WORKER", 0.0)

    def run(test: Callable[[Bed], Awaitable[None]]) -> None:
        async def work() -> None:
            made = await connection.connect(server.url)
            try:
                await made.setup(["a"])
                await test(Bed(made))
            finally:
                await made.close()

        asyncio.run(work())

    return run


LOST = [("a1", "worker_lost"), ("a2", "worker_lost")]


def test_a_shard_that_is_done_without_usable_returns_ends_its_targets(within):
    async def test(bed: Bed) -> None:
        bed.take("taken")
        bed.take("done")
        await bed.watch(old=False).look()
        assert bed.errors == LOST
        assert "its return was stored, but cannot be used" in str(bed.returns[0].ret)

    within(test)


def test_a_shard_that_is_given_up_is_removed_and_is_over_for_later_commands(within):
    async def test(bed: Bed) -> None:
        await bed.queue("20261126101500000001")
        bed.shard.seq = await bed.queue()
        await bed.watch(old=False).look()
        assert bed.errors == [("a1", "no_worker"), ("a2", "no_worker")]
        assert await bed.queued() == 1
        later = bed.new_ledger()
        later.add(1, "a", ["a1", "a2"])
        async for subject, data in read_all(bed.connection, names.returns_subject(jid=JID)):
            later.take(subject, data)
        assert later.shards[1].given_up and later.shards[1].is_over

    within(test)


def test_a_shard_of_an_earlier_command_is_found_in_its_queue(within):
    async def test(bed: Bed) -> None:
        await bed.queue("20261126101500000001")
        await bed.queue()
        await bed.queue(n=2)
        await bed.watch().look()
        assert bed.errors == [("a1", "no_worker"), ("a2", "no_worker")]
        assert await bed.queued() == 2

    within(test)


def test_only_shards_that_were_in_the_queue_are_reported_as_not_run(within):
    async def test(bed: Bed) -> None:
        await bed.queue(n=2)
        await bed.watch().look()
        assert bed.errors == LOST
        assert "what was done is not known" in str(bed.returns[0].ret)

    within(test)


def test_a_shard_that_is_being_stored_is_not_given_up(within):
    async def test(bed: Bed) -> None:
        await bed.watch(old=False, resumes=True).look()
        assert not bed.returns and not bed.shard.is_over

    within(test)


def test_a_lost_shard_of_an_earlier_command_is_handed_out_again(within, monkeypatch):
    async def test(bed: Bed) -> None:
        monkeypatch.setattr(watching, "NO_WORKER", 60.0)
        watch = bed.watch(resumes=True)
        await watch.look()
        assert not bed.again
        await watch.look()
        assert bed.again == [["a1", "a2"]] and not bed.returns and bed.shard.is_over

    within(test)


def test_a_controller_that_only_collects_gives_up_a_lost_shard(within, monkeypatch):
    async def test(bed: Bed) -> None:
        monkeypatch.setattr(watching, "NO_WORKER", 60.0)
        watch = bed.watch(old=False)
        await watch.look()
        assert not bed.returns
        await watch.look()
        assert bed.errors == LOST

    within(test)
