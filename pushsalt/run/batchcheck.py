"""The batch check of a rollout: a function that is called on the targets of a batch after their job.

Each call is a job of its own, with a connection and a JID. A target passes the check when the function succeeds and
does not return ``False``. Until then the function is called again, up to the time limit of the course.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.job import Job
from pushsalt.jobs.jid import new_jid
from pushsalt.model import TargetReturn
from pushsalt.run.fanout import failure

if TYPE_CHECKING:
    from pushsalt.run.project import Project
    from pushsalt.run.rollout import Call, Course
    from pushsalt.run.runner import Runner

log = logging.getLogger(__name__)

#: Seconds between two calls on a target.
PAUSE: Final = 1.0
#: Error kinds for which the call is not repeated.
_FINAL: Final = frozenset({"unknown_function", "offline"})
_LONGEST: Final = 500

#: (id, time limit in seconds) -> return of the function
Ask = Callable[[str, float], Awaitable[TargetReturn]]
#: runs the job of a runner on one target
RunIn = Callable[["Runner", str], Awaitable[TargetReturn]]


class BatchCheck:
    """Calls a function on targets until it succeeds, at most ``width`` at a time."""

    def __init__(
        self,
        ask: Ask,
        text: str,
        timeout: float,
        width: int,
        redact: Callable[[str], str] = str,
        pause: float = PAUSE,
    ) -> None:
        """``ask`` makes one call on one target; ``text``: the call, for messages; ``timeout``: seconds per target."""
        self._ask = ask
        self._redact = redact
        self._text = text
        self._timeout = timeout
        self._width = width
        self._pause = pause

    async def failures(self, ids: Sequence[str]) -> Mapping[str, str]:
        """id -> reason, for the targets that did not pass."""
        places = asyncio.Semaphore(self._width)

        async def one(id: str) -> str:
            async with places:
                return await self._wrong(id)

        texts = await asyncio.gather(*(one(id) for id in ids))
        return {id: self._redact(text) for id, text in zip(ids, texts, strict=True) if text}

    async def _wrong(self, id: str) -> str:
        """The reason why a target has not passed within the time limit; empty if it has."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout
        why = f"no answer after {self._timeout:g} s"
        while True:
            result = await self._answer(id, max(0.0, end - loop.time()))
            if result is None:
                return f"{self._text}: {why}"
            why, is_final = verdict(result)
            if not why:
                return ""
            log.debug("%s: batch check: %s: %s", id, self._text, why)
            if is_final or loop.time() + self._pause >= end:
                return f"{self._text}: {why}"
            await asyncio.sleep(self._pause)

    async def _answer(self, id: str, seconds: float) -> TargetReturn | None:
        """The return of one call; None if it took longer."""
        task = asyncio.ensure_future(self._ask(id, seconds))
        try:
            await asyncio.wait((task,), timeout=seconds)
            if not task.done():
                return None
            trouble = task.exception()
            return failure(id, trouble) if trouble is not None else task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait((task,), timeout=5)


def batch_check(project: Project, job: Job, course: Course, run_in: RunIn | None = None) -> BatchCheck | None:
    """The check of a course; None without one, and in a dry run. ``run_in``: see ``asker``."""
    if course.check is None or job.options.test:
        return None
    ask = asker(project, job, course.check, run_in)
    return BatchCheck(ask, course.check.text, course.check_timeout, course.width, project.redactor.text)


def asker(project: Project, job: Job, call: Call, run_in: RunIn | None = None) -> Ask:
    """A function that makes the call on a target, as a job within ``job``; ``run_in`` runs it elsewhere than here."""
    from pushsalt.run.runner import Runner
    from pushsalt.run.single import run

    async def ask(id: str, seconds: float) -> TargetReturn:
        options = replace(job.options, timeout=seconds, pillar=None)
        inner = Job("call", call.fun, list(call.args), dict(call.kwargs), options, jid=new_jid())
        runner = Runner(project, inner, 1, within=True)
        try:
            return await (run_in or run)(runner, id)
        finally:
            await runner.close()

    return ask


def verdict(result: TargetReturn) -> tuple[str, bool]:
    """(reason why a return does not pass, or ""; whether a further call cannot pass either)."""
    ret = result.ret
    if not result.exit_code:
        return ("returned False", False) if ret is False else ("", False)
    if result.shape == "error" and isinstance(ret, dict) and isinstance(ret.get("error"), dict):
        error = ret["error"]
        return _short(error.get("message")).removeprefix(f"{result.id}: "), error.get("kind") in _FINAL
    if result.shape == "states" and isinstance(ret, dict):
        comments = [one.get("comment") for one in ret.values() if isinstance(one, dict) and one.get("result") is False]
        return _short("; ".join(map(str, comments)) or "a state failed"), False
    if result.shape == "errors" and isinstance(ret, list):
        return _short("; ".join(map(str, ret))), False
    status = f"exit status {result.retcode}" if result.retcode else "failed"
    return (f"{status}: {_short(ret)}" if ret not in (None, "", {}) else status), False


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."
