"""Deliveries of shards to a worker: again, after a stop, of work that is old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from pushsalt.jobs.jid import new_jid
from pushsalt.model import Target, TargetReturn
from pushsalt.run.fanout import failure
from pushsalt.session.handshake import from_frame
from pushsalt.workers import connection, messages, names, worker_job
from pushsalt.workers.connection import Pull
from pushsalt.workers.delivery import GivenBackError, Shard, Stored
from pushsalt.workers.messages import Answer, Description, Head
from pushsalt.workers.parties import Box
from pushsalt.workers.reading import read_all
from pushsalt.workers.service import Worker, stop_purpose
from pushsalt.workers.worker_job import WorkerJob

KEY = b"k" * 32


def described(jid: str, resumes: bool = False) -> Description:
    return Description(jid, "raw", "true", [], {}, {}, {}, KEY, resumes)


def worker_job_of(jid: str) -> WorkerJob:
    return WorkerJob(described(jid), None, asyncio.Semaphore(1), 1)  # type: ignore[arg-type]  # it uses no project


class Bed:
    """A worker of the site a that takes nothing by itself."""

    def __init__(self, worker: Worker, made: connection.Connection) -> None:
        self.worker, self.connection = worker, made
        worker.connection = made
        self._pull = Pull(made, names.work_stream("a"), names.CONSUMER)

    async def queue(self, jid: str) -> None:
        head = Head("shard", jid, "a", 1)
        job = self.worker.party.seal("a", messages.pack_description(described(jid)), f"job {jid}")
        head = messages.sealed(Head("shard", jid, "a", 1, job=job), messages.pack_ids(["t"]), Box(KEY))
        await self.connection.store(names.work_subject("a"), messages.encode(head))

    async def taken_by(self, worker: str, jid: str) -> None:
        head = messages.sealed(Head("taken", jid, "a", 1, worker), messages.pack_data({}), Box(KEY))
        subject = names.returns_subject("a", worker, jid)
        await self.connection.store(subject, messages.encode(head), messages.claim_id(head))

    async def delivered(self, *, again: bool = False) -> Shard:
        for _ in range(2 if again else 1):
            (message,) = [each async for each in self._pull.messages(1)]
            if again:
                await message.nak()
                again = False
        return Shard(self.worker, message)

    async def stored(self, jid: str) -> list[tuple[str, str]]:
        """Kinds and workers of what is stored about the job."""
        found = [each async for each in read_all(self.connection, names.returns_subject("a", "*", jid))]
        heads = [messages.decode(data) for _, data in found]
        return [(each.kind, each.worker) for each in heads]

    async def queued(self) -> int:
        return int((await self.connection.js.stream_info(names.work_stream("a"))).state.messages)


@pytest.fixture
def within(server, tmp_path) -> Callable[[Callable[[Bed], Awaitable[None]]], None]:
    def run(test: Callable[[Bed], Awaitable[None]]) -> None:
        async def work() -> None:
            made = await connection.connect(server.url)
            try:
                await made.setup(["a"])
                await test(Bed(Worker("a", server.url, tmp_path, id="w1"), made))
            finally:
                await made.close()

        asyncio.run(work())

    return run


@pytest.mark.slow
def test_a_command_that_no_worker_has_taken_runs_at_a_second_delivery(within):
    """It cannot run here without a project: a refusal, which another worker may use, instead of a lost target."""

    async def test(bed: Bed) -> None:
        jid = new_jid()
        await bed.queue(jid)
        await (await bed.delivered(again=True)).run()
        assert await bed.stored(jid) == [("taken", "w1"), ("refused", "w1")]

    within(test)


@pytest.mark.slow
def test_a_first_delivery_that_comes_late_is_not_a_first_one(within):
    """Its packets were lost for a time, in which another worker has had the shard."""

    async def test(bed: Bed) -> None:
        jid = new_jid()
        await bed.queue(jid)
        shard = await bed.delivered()
        await bed.taken_by("w0", jid)
        await shard.run()
        assert await bed.stored(jid) == [("taken", "w0"), ("taken", "w1"), ("return", "w1"), ("done", "w1")]

    within(test)


@pytest.mark.slow
def test_a_shard_that_was_finished_here_is_only_acknowledged(within):
    async def test(bed: Bed) -> None:
        jid = new_jid()
        await bed.queue(jid)
        await bed.taken_by("w0", jid)
        await (await bed.delivered(again=True)).run()
        stored = [("taken", "w0"), ("taken", "w1"), ("return", "w1"), ("done", "w1")]
        assert await bed.stored(jid) == stored
        await bed.queue(jid)
        await (await bed.delivered()).run()
        assert await bed.stored(jid) == stored and await bed.queued() == 0

    within(test)


@pytest.mark.slow
def test_work_that_is_older_than_it_is_kept_is_refused(within):
    async def test(bed: Bed) -> None:
        jid = "20200101000000000000"
        await bed.queue(jid)
        await (await bed.delivered()).run()
        assert await bed.stored(jid) == [("refused", "w1")]

    within(test)


@pytest.mark.slow
def test_an_order_to_stop_is_read_or_the_shard_is_given_back(within):
    async def test(bed: Bed) -> None:
        job = worker_job_of(new_jid())
        await bed.worker.stop_step(job)
        assert not job.stopping.requested.is_set()
        order = Box(KEY).seal(messages.pack_data({"at_once": False}), stop_purpose(job.jid, "a"))
        await bed.connection.put(names.STOPPED_BUCKET, f"{job.jid}.a", order)
        await bed.worker.stop_step(job)
        assert job.stopping.requested.is_set()
        await bed.connection.js.delete_stream(f"KV_{names.STOPPED_BUCKET}")
        with pytest.raises(GivenBackError, match="whether it was stopped is not known"):
            await bed.worker.stop_step(job)

    within(test)


def test_a_resumed_shard_does_not_join_a_job_that_was_stopped(tmp_path, monkeypatch):
    async def test() -> None:
        worker = Worker("a", "nats://127.0.0.1", tmp_path)
        jid = new_jid()

        async def begin(description: Description) -> WorkerJob:
            return worker_job_of(jid)

        monkeypatch.setattr(worker, "_begin", begin)
        async with worker.job(described(jid)) as first:
            async with worker.job(described(jid, resumes=True)) as second:
                assert second is first
            first.stop(at_once=False)
            async with worker.job(described(jid)) as second:
                assert second is first
            async with worker.job(described(jid, resumes=True)) as second:
                assert second is not first and not second.stopping.requested.is_set()

    asyncio.run(test())


@pytest.mark.parametrize("code, found", [(0, {"t"}), (2, set()), (3, set())])
def test_a_good_return_of_another_shard_counts_for_a_resumed_one(code, found):
    """A failed one does not: the job was resumed to run there again."""
    jid, box = new_jid(), Box(KEY)
    stored = Stored(Head("shard", jid, "a", 2), box, {"t"})
    answer = Answer(TargetReturn("t", True, "value", exit_code=code))
    head = Head("return", jid, "a", 1, "w1", text=messages.short("t"))
    for part in messages.split(head, messages.pack_answer(answer), box):
        stored.take(messages.encode(part))
    assert (set(stored.answers), stored.ids) == (found, set())


def test_a_target_does_not_begin_if_its_return_is_stored_meanwhile(monkeypatch):
    began: list[str] = []
    kept: list[Answer] = []

    async def run(runner: object, id: str) -> None:
        began.append(id)

    async def store(answer: Answer) -> None:
        kept.append(answer)

    async def is_stored(id: str, certain: bool) -> bool:
        return True

    monkeypatch.setattr(worker_job, "run", run)

    async def test() -> None:
        await worker_job_of(new_jid()).run("t", 1, store, True, is_stored)

    asyncio.run(test())
    assert not began and not kept


@pytest.mark.parametrize("is_there, codes", [(True, []), (False, [3])])
def test_a_target_that_has_run_the_shard_for_another_worker_has_its_return(monkeypatch, is_there, codes):
    """If the server does not have it, the return says that the outcome is unknown."""
    kept: list[Answer] = []
    asked: list[bool] = []

    async def run(runner: object, id: str) -> TargetReturn:
        return failure(id, from_frame(Target(id), {"kind": "done"}))

    async def store(answer: Answer) -> None:
        kept.append(answer)

    async def is_stored(id: str, certain: bool) -> bool:
        asked.append(certain)
        return is_there

    monkeypatch.setattr(worker_job, "run", run)
    monkeypatch.setattr(WorkerJob, "_runner", lambda *_: SimpleNamespace(handouts={}))
    monkeypatch.setattr(WorkerJob, "answer", lambda self, result: Answer(result))
    asyncio.run(worker_job_of(new_jid()).run("t", 1, store, False, is_stored))
    assert [each.result.exit_code for each in kept] == codes
    assert asked == [True]


@pytest.mark.parametrize("code, times", [(0, 1), (2, 1), (3, 2)])
def test_two_shards_with_the_same_target_run_it_once(monkeypatch, code, times):
    """The second shard stores the return of the first one, unless the target did not answer."""
    job, began = worker_job_of(new_jid()), []
    kept: dict[str, list[TargetReturn]] = {"first": [], "second": []}

    async def run(runner: object, id: str) -> TargetReturn:
        began.append(id)
        await asyncio.sleep(0.05)
        return TargetReturn(id, True, "value", exit_code=code)

    async def shard(name: str) -> None:
        async def store(answer: Answer) -> None:
            kept[name].append(answer.result)

        async def is_stored(id: str, certain: bool) -> bool:
            return False

        await job.run("t", 1, store, name == "second", is_stored)

    async def test() -> None:
        await asyncio.gather(shard("first"), shard("second"))

    monkeypatch.setattr(worker_job, "run", run)
    monkeypatch.setattr(WorkerJob, "_runner", lambda *_: SimpleNamespace(handouts={}))
    monkeypatch.setattr(WorkerJob, "answer", lambda self, result: Answer(result))
    asyncio.run(test())
    assert began == ["t"] * times
    assert [[each.exit_code for each in found] for found in kept.values()] == [[code], [code]]
