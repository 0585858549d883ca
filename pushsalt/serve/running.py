"""Runs calls as jobs of accounts, and remembers which account has started which job."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pushsalt.errors import EXIT_INTERRUPTED, FunctionError, NoTargetError, PushsaltError
from pushsalt.job import Job
from pushsalt.jobs.jobs import JobError
from pushsalt.orchestrate import runnercalls
from pushsalt.run.jobstart import Account, on_behalf_of
from pushsalt.run.observers import redacted
from pushsalt.serve.answers import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

    from pushsalt.api import Client
    from pushsalt.job import JobOptions
    from pushsalt.model import TargetReturn
    from pushsalt.serve.calls import Call

log = logging.getLogger(__name__)

#: Maximum number of concurrent runner functions; each needs a thread, and may need more for its calls.
_RUNNERS: Final = 16
#: Maximum number of JIDs whose accounts are remembered.
_REMEMBERED: Final = 20_000

Result = TypeVar("Result")


@dataclass(frozen=True)
class Begun:
    """A job that has started: its ids, and the task whose result is its returns."""

    jid: str
    ids: list[str]
    task: asyncio.Task[dict[str, TargetReturn]]


class Running:
    """The running jobs of one project."""

    def __init__(self, client: Client, options: JobOptions, most: int) -> None:
        """``most``: maximum number of concurrent jobs."""
        self._client = client
        self.options = options
        self._most = most
        self._tasks: dict[asyncio.Task[Any], Client] = {}
        self._runners = asyncio.Semaphore(_RUNNERS)
        self._owners: OrderedDict[str, Account | None] = OrderedDict()
        self._others: OrderedDict[str, Account | None] = OrderedDict()
        self._is_closed = False

    @property
    def count(self) -> int:
        """Number of running jobs."""
        return len(self._tasks)

    async def local(self, call: Call, ids: Collection[str], account: Account) -> Begun | None:
        """Start a job on these ids; None if there are none. Raises CommandError if it cannot be started."""
        assert call.selection is not None
        if not ids:
            return None
        client, jid = self._client.within(), self._client.new_jid()
        client.only = frozenset(ids)
        more = {"batch": call.batch, "timeout": call.timeout, "returners": call.returners}
        given: dict[str, Any] = {name: value for name, value in more.items() if value}
        options = replace(self.options, **given)
        job = Job("call", call.fun, call.args, call.kwargs, options, jid=jid)
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        client.on_begin = lambda jid: None if begun.done() else begun.set_result(jid)

        async def run() -> dict[str, TargetReturn]:
            assert call.selection is not None
            redactor, returns = client.project.redactor, {}
            async for result in client.stream_job(call.selection, job):
                returns[result.id] = redacted(result, redactor)
            return returns

        _remember(self._owners, jid, account)
        task = self._start(client, run(), account)
        either: set[asyncio.Future[Any]] = {task, begun}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if task.done() and isinstance(task.exception(), NoTargetError):
            return None
        if task.done() and task.exception() is not None:
            task.result()
        return Begun(jid, sorted(ids), task)

    def runner(self, call: Call, account: Account) -> tuple[str, asyncio.Task[dict[str, Any]]]:
        """Start a runner function; returns its JID, and the task whose result has ``return`` and ``success``."""
        client, jid = self._client.within(), self._client.new_jid()

        async def run() -> dict[str, Any]:
            async with self._runners:
                try:
                    answer = await runnercalls.call(client, self.options, call.fun, call.args, call.kwargs, jid)
                except PushsaltError as exc:  # as in Salt, the return has the error
                    hint = f"; {exc.hint}" if isinstance(exc, FunctionError) and exc.kind == "unknown_function" else ""
                    text = f"Exception occurred in runner {call.fun}: {exc.message}{hint}"
                    answer = {"return": text, "success": False}
            return {**answer, "return": client.redactor().data(answer["return"])}

        _remember(self._owners, jid, account)
        return jid, self._start(client, run(), account)

    def owner(self, jid: str) -> Account | None:
        """The account that has started a job by this service; None for other and unknown jobs."""
        if jid not in self._owners and jid not in self._others:
            account = self._recorded(jid)
            _remember(self._others if account is None else self._owners, jid, account)
        return self._owners.get(jid)

    async def finish(self, seconds: float) -> None:
        """Start no more jobs; after ``seconds`` stop those that run (running states are completed), later end them."""
        self._is_closed = True
        for stop in (None, lambda client: client.stop(EXIT_INTERRUPTED, gently=True), lambda client: client.stop()):
            if not self._tasks:
                return
            if stop is not None:
                self._each(stop)
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=1.0)

    def _each(self, stop: Callable[[Client], None]) -> None:
        for client in self._tasks.values():
            stop(client)

    def _start(self, client: Client, work: Coroutine[Any, Any, Result], account: Account) -> asyncio.Task[Result]:
        if self._is_closed or len(self._tasks) >= self._most:
            work.close()
            text = "the server is being stopped" if self._is_closed else f"{self._most} jobs are running"
            raise Refused(503, text, {"Retry-After": "5"})
        with on_behalf_of(account):
            task = asyncio.create_task(work)
        self._tasks[task] = client
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        exc = task.exception()
        if exc is not None and not isinstance(exc, PushsaltError):
            log.error("a job has failed: %s: %s", type(exc).__name__, exc, exc_info=exc)

    def _recorded(self, jid: str) -> Account | None:
        """The account of a recorded job, which an earlier process has started."""
        try:
            job = self._client.jobs.get(jid)
        except JobError:
            return None
        eauth = job.detail.get("origin", {}).get("eauth")
        return Account(job.user, str(eauth)) if eauth else None


def _remember(accounts: OrderedDict[str, Account | None], jid: str, account: Account | None) -> None:
    accounts[jid] = account
    while len(accounts) > _REMEMBERED:
        accounts.popitem(last=False)
