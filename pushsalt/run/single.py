"""One target's job from connecting to its return.

Everything that can go wrong on the way is a TargetError, FunctionError or StateError here, and becomes that target's
return; nothing of it touches another target.
"""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import logging
import os
import socket
import time
from collections import ChainMap
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from pushsalt import transport
from pushsalt.errors import EXIT_FAILED, FunctionError, TargetError
from pushsalt.model import Explained, Target, TargetReturn
from pushsalt.run import mine
from pushsalt.run.discovery import Discovery
from pushsalt.run.job import Job, JobOptions
from pushsalt.run.salt import callable_from_outside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pushsalt.children.rendered import Called, Planned, RenderedTarget
    from pushsalt.run.answers import Answers
    from pushsalt.run.line import Lines
    from pushsalt.run.minion import Minion
    from pushsalt.run.runner import Runner
    from pushsalt.run.session import LockRequest, Session, Start

log = logging.getLogger(__name__)

#: Functions that return a pillar that could not be compiled all the same, with ``_errors``.
_COMPILES_PILLAR: Final = ("pillar.items", "pillar.data", "pillar.ext")

#: Functions that run states: no two of them at once on a target.
RUNS_STATES = frozenset(
    f"state.{name}"
    for name in (
        "apply",
        "sls",
        "highstate",
        "single",
        "low",
        "high",
        "template",
        "template_str",
        "top",
        "sls_id",
        "test",
        "request",
        "run_request",
    )
)


class Work:
    """The steps of one target, its phases timed."""

    def __init__(self, runner: Runner, target: Target, name: str) -> None:
        """``name`` is what the job calls the target: a resource may share its id with another."""
        self.name = name
        self.runner = runner
        self.project = runner.project
        self.job = runner.job
        self.options = _options(runner.job)
        self.target = target
        self.reporter = runner.project.reporter
        self.session: Session | None = None
        self._connection: transport.Connection | None = None
        self.phases: dict[str, float] = {}
        self.states: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self.total = 0
        #: a call that the target works on by itself is on its way
        self.sent = False
        self.warnings: list[str] = []
        #: errors that the target has logged, until it is known whether a return says the same
        self._logged: list[str] = []
        self._behind = Discovery(self.project, target, runner.in_thread)
        self._rendered: RenderedTarget | None = None
        self._answers: Answers | None = None
        self._ends: float | None = None
        #: what is called for the mine besides the job, and what will be answered
        self._mined: tuple[list[mine.MineFunction], list[asyncio.Future[Any]]] = ([], [])

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Wall time of a phase, added up under its name."""
        self.reporter.target_phase(self.name, name)
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self.phases[name] = self.phases.get(name, 0.0) + took
            log.debug("%s: %s: %.0f ms", self.name, name, took * 1000)

    async def go(self) -> TargetReturn:
        try:
            value, retcode = await self._within_time()
            if self._mined[0]:
                await self._keep_mine()
        except asyncio.CancelledError:
            raise self._interrupted() from None
        except TargetError as exc:
            if exc.kind != "excess" and self._how_far() not in exc.message:
                raise TargetError(exc.kind, exc.message + self._how_far(), exc.hint) from exc
            raise
        finally:
            self._settle(said=True)
            if self._rendered is not None:
                self._rendered.close()
            try:
                if self.session is not None:
                    await self.session.close()
            finally:
                if self._connection is not None:
                    await self._connection.close()
        runs_here = self.project.functions.named(self.job.fun) is not None
        code = EXIT_FAILED if retcode else 0
        result = TargetReturn(self.name, value, phases=self.phases, exit_code=code, retcode=retcode)
        if self.session is not None:
            result.round_trips = self.session.round_trips
            if not runs_here and self.session.info.get("salt"):
                result.salt = str(self.session.info["salt"])[:40]
        if isinstance(value, list) and (
            self.job.fun in RUNS_STATES or any(isinstance(text, Explained) for text in value)
        ):
            result.shape, result.exit_code = "errors", EXIT_FAILED
        elif self.job.fun in RUNS_STATES and self.job.fun != "state.low" and isinstance(value, dict):
            result.shape = "states"
            if any(ret.get("result") is False for ret in value.values() if isinstance(ret, dict)):
                result.exit_code = EXIT_FAILED
        elif self.job.fun in _COMPILES_PILLAR and isinstance(value, dict) and value.get("_errors"):
            result.exit_code = EXIT_FAILED
        return result

    async def _within_time(self) -> tuple[Any, int]:
        """The value and Salt's retcode, in the job's time."""
        opts = ChainMap(dict(self.target.minion_opts), self.project.config.opts)
        if self.job.kind == "call" and not callable_from_outside(opts, self.job.fun):
            raise FunctionError(
                "unknown_function",
                f"'{self.job.fun}' is not available.",
                "whitelist_modules or disable_modules of this target forbids it",
                "CommandExecutionError",
            )
        if self.options.timeout is not None:
            self._ends = time.monotonic() + self.options.timeout
        if self.job.kind in ("apply", "call", "raw") and self.project.knows_pillar(self.target):
            self.project.hide_kept(self.target)  # two small files: to hand that to a thread takes longer
        if self.target.transport == "offline":
            return await self._offline(), 0
        if self.job.kind == "clean" and self.target.place != self.target.key:
            return [], 0  # nothing of it lies anywhere: what serves it is its manager's
        if self.options.timeout is None:
            return await self._online()
        try:
            return await asyncio.wait_for(self._online(), self.options.timeout)
        except asyncio.TimeoutError:
            raise TargetError(
                "timeout",
                f"{self.target.id}: not done after {self.options.timeout:g} s and stopped{self._how_far()}",
                "raise --timeout, or find out what hangs; what had run stays done",
            ) from None

    def _how_far(self) -> str:
        """Where a run was, for messages."""
        if not self.total:
            return ""
        last = next(reversed(self.states), None)
        return f"; {len(self.states)} of {self.total} states had run" + (f", the last: {last}" if last else "")

    def _interrupted(self) -> TargetError:
        if self.total:
            where = f"stopped during the run{self._how_far()}"
            hint = "the state under way was killed: look at it before you apply again"
        elif self.job.kind == "copy" and self.session is not None:
            where, hint = "stopped while it was copied", "run it again: it goes on where it was"
        elif self.sent:
            where = f"stopped after {self.job.fun} was sent: what it did is unknown"
            hint = "look at the target before you run it again"
        else:
            where, hint = "stopped before anything was changed", "run the command again"
        return TargetError("interrupted", f"{self.target.id}: {where}", hint)

    # without a connection --------------------------------------------------------------------------------------------

    async def _offline(self) -> Any:
        grains = {"id": self.target.id, **self.target.grains}
        if self.job.kind == "grains":
            return grains
        if self.job.kind == "clean":
            return []
        if self.job.kind in ("raw", "copy"):
            what = "no command runs there" if self.job.kind == "raw" else "nothing is copied"
            hint = "give it another transport in the inventory"
            raise TargetError("offline", f"{self.target.id}: {what}: it is offline", hint)
        called = await self._called(self._render(grains))
        if called.is_plan:
            raise TargetError(
                "offline",
                f"{self.target.id}: {self.job.fun} would run states, and {self.target.id} is offline",
                "state.show_sls and state.show_low_sls show what would run",
            )
        return called.value

    async def _called(self, rendered: RenderedTarget) -> Called:
        """What the job's function gives. The pillar, if it was compiled, is kept for targeting."""
        with self.phase("render"):
            plan = self.target.transport != "offline"
            called = await rendered.call(self.job.fun, self._args(), self.job.kwargs, plan=plan)
        if called.pillar is not None and self.project.keeps_pillar:
            await self.runner.in_thread(partial(self.project.remember_pillar, self.target, called.pillar))
        return called

    # over a connection -----------------------------------------------------------------------------------------------

    async def _online(self) -> tuple[Any, int]:
        from pushsalt.run.session import Start

        job = self.job
        if job.kind in ("raw", "copy"):
            self._with_shell()
        if job.kind == "raw":
            return await self._raw()
        own = self.project.functions.named(job.fun) is not None
        runs_states = job.fun in RUNS_STATES
        grains_only = job.kind == "grains"
        opts = self._opts()
        start = Start(
            opts=opts,
            grains=dict(self.target.grains),
            want_grains=own or job.kind == "grains",
            lock=self._lock() if runs_states else None,
            deadline=self.options.timeout,
            log_level=self.options.log_level,
            clean=job.kind == "clean",
            custom=self.project.custom_archive(str(opts.get("saltenv") or "base"))
            if job.kind not in ("clean", "copy")
            else None,
            salt=self.project.salt_python.told() if self.project.salt_python is not None else None,
            resource=await self._resource() if self.target.resource else None,
        )
        with self.phase("connect"):
            self._connection = await transport.connect(self.target, self.runner.connecting)
        first = [] if own or job.kind != "call" else [self._call()]
        self.sent = bool(first)
        mined = await self.runner.in_thread(partial(mine.with_grains, self.project, self.target)) if grains_only else []
        declared = await self.runner.in_thread(self._behind.kept) if grains_only else None
        if declared:
            first.append({"k": "resources", "declared": declared})
        first += [each.message() for each in mined]
        with self.phase("bootstrap"):
            self.session = await self._begun(self._connection, start, first)
        if job.kind == "clean":
            return self.session.removed, 0
        if job.kind == "copy":
            return await self._copy(self.session)
        if not own and job.kind == "call":
            with self.phase("run"):
                value = await self.session.first[0]
            value = await self._returned(value)
            retcode = int(self.session.info.get("retcode") or 0)
            self._settle(said=retcode != 0)
            return value, retcode
        with self.phase("grains"):
            grains = self.session.info.get("grains") or await self.session.grains()
            await self.runner.in_thread(partial(self.project.remember_grains, self.target, grains))
        if grains_only:
            self._mined = mined, self.session.first[len(first) - len(mined) :]
            if declared:
                await self._behind.take_in(declared, await self.session.first[0])
            elif not self.target.resource:
                if declared is None:
                    declared = await self._behind.declared_by(self._render(grains))
                await self._behind.look(self.session, declared)
            return grains, 0
        rendered = self._render(grains)
        called = await self._called(rendered)
        if called.pillar is not None and not self.target.resource:
            declared = self._behind.declared_in(called.pillar)
            if self.project.behind.is_due(self.target.id, declared):
                await self._behind.look(self.session, declared)
        if called.plan is None:
            return called.value, 0
        returns = await self._run_states(called.plan, called.mine_functions)
        if called.plan.after:
            await rendered.after(returns)
        if called.plan.bare:
            (only,) = returns.values()
            return only, int(only.get("result") is False)
        return returns, 0

    async def _begun(self, connection: transport.Connection, start: Start, first: list[dict[str, Any]]) -> Session:
        """A session; with ``bootstrap`` Python is installed for it where there is none."""
        from pushsalt.run import bootstrap
        from pushsalt.run.session import Session

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
            lines=cast("Lines", connection) if self.target.place != self.target.key else None,
        )
        try:
            return await open_one()
        except TargetError as exc:
            if not bootstrap.helps(exc, self.target) or self.job.kind == "clean":
                raise
            wanted = self.target.bootstrap
            if not (self.project.config.opts["bootstrap"] if wanted is None else wanted):
                raise TargetError(exc.kind, exc.message, f"{exc.hint}; or `bootstrap: true` installs it") from exc
            if self.options.test:
                hint = "leave --test out; `bootstrap: true` then installs Python first"
                raise TargetError(exc.kind, f"{exc.message}, and a dry run installs none", hint) from exc
        self.reporter.target_phase(self.name, "install Python")
        self.warnings.append(await bootstrap.install(self.target, connection))
        return await open_one()

    def _with_shell(self) -> None:
        """Raises FunctionError for a resource that nothing runs in."""
        if self.target.place != self.target.key:
            message = f"{self.target.id}: a {self.target.resource} has neither a shell nor files"
            hint = f"use its manager, {self.target.manager}"
            raise FunctionError("exception", message, hint, "CommandExecutionError")

    async def _copy(self, session: Session) -> tuple[Any, int]:
        from pushsalt.run import copying

        copy, test, sources = self.job.args[0], self.options.test, self.runner.sources
        say = partial(self.reporter.target_phase, self.name)
        with self.phase("copy"):
            if sources is not None:
                value = await copying.send(session, copy, sources, test, say)
            else:
                copy = copying.folder_of(copy, self.name, many=not self.runner.alone)
                value = await copying.Fetch(session, copy, test, say).run()
        return value, int("failed" in value)

    async def _raw(self) -> tuple[Any, int]:
        """A command by the target's own shell; nothing of ours goes there."""
        from pushsalt.run import raw

        with self.phase("connect"):
            self._connection = await transport.connect(self.target, self.runner.connecting)
        self.sent = True
        with self.phase("run"):
            value = await raw.run(self.target, self._connection, str(self.job.args[0]))
        return value, int(value["retcode"])

    async def _returned(self, value: Any) -> Any:
        """What a function returned, as it is shown; all grains are kept."""
        if not self.job.fun.startswith("grains."):
            return value
        from pushsalt.run.intake import returned_grains

        deep = bool(self._opts().get("grains_deep_merge"))
        if self.job.fun == "grains.items" and not self.job.args and not self.job.kwargs and isinstance(value, dict):
            assert self.session is not None
            grains = self.session.take_grains(value)
            await self.runner.in_thread(partial(self.project.remember_grains, self.target, grains))
        return returned_grains(self.target, self.job.fun, self.job.args, value, deep)

    def _call(self) -> dict[str, Any]:
        return {"k": "call", "fun": self.job.fun, "args": self.job.args, "kwargs": self.job.kwargs, "cli": True}

    def _args(self) -> list[Any]:
        """``apply``'s SLS names are one argument, a list; a function's arguments are its own."""
        if self.job.kind == "apply":
            return [self.job.args] if self.job.args else []
        return self.job.args

    def _opts(self) -> dict[str, Any]:
        from pushsalt.config import target_opts

        options = self.options
        return target_opts(
            self.project.config,
            self.target,
            test=options.test or None,
            saltenv=options.saltenv,
            pillarenv=options.pillarenv,
        )

    def _render(self, grains: dict[str, Any]) -> RenderedTarget:
        """The target with these grains, to be rendered."""
        from pushsalt.children.rendered import RenderedTarget

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
            look=None if session is None or self.target.resource else self._look_behind,
        )
        return self._rendered

    def _time_left(self) -> float | None:
        return None if self._ends is None else max(0.0, self._ends - time.monotonic())

    # what lies behind it ---------------------------------------------------------------------------------------------

    def _lock(self) -> LockRequest:
        """A resource that is served by its manager has a lock of its own there."""
        from pushsalt.run.session import LockRequest

        own = hashlib.sha256(self.target.key.encode()).hexdigest()[:16]
        name = f"lock-{own}" if self.target.resource and not self.target.enter else ""
        return LockRequest(_holder(self.runner.jid), self.options.wait_lock, name)

    async def _resource(self) -> dict[str, Any]:
        """What the session is told of the resource that it is about."""
        target = self.target
        declared: Any = {}
        if not target.enter:
            declared = (await self.runner.declared(target.manager)).get(target.resource, {})
        return {"type": target.resource, "id": target.id, "inside": bool(target.enter), "declared": declared}

    async def _look_behind(self, pillar: dict[str, Any]) -> dict[str, list[str]]:
        """Have the target say what it manages by its pillar as it is now."""
        assert self.session is not None
        return await self._behind.look(self.session, self._behind.declared_in(pillar))

    async def _run_states(self, plan: Planned, mine_functions: Any) -> dict[str, Any]:
        from pushsalt.plan import tag

        assert self.session is not None
        chunks = plan.fields["chunks"]
        sls = ", ".join(dict.fromkeys(str(chunk.get("__sls__", "")) for chunk in chunks))
        log.debug("%s: %d states of %s, with %d files", self.name, len(chunks), sls, len(plan.blobs))
        self._the_answers().chunks = {tag(chunk): chunk for chunk in chunks}
        self.total = len(chunks)
        self.reporter.target_chunks(self.name, self.total)
        with self.phase("run"):
            dry = plan.fields["test"] or plan.fields["mock"]
            mined = [] if dry else mine.with_states(self.project, self.target, mine_functions)
            message = {"k": "run", **plan.fields}
            await self.session.run(message, plan.blobs.__getitem__, [each.message() for each in mined])
        self._mined = mined, self.session.after
        return {**plan.disabled, **self.states}

    async def _keep_mine(self) -> None:
        """Take in what was called for the mine; the return, which is there by now, does not depend on it."""
        try:
            with self.phase("mine"):
                values = await mine.collect(self.target, *self._mined)
                await self.runner.in_thread(partial(mine.store, self.project, self.target, values))
        except asyncio.CancelledError:
            log.debug("%s: stopped: the mine is as it was", self.target.id)

    # what the target says meanwhile ----------------------------------------------------------------------------------

    def _event(self, message: dict[str, Any]) -> None:
        kind = message.get("k")
        if kind == "state":
            self.states[message["tag"]] = message["ret"]
            self._settle(said=message["ret"].get("result") is False)
            self.reporter.chunk_done(self.name, message["tag"], message["ret"])
        elif kind == "event":
            if "tag" in message:
                self._kept(str(message["tag"]), message.get("data"))
            else:
                self._fired(message["name"], message["ret"])
        elif kind == "start":
            self.reporter.chunk_started(self.name, message["tag"])
        elif kind == "log":
            level = logging.getLevelName(str(message.get("level", "warning")).upper())
            text = message.get("text") if self.runner.alone else f"{self.target.id}: {message.get('text')}"
            if level == logging.ERROR and (self.total or self.sent) and not log.isEnabledFor(logging.INFO):
                self._logged.append(str(text))
            else:
                number = level if isinstance(level, int) else logging.WARNING
                log.log(number, "%s", text, extra={"target": self.target.id})
        elif kind == "waiting":
            self.reporter.warning(self.name, f"waits until another run has ended: {message.get('holder')}")

    def _settle(self, *, said: bool) -> None:
        """A return is there: what the target logged for it is shown, unless the return is a failure that says it."""
        held, self._logged = self._logged, []
        for text in held if not said else ():
            log.error("%s", text, extra={"target": self.target.id})

    def _fired(self, name: Any, ret: dict[str, Any]) -> None:
        """Keep the event of a state with ``fire_event``: True, or a text for the tag. Salt: State.event."""
        last = name if isinstance(name, str) else str(ret.get("name"))
        self._kept(f"salt/state_result/{self.runner.jid}/{self.target.id}/{last}", {"ret": ret})

    def _kept(self, tag: str, data: Any) -> None:
        data = data if isinstance(data, dict) else {"data": data}
        self.events.append({"tag": tag, "data": data})
        self.reporter.event(self.name, tag, data)

    def _the_answers(self) -> Answers:
        from pushsalt.run.answers import Answers

        if self._answers is None:
            self._answers = Answers(self._asked_minion, self.runner.answer_in_thread, self._asked_target)
            self._answers.arguments = [self.job.args, self.job.kwargs]
        return self._answers

    async def _serve(self, question: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = await self._the_answers()(question)
        return answer

    async def _asked_target(self) -> RenderedTarget:
        """The target for a question; a plain call on it has rendered nothing yet, and its grains are not known here."""
        if self._rendered is None:
            assert self.session is not None
            self._render(await self.session.grains())
        assert self._rendered is not None
        return self._rendered

    async def _asked_minion(self) -> Minion:
        """The target for a question about files, networks and the like."""
        return (await self._asked_target()).minion()


def _options(job: Job) -> JobOptions:
    """The job's options, and what arguments of a state function say in their place.

    The templates and the modules of the run see the same pillar and environment as the states do.
    """
    said: dict[str, Any] = {}
    if job.fun.startswith("state."):
        for name in ("saltenv", "pillarenv", "pillar"):
            if isinstance(job.kwargs.get(name), dict if name == "pillar" else str):
                said[name] = job.kwargs[name]
        if job.kwargs.get("test") is True:
            said["test"] = True
    return replace(job.options, **said) if said else job.options


def _holder(jid: str) -> str:
    """Who holds a target's lock, in words for the next one who wants it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    since = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    return f"{user}@{socket.gethostname()}, since {since}, pid {os.getpid()}, job {jid}"


__all__ = ["RUNS_STATES", "Work"]
