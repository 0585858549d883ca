"""One job at a worker: its project, and one target of it from its connection to its stored return."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from pushsalt.errors import EXIT_NO_ANSWER
from pushsalt.events import Reporter
from pushsalt.job import Job
from pushsalt.model import TargetReturn
from pushsalt.run.fanout import failure
from pushsalt.run.fromplan import Kept
from pushsalt.run.recording import Recorder
from pushsalt.run.runner import Runner
from pushsalt.run.single import run
from pushsalt.run.stopping import Stopping
from pushsalt.workers import plans
from pushsalt.workers.messages import Answer, Description
from pushsalt.workers.parties import Box
from pushsalt.workers.siteproject import SiteProject

log = logging.getLogger(__name__)

#: Most projects that are kept for later jobs.
_PROJECTS: Final = 3
#: Seconds that a target waits for the end of what a lost worker has begun.
_ENDING: Final = 30.0
#: Characters of a comment in the progress of a state.
_COMMENT: Final = 300

Store = Callable[[Answer], Awaitable[None]]
#: Called with an id, and whether the answer must be certain: then the server is asked, and waited for.
IsStored = Callable[[str, bool], Awaitable[bool]]


class Projects:
    """The projects that this worker has opened, for one job at a time each."""

    def __init__(self, make: Callable[[dict[str, Any], Reporter], Awaitable[SiteProject]]) -> None:
        """``make`` opens a project that a description names."""
        self._make = make
        self._free: list[tuple[dict[str, Any], SiteProject]] = []

    async def take(self, named: dict[str, Any], reporter: Reporter) -> SiteProject:
        """A project that no other job uses. Raises PushsaltError."""
        for entry in self._free if "local" not in named else ():  # files of this machine may have changed
            if entry[0] == named:
                self._free.remove(entry)
                entry[1].reporter = reporter
                return entry[1]
        project = await self._make(named, reporter)
        await asyncio.to_thread(lambda: project.inventory)
        return project

    def give_back(self, named: dict[str, Any], project: SiteProject) -> None:
        """Keep a project for a later job."""
        self._free.append((named, project))
        while len(self._free) > (_PROJECTS if "local" not in named else 0):
            self._free.pop(0)[1].pool.close()

    def close(self) -> None:
        """End the processes of all kept projects."""
        while self._free:
            self._free.pop()[1].pool.close()


class Progress(Reporter):
    """Collects the progress of a job's targets as short lists; ``tell`` is called with them."""

    def __init__(self, tell: Callable[[list[Any]], None]) -> None:
        self._tell = tell

    def target_phase(self, id: str, phase: str) -> None:
        self._tell([id, "phase", phase])

    def target_chunks(self, id: str, total: int) -> None:
        self._tell([id, "chunks", total])

    def chunk_started(self, id: str, tag: str) -> None:
        self._tell([id, "start", tag])

    def chunk_done(self, id: str, tag: str, ret: dict[str, Any]) -> None:
        result = ret.get("result")
        comment = str(ret.get("comment"))[:_COMMENT] if result is False else ""
        self._tell([id, "state", tag, result, bool(ret.get("changes")), comment])

    def warning(self, id: str | None, text: str) -> None:
        if id:
            self._tell([id, "warning", text[:1000]])
        else:
            log.warning("%s", text)


class _Turn:
    """A target that several shards of a job contain: the first shard runs it, the others store the same return."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.shards = 0
        self.answer: Answer | None = None


class WorkerJob:
    """A job, while this worker has shards of it. ``places`` limits the targets at a time, of all jobs."""

    def __init__(
        self,
        description: Description,
        project: SiteProject,
        places: asyncio.Semaphore,
        width: int,
        plan: Kept | None = None,
    ) -> None:
        """``plan``: that which is run."""
        self._plan = plan
        self._recorder = Recorder() if description.records else None
        self.description = description
        self.project = project
        self.box = Box(description.key)
        self._places = places
        self._width = width
        self._runners: dict[bool, Runner] = {}
        self.tasks: dict[asyncio.Task[object], str] = {}
        #: one for all runners
        self.stopping = Stopping()
        self._last_step = 0
        #: store functions of running targets, by id
        self._stores: dict[str, Store] = {}
        self._stored: set[str] = set()
        #: by id
        self._turns: dict[str, _Turn] = {}

    @property
    def jid(self) -> str:
        return self.description.jid

    def _runner(self, resumes: bool) -> Runner:
        if resumes not in self._runners:
            each = self.description
            options = each.job_options()
            if resumes:  # what a lost worker has begun there may still be ending
                options = replace(options, wait_lock=max(options.wait_lock, _ENDING))
            job = Job(
                each.kind,  # type: ignore[arg-type]
                each.fun,
                each.args,
                each.kwargs,
                options,
                jid=each.jid,
                resumes=resumes or each.resumes,
                survives=each.kind == "call",
                record=self._recorder,
                kept=self._plan,
            )
            runner = Runner(self.project, job, self._width, within=bool(self._runners))
            runner.stopping = self.stopping
            runner.keep = self._keep
            self._runners[resumes] = runner
        return self._runners[resumes]

    async def prepare(self) -> None:
        """Fetch what the project needs. Raises PushsaltError."""
        await self.project.prepare(self.stopping.requested)
        runtime = await asyncio.to_thread(lambda: self.project.runtime)
        if self.description.runtime:
            runtime.use_secret(self.description.runtime)

    def take_over(self, resources: dict[str, dict[str, Any]]) -> None:
        """Store what the managers of targets manage: manager -> what the controller knows of it."""
        for manager, entry in resources.items():
            self.project.managed.take_over(manager, entry)

    async def run(self, id: str, shard: int, store: Store, again: bool, is_stored: IsStored) -> None:
        """Run the job on a target; ``store`` is awaited with its only return.

        ``is_stored`` tells whether another worker has stored the return for this shard: then nothing is done. It is
        asked before the start if the shard is handed out ``again``, and if the target says that the shard has run
        there. If another shard of the job runs the target here, its return is awaited and stored.
        """
        turn = self._turns.setdefault(id, _Turn())
        turn.shards += 1
        try:
            async with turn.lock:
                if turn.answer is None:
                    await self._run(id, shard, store, again, is_stored)
                else:
                    await store(turn.answer)
        finally:
            turn.shards -= 1
            if not turn.shards:
                del self._turns[id]

    async def _run(self, id: str, shard: int, store: Store, again: bool, is_stored: IsStored) -> None:
        self._stores[id] = store
        try:
            try:
                async with self._places:
                    if self.stopping.requested.is_set():
                        raise asyncio.CancelledError
                    if again and await is_stored(id, False):
                        return
                    runner = self._runner(again)
                    runner.handouts[id] = str(shard)
                    result = await run(runner, id)
                    if result.error_kind == "worker_lost" and await is_stored(id, True):
                        return
            except asyncio.CancelledError:
                if not self.stopping.requested.is_set():
                    raise
                result = failure(id, asyncio.CancelledError())
            if id not in self._stored:
                await self._keep(result)
        finally:
            self._stores.pop(id, None)
            self._stored.discard(id)

    async def _keep(self, result: TargetReturn) -> None:
        """Store a return before the target removes its copy; a job that is stopped waits for it, too."""
        answer, turn = self.answer(result), self._turns[result.id]
        storing = asyncio.ensure_future(self._stores[result.id](answer))
        while not storing.done():
            try:
                await asyncio.shield(storing)
            except asyncio.CancelledError:
                if not self.stopping.requested.is_set():
                    raise
        storing.result()
        self._stored.add(result.id)
        if result.exit_code != EXIT_NO_ANSWER:
            turn.answer = answer

    def answer(self, result: TargetReturn) -> Answer:
        """A return with what was learnt about its target."""
        redactor = self.project.redactor
        try:
            learnt = self.project.learnt.taken(self.project.target(result.id).key)
        except Exception:
            learnt = {}
        secrets = redactor.secrets() if redactor and redactor.data(result.ret) != result.ret else []
        plan = plans.recorded(self._recorder, result.id) if self._recorder is not None else None
        return Answer(result, secrets=secrets, plan=plan, **learnt)

    def stop(self, at_once: bool) -> None:
        """Take a step of stopping: see ``pushsalt.run.stopping``."""
        if at_once:
            self.stopping.stop()
        else:
            self.stopping.request()
        step = 1 + at_once
        if step > self._last_step:
            self._last_step = step
            log.warning("job %s was stopped by its controller%s", self.jid, ": at once" if at_once else "")
            self.stopping.cancel(dict(self.tasks))

    async def close(self) -> None:
        """Close the connections with targets."""
        for runner in self._runners.values():
            await runner.close()
