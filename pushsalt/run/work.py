"""The steps of a job on one target: connection, session, rendering, states; called by ``pushsalt.run.single``."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt import transport
from pushsalt.errors import EXIT_OK, TargetError
from pushsalt.job import Job, JobOptions
from pushsalt.minion import mine
from pushsalt.model import Target, tag_of
from pushsalt.run.discovery import Discovery
from pushsalt.run.jobstart import lock_holder

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from pushsalt.minion.minion import Minion
    from pushsalt.model import TargetReturn
    from pushsalt.planning.forecast import Forecast
    from pushsalt.run.answers import Answers
    from pushsalt.run.rendered import Called, Planned, RenderedTarget
    from pushsalt.run.runner import Runner
    from pushsalt.session.collecting import Collector
    from pushsalt.session.questions import Serve
    from pushsalt.session.session import Session
    from pushsalt.session.start import LockRequest, Start

log = logging.getLogger(__name__)

#: Limit for the error log lines that are delayed until the return is known, which may repeat them.
LOGGED: Final = 500


class Work:
    """One target's part of a job: its steps, their times and results."""

    def __init__(self, runner: Runner, target: Target, name: str) -> None:
        """``name`` is the target's name in the job: ids of resources are not unique."""
        self.name = name
        self.runner = runner
        self.project = runner.project
        self.job = runner.job
        self.options = _options(runner.job)
        self.target = target
        self.reporter = runner.project.reporter
        self.session: Session | None = None
        self._collector: Collector | None = None
        self._connection: transport.Connection | None = None
        self.phases: dict[str, float] = {}
        self.states: dict[str, Any] = {}
        #: tag -> notes for a plan (thin.detail)
        self.details: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        #: the result of a dry run for a plan
        self.forecast: Forecast | None = None
        #: answers questions in place of ``answers()`` while a plan is run
        self.kept_answers: Serve | None = None
        self.total, self._began = 0, False
        self._returned = False
        #: whether a function call was sent to the target
        self.sent = False
        self.warnings: list[str] = []
        #: JIDs of earlier runs whose returns the target keeps
        self.kept: list[str] = []
        #: whether the run continues on the target without this command (``--detach``), and has no return yet
        self.left = False
        #: error log lines of the target that are delayed until the return is known
        self._logged: list[str] = []
        self.discovery = Discovery(self.project, target, runner.in_thread)
        self._rendered: RenderedTarget | None = None
        self._answers: Answers | None = None
        self._ends: float | None = None
        self._opts: dict[str, Any] | None = None
        #: (mine functions that are called with the job, futures of their values)
        self.mined: tuple[list[mine.MineFunction], list[asyncio.Future[Any]]] = ([], [])

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A context manager that adds its wall time to the phase of this name."""
        self.reporter.target_phase(self.name, name)
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self.phases[name] = self.phases.get(name, 0.0) + took
            log.debug("%s: %s: %.0f ms", self.name, name, took * 1000)

    def limit(self, seconds: float) -> None:
        """Set the time limit of the job on this target, counted from now."""
        self._ends = time.monotonic() + seconds

    def how_far(self) -> str:
        """The progress of a run of states, for messages."""
        if not self.total:
            return ""
        last = next(reversed(self.states), None)
        return f"; {len(self.states)} of {self.total} states had run" + (f", the last: {last}" if last else "")

    # rendering -------------------------------------------------------------------------------------------------------

    def offline_grains(self) -> dict[str, Any]:
        """The grains of the inventory, for a target without a connection."""
        return {"id": self.target.id, **self.target.grains}

    async def called(self, rendered: RenderedTarget) -> Called:
        """The result of the job's function. The pillar, if it was compiled, is cached for targeting."""
        with self.phase("render"):
            plan = self.target.transport != "offline"
            called = await rendered.call(self.job.fun, self.args(), self.job.kwargs, plan=plan)
        pillar, project = called.pillar, self.project
        if pillar is not None and not project.is_kept(self.target, pillar):
            await self.runner.in_thread(partial(project.remember_pillar, self.target, pillar))
        return called

    # over a connection -----------------------------------------------------------------------------------------------

    async def start(self, *, grains: bool, lock: bool, modules: bool, clean: bool, survives: bool = False) -> Start:
        """The parameters of a session. ``grains``: request grains; ``lock``: take the lock; ``modules``: send users'
        own modules; ``clean``: remove pushsalt's files from the target; ``survives``: the run continues without a
        connection."""
        from pushsalt.session.start import Start

        opts, project = self.opts(), self.project
        saltenv = str(opts.get("saltenv") or "base")
        return Start(
            opts=opts,
            grains=dict(self.target.grains),
            want_grains=grains,
            lock=self.lock_request() if lock else None,
            deadline=self.options.timeout,
            log_level=self.options.log_level,
            clean=clean,
            custom=project.custom_archive(saltenv) if modules else None,
            salt=project.salt_python.start_fields() if project.salt_python is not None else None,
            resource=await self._resource() if self.target.resource else None,
            job=self.runner.jid if survives and self.target.place == self.target.key else "",
            reconnect=float(project.config.opts["reconnect"]),
            jid=self.runner.jid,
            once=self.runner.handouts.get(self.name, ""),
        )

    @property
    def outlives(self) -> bool:
        """Whether the run continues on the target when its connection breaks; false with ``reconnect: 0``."""
        return bool(self.project.config.opts["reconnect"]) or self.options.detach

    @property
    def is_kept(self) -> bool:
        """Whether the target stores the run's data until the session ends."""
        return self._collector is not None or (self.session is not None and self.session.survives)

    def stored(self, result: TargetReturn) -> None:
        """Handle that the return is stored: at the end of the session, the target notes that the job has run."""
        once, session = self.runner.handouts.get(self.name), self._collector or self.session
        if once and session is not None and session.survives:
            session.stored(once, result.exit_code == EXIT_OK)

    async def connect(self) -> transport.Connection:
        """The connection, which is opened on the first call. Raises TargetError."""
        if self._connection is None:
            with self.phase("connect"):
                self._connection = await self.runner.connect(self.target)
        return self._connection

    async def connect_again(self) -> transport.Connection:
        """A new connection in place of one that broke. Raises TargetError."""
        broken, self._connection = self._connection, None
        if broken is not None:
            await transport.disconnect(broken)
        self._connection = await transport.connect(self.target, self.runner.connecting)
        return self._connection

    async def collector(self, start: Start) -> Collector:
        """A session that collects a run which an earlier process has begun. Raises TargetError."""
        from pushsalt.session.collecting import Collector
        from pushsalt.session.survival import Reconnect

        if self._connection is None:
            await self.connect()
        assert self._connection is not None
        with self.phase("collect"):
            self._collector = await Collector.begin(
                self.target,
                self._connection,
                self.project.runtime,
                start=start,
                reconnect=Reconnect(start.reconnect, self.connect_again),
                on_event=self._event,
                warnings=self.warnings,
            )
        return self._collector

    async def end_collecting(self) -> None:
        """End the session of ``collector``; the target removes the run's data if the run has ended."""
        collector, self._collector = self._collector, None
        if collector is not None:
            await collector.close()

    async def take_grains(self, session: Session) -> dict[str, Any]:
        """The grains that were requested with the session's start; they are cached."""
        with self.phase("grains"):
            grains: dict[str, Any] = session.info.get("grains") or await session.grains()
            await self.runner.in_thread(partial(self.project.remember_grains, self.target, grains))
        return grains

    async def begin(self, start: Start, first: list[dict[str, Any]], *, may_install: bool) -> Session:
        """Begin a session; with ``bootstrap`` and ``may_install``, install Python if it is missing."""
        with self.phase("bootstrap"):
            self.session = await self._begun(start, first, may_install)
        return self.session

    async def _begun(self, start: Start, first: list[dict[str, Any]], may_install: bool) -> Session:
        from pushsalt.session import bootstrap
        from pushsalt.session.session import Session
        from pushsalt.session.start import channels_of
        from pushsalt.session.survival import Reconnect

        connection = self._connection
        assert connection is not None
        open_one = partial(
            Session.open,
            self.target,
            connection,
            self.project.runtime,
            start=start,
            first=first,
            serve=self._serve,
            on_event=self._event,
            warnings=self.warnings,
            channels=channels_of(self.target, connection, self.runner.connecting.keeper, start, self.project.runtime),
            reconnect=Reconnect(start.reconnect, self.connect_again) if start.job else None,
        )
        try:
            return await open_one()
        except TargetError as exc:
            if not may_install or not bootstrap.helps(exc, self.target):
                raise
            wanted = self.target.bootstrap
            if not (self.project.config.opts["bootstrap"] if wanted is None else wanted):
                raise TargetError(exc.kind, exc.message, f"{exc.hint}; `bootstrap: true` would install it") from exc
            if self.options.test:
                hint = "leave out --test; `bootstrap: true` then installs Python first"
                raise TargetError(exc.kind, f"{exc.message}, and a dry run installs none", hint) from exc
        await self.runner.recorded.wait()
        self.reporter.target_phase(self.name, "install Python")
        self.warnings.append(await bootstrap.install(self.target, connection))
        return await open_one()

    def args(self) -> list[Any]:
        """The arguments of the function; for ``apply``, the list of SLS names is one argument."""
        if self.job.kind == "apply":
            return [self.job.args] if self.job.args else []
        return self.job.args

    def opts(self) -> dict[str, Any]:
        """The options of the target in this job; they must not be changed."""
        if self._opts is None:
            options = self.options
            self._opts = self.runner.target_options.of(
                self.target, options.test or None, options.saltenv, options.pillarenv
            )
        return self._opts

    def render(self, grains: dict[str, Any]) -> RenderedTarget:
        """The target with these grains, for rendering."""
        from pushsalt.run.rendered import RenderedTarget

        self.runner.ready_to_render()
        session = self.session
        self._rendered = RenderedTarget(
            self.project,
            self.target,
            self.options,
            grains,
            calls=None if session is None else session.call,
            in_thread=self.runner.answer_in_thread,
            time_left=self._time_left,
            discover=None if session is None or self.target.resource else self._discover,
        )
        return self._rendered

    def _time_left(self) -> float | None:
        return None if self._ends is None else max(0.0, self._ends - time.monotonic())

    # managed resources -----------------------------------------------------------------------------------------------

    def lock_request(self) -> LockRequest:
        """The lock to request. A resource that is served by its manager's runtime has a lock of its own there.

        Ids with the transport ``local`` have one each, too, like several minions of Salt on one machine.
        """
        from pushsalt.session.start import LockRequest

        own = hashlib.sha256(self.target.key.encode()).hexdigest()[:16]
        shared = self.target.transport == "local" or (self.target.resource and not self.target.enter)
        name = f"lock-{own}" if shared else ""
        return LockRequest(lock_holder(self.runner.jid), self.options.wait_lock, name)

    async def _resource(self) -> dict[str, Any]:
        """The fields about the resource that the session serves."""
        target = self.target
        declared: Any = {}
        if not target.enter:
            declared = (await self.runner.declared(target.manager)).get(target.resource, {})
        return {"type": target.resource, "id": target.id, "inside": bool(target.enter), "declared": declared}

    async def _discover(self, pillar: dict[str, Any]) -> dict[str, list[str]]:
        """Discover the resources that the target manages by this pillar."""
        assert self.session is not None
        return await self.discovery.discover(self.session, self.discovery.declared_in(pillar))

    def stop_softly(self) -> bool:
        """End the run of states after the running one; returns whether states were running."""
        if self.session is None or not self.total or self._returned:
            return False
        self.session.stop()
        return True

    async def run_states(self, session: Session, plan: Planned, mine_functions: Any) -> dict[str, Any]:
        """Run the states of a plan on the target: tag -> the state's return."""
        chunks = plan.fields["chunks"]
        sls = ", ".join(dict.fromkeys(str(chunk.get("__sls__", "")) for chunk in chunks))
        log.debug("%s: %d states of %s, with %d files", self.name, len(chunks), sls, len(plan.blobs))
        self.answers().chunks = {tag_of(chunk): chunk for chunk in chunks}
        self.total = len(chunks)
        self.reporter.target_chunks(self.name, self.total)
        with self.phase("run"):
            dry = plan.fields["test"] or plan.fields["mock"]
            later = dry or self.options.detach
            mined = [] if later else mine.with_states(self.project, self.target, mine_functions)
            message = {"k": "run", **plan.fields, **({"detail": True} if self.options.plan else {}), **self.backups()}
            message.update(self.runner.of_orchestration)
            if self.runner.done:
                message["done"] = self.runner.done
            run = session.run(message, plan.blobs.__getitem__, [each.message() for each in mined])
            await self.until_left(session, run, lambda: self._began or bool(self.states))
            self._returned = True
        self.mined = mined, session.after
        return {**plan.disabled, **self.states}

    def backups(self) -> dict[str, Any]:
        """The field of the message ``run`` that requests backups of files for an undo; empty if none are wanted."""
        return {"backups": True} if self.options.backups or self.opts().get("backups") else {}

    async def until_left(self, session: Session, run: Coroutine[Any, Any, Any], has_begun: Callable[[], bool]) -> Any:
        """The value of a run. With ``--detach``: None, and ``left`` is True, as soon as the run can go on by itself."""
        if not self.options.detach:
            return await run
        from pushsalt.run import leaving

        text = "--detach has no effect: the target cannot continue the run by itself; waiting for its end"
        cannot = partial(self.reporter.warning, self.name, text)
        self.left, value = await leaving.until_left(session, run, has_begun, cannot)
        return value

    def begin_again(self) -> None:
        """Discard the data of an earlier run, before the job is run again."""
        self.states.clear()
        self.details.clear()
        self.events.clear()

    async def keep_mine(self) -> None:
        """Store the values of the mine functions; the target's return is not delayed by it."""
        try:
            with self.phase("mine"):
                values = await mine.collect(self.target, *self.mined)
                await self.runner.in_thread(partial(mine.store, self.project, self.target, values))
        except asyncio.CancelledError:
            log.debug("%s: stopped: its mine values were not updated", self.target.id)

    # events from the target ------------------------------------------------------------------------------------------

    def _event(self, message: dict[str, Any]) -> None:
        kind = message.get("k")
        if kind == "state":
            self.states[message["tag"]] = message["ret"]
            if message.get("detail"):
                from pushsalt.planning.notes import clean

                self.details[message["tag"]] = clean(message["detail"])
            self.settle(in_return=message["ret"].get("result") is False)
            self.reporter.chunk_done(self.name, message["tag"], message["ret"])
            if self.runner.on_state is not None:
                self.runner.on_state(self.name, message["tag"], message["ret"])
        elif kind == "event":
            if "tag" in message:
                self._kept(str(message["tag"]), message.get("data"), by_state=False)
            else:
                self._fired(message["name"], message["ret"])
        elif kind == "start":
            self._began = True
            self.reporter.chunk_started(self.name, message["tag"])
        elif kind == "log":
            level = logging.getLevelName(str(message.get("level", "warning")).upper())
            text = message.get("text") if self.runner.alone else f"{self.target.id}: {message.get('text')}"
            if level == logging.ERROR and (self.total or self.sent) and not log.isEnabledFor(logging.INFO):
                self._logged.append(str(text))
                if len(self._logged) > LOGGED:
                    self.settle(in_return=False)
            else:
                number = level if isinstance(level, int) else logging.WARNING
                log.log(number, "%s", text, extra={"target": self.target.id})
        elif kind == "lost":
            text = f"{message['why'].removeprefix(f'{self.target.id}: ')}: the run continues there"
            self.reporter.warning(self.name, f"{text}; connecting again for {message['seconds']:g} s")
        elif kind == "resumed":
            text = f"the connection was lost during the run and restored after {message['seconds']:.0f} s"
            self.warnings.append(f"{text}; no return is missing")
        elif kind == "kept":
            self.kept = message["jids"]
        elif kind == "waiting":
            self.reporter.warning(self.name, f"waits until another run has ended: {message.get('holder')}")

    async def close(self) -> None:
        """End the session and the connection."""
        if self._rendered is not None:
            self._rendered.close()
        try:
            await self.end_collecting()
            if self.session is not None:
                await self.session.close()
        finally:
            if self._connection is not None:
                await transport.disconnect(self._connection)

    def settle(self, *, in_return: bool) -> None:
        """Log the delayed errors, unless the return contains them (``in_return``).

        Called when the return is known, or when there will be none.
        """
        texts, self._logged = self._logged, []
        for text in texts if not in_return else ():
            log.error("%s", text, extra={"target": self.target.id})

    def _fired(self, name: Any, ret: dict[str, Any]) -> None:
        """Handle the event of a state with ``fire_event: name`` (True, or the end of the tag). Salt: State.event."""
        last = name if isinstance(name, str) else str(ret.get("name"))
        self._kept(f"salt/state_result/{self.runner.jid}/{self.target.id}/{last}", {"ret": ret}, by_state=True)

    def _kept(self, tag: str, data: Any, *, by_state: bool) -> None:
        if self.runner.on_event is not None:
            self.runner.on_event(self.name, tag, data, by_state)
        data = data if isinstance(data, dict) else {"data": data}
        self.events.append({"tag": tag, "data": data})
        self.reporter.event(self.name, tag, data)

    def answers(self) -> Answers:
        from pushsalt.run.answers import Answers

        if self._answers is None:
            self._answers = Answers(self._asked_minion, self.runner.answer_in_thread, self._asked_target)
            self._answers.arguments = [self.job.args, self.job.kwargs]
            self._answers.steps = self.runner.steps
        return self._answers

    async def _serve(self, question: dict[str, Any]) -> dict[str, Any]:
        if self.kept_answers is not None:
            return await self.kept_answers(question)
        answer: dict[str, Any] = await self.answers()(question)
        if self.job.record is not None:
            self.job.record.of(self.name).answered(question, answer)
        return answer

    async def _asked_target(self) -> RenderedTarget:
        """The rendered target for a question; a plain call has not requested grains, so it is made here."""
        if self._rendered is None:
            assert self.session is not None
            self.render(await self.session.grains())
        assert self._rendered is not None
        return self._rendered

    async def _asked_minion(self) -> Minion:
        """The ``Minion`` for a question about files, networks and the like."""
        return (await self._asked_target()).minion()


def _options(job: Job) -> JobOptions:
    """The job's options, overridden by arguments of the state function (``pillar``, ``saltenv`` …).

    So templates and modules of the run have the same pillar and environment as the states.
    """
    options: dict[str, Any] = {}
    if job.fun.startswith("state."):
        for name in ("saltenv", "pillarenv", "pillar"):
            if isinstance(job.kwargs.get(name), dict if name == "pillar" else str):
                options[name] = job.kwargs[name]
        if job.kwargs.get("test") is True:
            options["test"] = True
    return replace(job.options, **options) if options else job.options
