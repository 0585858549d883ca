"""The steps of each kind of job on one target: a class per kind, made by ``kind_of``.

A kind defines the first messages of the session, and runs the job in it; ``pushsalt.run.work.Work`` has the target's
time limit, phases, events, warnings and return.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError, TargetError
from pushsalt.minion import mine
from pushsalt.minion.settings import callable_from_outside
from pushsalt.modules.controller import RUNS_STATES, has_trait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.planning.forecast import Forecast
    from pushsalt.run.rendered import Called, Planned, RenderedTarget
    from pushsalt.run.work import Work
    from pushsalt.session.session import Session


#: Functions that need the lock: they undo changes of states, so no states may run meanwhile.
UNDO: Final = "file.undo"


class Kind:
    """The base class, with the defaults."""

    #: grains are requested with the session's start, and cached
    wants_grains = False
    takes_lock = False
    #: users' own modules are sent
    wants_modules = True
    #: the session removes pushsalt's files from the target
    cleans = False
    #: the run continues without its connection
    survives = False
    #: the target may keep a run of this job that an earlier command has begun
    may_be_kept = False
    #: the answer of the target may contain secrets of its pillar
    may_show_pillar = True

    #: the session begins before the job is recorded: it only collects grains, before ``run``
    begins_early = False

    def __init__(self, work: Work) -> None:
        self.work = work
        self.target = work.target
        self.job = work.job
        self.project = work.project

    def check(self, opts: Mapping[str, Any]) -> None:
        """Raises FunctionError if the options of the target forbid the function."""

    async def offline(self) -> Any:
        """The value for a target with the transport ``offline``. Raises TargetError if the job needs the target."""
        raise NotImplementedError

    async def online(self) -> tuple[Any, int]:
        """Run the job over a connection, or collect a run that the target keeps; returns value and Salt's retcode."""
        if self.may_be_kept or self.job.collects:
            from pushsalt.run import outliving

            if not self.may_be_kept:
                raise outliving.no_data_of_job(self.work)
            return await outliving.online(self)
        return await self.begin()

    async def begin(self) -> tuple[Any, int]:
        """Run the job over a connection; returns the value and Salt's retcode. Raises FinishedError if it has run."""
        start = await self.work.start(
            grains=self.wants_grains,
            lock=self.takes_lock,
            modules=self.wants_modules,
            clean=self.cleans,
            survives=self.survives and self.work.outlives,
        )
        await self.work.connect()
        if not self.begins_early:
            await self.work.runner.recorded.wait()
        first = await self.first()
        session = await self.work.begin(start, first, may_install=not self.cleans)
        await self.work.runner.recorded.wait()
        return await self.run(session)

    async def first(self) -> list[dict[str, Any]]:
        """Messages that are sent with the session's start."""
        return []

    async def run(self, session: Session) -> tuple[Any, int]:
        """Run the job in a session; returns the value and Salt's retcode."""
        raise NotImplementedError

    def collected(self, value: Any, retcode: int) -> tuple[Any, int]:
        """The value and Salt's retcode of a run that the target kept; ``value`` is the target's answer."""
        return value, retcode

    def interrupted(self) -> tuple[str, str]:
        """(message, hint) for a job that was stopped before any state ran."""
        if self.work.sent:
            return f"stopped after {self.job.fun} was sent: what it did is unknown", (
                "check the target before you run it again"
            )
        return "stopped before anything was changed", "run the command again"

    def _unreachable(self, what: str) -> TargetError:
        hint = "set another transport for it in the inventory"
        return TargetError("offline", f"{self.target.id}: {what}: it is offline", hint)

    def _need_shell(self) -> None:
        """Raises FunctionError for a resource in which no command can run."""
        if self.target.place != self.target.key:
            message = f"{self.target.id}: a {self.target.resource} has neither a shell nor files"
            hint = f"use its manager, {self.target.manager}"
            raise FunctionError("exception", message, hint, "CommandExecutionError")


class Raw(Kind):
    """``run --raw``: a command in the target's shell; the runtime is not sent."""

    async def offline(self) -> Any:
        raise self._unreachable("no command can run there")

    async def online(self) -> tuple[Any, int]:
        from pushsalt.session import raw

        self._need_shell()
        connection = await self.work.connect()
        await self.work.runner.recorded.wait()
        self.work.sent = True
        with self.work.phase("run"):
            value = await raw.run(self.target, connection, str(self.job.args[0]))
        return value, int(value["retcode"])


class Copy(Kind):
    """``cp``: files and trees, to the target or from it."""

    wants_modules = False

    async def offline(self) -> Any:
        raise self._unreachable("nothing can be copied")

    async def online(self) -> tuple[Any, int]:
        self._need_shell()
        return await super().online()

    async def run(self, session: Session) -> tuple[Any, int]:
        from pushsalt.session import copying, fetching

        work, copy = self.work, self.job.args[0]
        test, sources = work.options.test, work.runner.sources
        say = partial(work.reporter.target_phase, work.name)
        with work.phase("copy"):
            if sources is not None:
                value = await copying.send(session, copy, sources, test, say)
            else:
                copy = fetching.folder_of(copy, work.name, many=not work.runner.alone)
                value = await fetching.Fetch(session, copy, test, say).run()
        return value, int("failed" in value)

    def interrupted(self) -> tuple[str, str]:
        if self.work.session is None:
            return super().interrupted()
        return "stopped during the copy", "run it again: it continues where it stopped"


class Clean(Kind):
    """``clean``: removes pushsalt's files from the target."""

    wants_modules = False
    cleans = True
    may_show_pillar = False

    async def offline(self) -> Any:
        return []

    async def online(self) -> tuple[Any, int]:
        if self.target.place != self.target.key:
            return [], 0  # it has no files of its own: the manager's runtime serves it
        return await super().online()

    async def run(self, session: Session) -> tuple[Any, int]:
        return session.removed, 0


class Wait(Kind):
    """``wait``: until a login succeeds or the target was restarted. Arguments: ``ssh`` or ``reboot``, and seconds."""

    may_show_pillar = False

    async def offline(self) -> Any:
        raise self._unreachable("it cannot be waited for")

    async def online(self) -> tuple[Any, int]:
        from pushsalt.run.waiting import wait_for

        self._need_shell()
        return await wait_for(self.work, *self.job.args), 0


class Beacons(Kind):
    """Beacons, until the session ends. The argument is a ``pushsalt.run.beaconing.Following``."""

    async def offline(self) -> Any:
        raise self._unreachable("no beacon is evaluated there")

    async def run(self, session: Session) -> tuple[Any, int]:
        lock = self.work.lock_request().name or "lock"
        following = self.job.args[0]
        return await following.follow(self.work.name, session, f"{session.info.get('dir')}/{lock}"), 0

    def interrupted(self) -> tuple[str, str]:
        return "its beacons have ended", "they start again with the next `pushsalt watch` or kept session"


class Grains(Kind):
    """``grains``: the grains, the target's managed resources, and mine functions that are due."""

    wants_grains = True

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._mined: list[mine.MineFunction] = []
        self._declared: dict[str, Any] | None = None
        self._count = 0

    async def offline(self) -> Any:
        return self.work.offline_grains()

    async def first(self) -> list[dict[str, Any]]:
        in_thread = self.work.runner.in_thread
        self._mined = await in_thread(partial(mine.with_grains, self.project, self.target))
        self._declared = await in_thread(self.work.discovery.kept)
        messages: list[dict[str, Any]] = []
        if self._declared:
            messages.append({"k": "resources", "declared": self._declared})
        messages += [each.message() for each in self._mined]
        self._count = len(messages)
        return messages

    async def run(self, session: Session) -> tuple[Any, int]:
        work, declared = self.work, self._declared
        grains = await work.take_grains(session)
        work.mined = self._mined, session.first[self._count - len(self._mined) :]
        if declared:
            await work.discovery.take_in(declared, await session.first[0])
        elif not self.target.resource:
            if declared is None:
                declared = await work.discovery.declared_by(work.render(grains))
            await work.discovery.discover(session, declared)
        return grains, 0


class TargetFunction(Kind):
    """A function that runs on the target."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.survives = work.options.detach or (work.job.survives and work.outlives)
        self.takes_lock = self.job.fun == UNDO
        self.may_be_kept = self.survives or self.job.resumes

    def check(self, opts: Mapping[str, Any]) -> None:
        _check_allowed(opts, self.job.fun)
        _check_dry(self.work, opts)

    async def offline(self) -> Any:
        return await _offline_value(self.work)

    async def first(self) -> list[dict[str, Any]]:
        self.work.sent = True
        return [] if self.survives else [self._message()]

    def _message(self) -> dict[str, Any]:
        job = self.job
        return {"k": "call", "fun": job.fun, "args": job.args, "kwargs": job.kwargs, "cli": True}

    async def run(self, session: Session) -> tuple[Any, int]:
        with self.work.phase("run"):
            if self.survives:
                call = session.kept_call(self._message())
                value = await self.work.until_left(session, call, lambda: session.is_kept)
            else:
                value = await session.first[0]
        if self.work.left:
            return None, 0
        value = await self._returned(session, value)
        retcode = int(session.info.get("retcode") or 0)
        self.work.settle(in_return=retcode != 0)
        return value, retcode

    async def _returned(self, session: Session, value: Any) -> Any:
        """The value to show; the return of ``grains.items`` is also cached."""
        job, target = self.job, self.target
        if not job.fun.startswith("grains."):
            return value
        from pushsalt.session.intake import returned_grains

        deep = bool(self.work.opts().get("grains_deep_merge"))
        if job.fun == "grains.items" and not job.args and not job.kwargs and isinstance(value, dict):
            grains = session.take_grains(value)
            await self.work.runner.in_thread(partial(self.project.remember_grains, target, grains))
        return returned_grains(target, job.fun, job.args, value, deep)


class ControllerFunction(Kind):
    """A function that runs on the controller, such as ``state.apply``."""

    wants_grains = begins_early = True

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        #: an orchestration takes no lock: one within another would wait for it. Salt: the same
        self.takes_lock = has_trait(self.job.fun, RUNS_STATES) and work.runner.steps is None
        self.survives = self.may_be_kept = self.takes_lock

    def check(self, opts: Mapping[str, Any]) -> None:
        if self.job.kind == "call":
            _check_allowed(opts, self.job.fun)
            _check_dry(self.work, opts)

    async def first(self) -> list[dict[str, Any]]:
        self.work.runner.ready_to_render()  # while the target collects its grains
        return []

    async def offline(self) -> Any:
        return await _offline_value(self.work)

    def collected(self, value: Any, retcode: int) -> tuple[Any, int]:
        """The returns of the states arrived before the answer, and are the value."""
        states = dict(self.work.states)
        if self.job.fun == "state.single" and len(states) == 1:
            (only,) = states.values()
            return only, int(only.get("result") is False)
        return states, 0

    async def run(self, session: Session) -> tuple[Any, int]:
        work = self.work
        rendered = work.render(await work.take_grains(session))
        called = await work.called(rendered)
        if called.pillar is not None and not self.target.resource:
            declared = work.discovery.declared_in(called.pillar)
            if self.project.managed.is_due(self.target.id, declared):
                await work.discovery.discover(session, declared)
        if called.plan is None:
            return called.value, 0
        return await self._run_states(session, rendered, called)

    async def _run_states(self, session: Session, rendered: RenderedTarget, called: Called) -> tuple[Any, int]:
        plan = called.plan
        assert plan is not None
        returns = await self.work.run_states(session, plan, called.mine_functions)
        if self.work.left:
            return None, 0
        if self.work.options.plan:
            from pushsalt.planning.forecast import Forecast

            self.work.forecast = Forecast(plan.fields, returns, self.work.details, self.work.opts())
            if self.job.record is not None:
                await self._record(rendered, plan, self.work.forecast)
        if plan.after:
            await rendered.after(returns)
        if plan.bare:
            (only,) = returns.values()
            return only, int(only.get("result") is False)
        return returns, 0

    async def _record(self, rendered: RenderedTarget, plan: Planned, forecast: Forecast) -> None:
        """Store in the plan file everything that a run of the plan needs."""
        work = self.work
        pillar, custom = await rendered.pillar(), self.project.custom_archive(str(work.opts().get("saltenv") or "base"))
        recording = self.job.record.of(work.name)
        entry = await work.runner.in_thread(
            partial(recording.finish, self.project, self.target, plan, forecast, pillar, custom)
        )
        self.job.record.plan.targets[work.name] = entry


def _check_allowed(opts: Mapping[str, Any], fun: str) -> None:
    if not callable_from_outside(opts, fun):
        raise FunctionError(
            "unknown_function",
            f"'{fun}' is not available.",
            "whitelist_modules or disable_modules of this target forbids it",
            "CommandExecutionError",
        )


def _check_dry(work: Work, opts: Mapping[str, Any]) -> None:
    """Raises FunctionError for ``--test`` with a user's function that has no dry run; the command line refuses ours."""
    if not work.options.test:
        return
    from pushsalt.minion.dryrun import not_dry
    from pushsalt.modules.effects import SILENT, Effect
    from pushsalt.modules.signatures import TypeFunctions

    project, fun = work.project, work.job.fun
    effect = project.functions.effect(fun)
    if effect is None and project.functions.named(fun) is None:
        custom = project.custom(str(work.options.saltenv or opts.get("saltenv") or "base"))
        effect = TypeFunctions(work.target.resource, custom).effect(fun) or custom.effect(fun)
        if effect is None and project.salt_python is not None and project.salt_python.has(fun):
            effect = Effect(SILENT)
    error = not_dry(fun, effect, work.job.args, work.job.kwargs) if effect is not None else None
    if error is not None:
        raise error


async def _offline_value(work: Work) -> Any:
    """The value of a function without a connection. Raises TargetError for a function that would run states."""
    target = work.target
    called = await work.called(work.render(work.offline_grains()))
    if called.is_plan:
        raise TargetError(
            "offline",
            f"{target.id}: {work.job.fun} would run states, and {target.id} is offline",
            "state.show_sls and state.show_low_sls show what would run",
        )
    return called.value


def kind_of(work: Work) -> Kind:
    """The kind of the job on this target."""
    if work.job.kind == "call":
        own = work.project.functions.named(work.job.fun) is not None
        return ControllerFunction(work) if own else TargetFunction(work)
    return _KINDS[work.job.kind](work)


_KINDS: Final[Mapping[str, type[Kind]]] = {
    "apply": ControllerFunction,
    "raw": Raw,
    "copy": Copy,
    "clean": Clean,
    "grains": Grains,
    "wait": Wait,
    "beacons": Beacons,
}
