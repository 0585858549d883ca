"""One target's job from connecting to its return.

Every failure is a TargetError, FunctionError or StateError here, and becomes the return of that target; other targets
are not affected.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import ChainMap
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pushsalt.errors import EXIT_FAILED, FunctionError, TargetError
from pushsalt.model import Explained, Target, TargetReturn
from pushsalt.modules.controller import COMPILES_PILLAR, RETURNS_STATES, RUNS_STATES, has_trait
from pushsalt.run.beaconing import notice_beacons
from pushsalt.run.fanout import failure
from pushsalt.run.kinds import Kind, TargetFunction, kind_of
from pushsalt.run.outliving import LeftError, still_at_work
from pushsalt.run.work import Work

if TYPE_CHECKING:
    from pushsalt.run.runner import Runner


async def run(runner: Runner, id: str) -> TargetReturn:
    """Run the job on the target of this name. A failure becomes its return, with the warnings until then."""
    try:
        target = runner.project.target(id)
        if runner.project.secrets.has(target):
            target = await runner.in_thread(partial(runner.project.secrets.ready, target))
    except TargetError as exc:
        return failure(id, exc)
    return await run_on(runner, target, id)


async def run_on(runner: Runner, target: Target, id: str) -> TargetReturn:
    """Run the job on a target, which has this name in the job. A failure becomes its return."""
    work = Work(runner, target, id)
    runner.stopping.works[id] = work
    try:
        result = await _returned(work)
        # the target keeps the return until the session ends; callers that get a return rely on its record
        with contextlib.suppress(asyncio.CancelledError):
            if work.is_kept or runner.on_value is not None:
                await runner.keep(result)
                work.stored(result)
            await runner.tell_value(result)
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await work.close()
        runner.stopping.works.pop(id, None)
        for jid in work.kept:
            runner.kept.setdefault(jid, []).append(id)
    return result


async def _returned(work: Work) -> TargetReturn:
    """The return of the target; session and connection are still open."""
    try:
        result = await _Run(work).go()
    except (Exception, SystemExit) as exc:
        result = failure(work.name, exc)
        if getattr(exc, "kind", "") == "excess":  # free the memory of the target's data
            work.states.clear()
            work.events.clear()
        elif work.states and result.shape == "error":
            result.ret["error"]["returned"] = dict(work.states)
        result.left = isinstance(exc, LeftError)
    result.warnings, result.events = work.warnings, work.events
    return result


class _Run:
    """Runs the steps of the job's kind within the job's time."""

    def __init__(self, work: Work) -> None:
        self._work = work

    @cached_property
    def _kind(self) -> Kind:
        """The kind of the job on this target. Raises ConfigError for users' functions that cannot be loaded."""
        if self._work.job.kind == "planned":
            from pushsalt.run.fromplan import FromPlan

            return FromPlan(self._work)
        return kind_of(self._work)

    async def go(self) -> TargetReturn:
        """The return of the target. Raises the error if there is none."""
        work, in_return = self._work, False
        try:
            value, retcode = await self._within_time()
            if work.mined[0]:
                await work.keep_mine()
        except FunctionError:
            in_return = True
            raise
        except LeftError:
            raise
        except asyncio.CancelledError:
            raise self._interrupted() from None
        except TargetError as exc:
            in_return = exc.kind == "excess"
            if not in_return and work.how_far() not in exc.message:
                raise TargetError(exc.kind, exc.message + work.how_far(), exc.hint) from exc
            raise
        finally:
            work.settle(in_return=in_return)
        return self._returned(value, retcode)

    def _returned(self, value: Any, retcode: int) -> TargetReturn:
        work, fun = self._work, self._work.job.fun
        if work.left:
            return TargetReturn(work.name, None, phases=work.phases, left=True)
        code = EXIT_FAILED if retcode else 0
        result = TargetReturn(work.name, value, phases=work.phases, exit_code=code, retcode=retcode)
        if work.session is not None:
            result.round_trips = work.session.round_trips
            if work.session.info.get("salt") and isinstance(self._kind, TargetFunction):
                result.salt = str(work.session.info["salt"])[:40]
        if isinstance(value, list) and (
            has_trait(fun, RUNS_STATES) or any(isinstance(text, Explained) for text in value)
        ):
            result.shape, result.exit_code = "errors", EXIT_FAILED
        elif has_trait(fun, RETURNS_STATES) and isinstance(value, dict):
            result.shape = "states"
            returns = [ret for ret in value.values() if isinstance(ret, dict)]
            if any(ret.get("result") is False for ret in returns):
                result.exit_code = EXIT_FAILED
            result.changes = any(ret.get("changes") or ret.get("result") is None for ret in returns)
            if work.options.plan:
                from pushsalt.planning.forecast import Forecast

                forecast = work.forecast or Forecast({}, value, {}, {})
                result.ret, result.shape, result.changes = forecast.as_data(), "plan", forecast.changes
                result.exit_code = EXIT_FAILED if forecast.fails else 0
        elif has_trait(fun, COMPILES_PILLAR) and isinstance(value, dict) and value.get("_errors"):
            result.exit_code = EXIT_FAILED
        return result

    async def _within_time(self) -> tuple[Any, int]:
        """The value and Salt's retcode, within the job's time limit. Raises TargetError after it."""
        work, kind = self._work, self._kind
        kind.check(ChainMap(dict(work.target.minion_opts), work.project.config.opts))
        if work.options.timeout is not None:
            work.limit(work.options.timeout)
        if kind.may_show_pillar:
            work.project.hide_kept(work.target)  # reads two small files: a thread would take longer
        notice_beacons(work.project.keeper, work.project.config.opts, work.target)
        if work.target.transport == "offline":
            return await kind.offline(), 0
        if work.options.timeout is None:
            return await kind.online()
        if work.job.collects:
            return await self._waited(kind, work.options.timeout)
        try:
            return await asyncio.wait_for(kind.online(), work.options.timeout)
        except asyncio.TimeoutError:
            raise TargetError(
                "timeout",
                f"{work.target.id}: not done after {work.options.timeout:g} s and stopped{work.how_far()}",
                "raise --timeout, or find out what hangs; states that had run are not undone",
            ) from None

    async def _waited(self, kind: Kind, seconds: float) -> tuple[Any, int]:
        """The result of a job that only collects; raises LeftError if the run does not end within ``seconds``."""
        task = asyncio.ensure_future(kind.online())
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()
        return await task

    def _interrupted(self) -> TargetError:
        work = self._work
        if work.job.collects:
            return still_at_work(work)
        if work.total:
            where = f"stopped during the run{work.how_far()}"
            hint = "the running state was killed: check what it did before you apply again"
        else:
            where, hint = self._kind.interrupted()
        return TargetError("interrupted", f"{work.target.id}: {where}", hint)
