"""Answers the questions of an orchestration's states (``thin/states/saltmod.py``): jobs, runners, events.

Only the session on the controller itself may ask these questions: the sessions of targets have no ``Steps``.
"""

from __future__ import annotations

import asyncio
import fnmatch
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.cliargs import parse_args
from pushsalt.errors import EXIT_NO_ANSWER, FunctionError, NoTargetError, UsageError
from pushsalt.orchestrate import rollouts
from pushsalt.orchestrate.names import ORCHESTRATIONS
from pushsalt.workers.jobevents import open_journal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from pushsalt.job import JobOptions, Selection
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs
    from pushsalt.orchestrate.recorded import Recorded
    from pushsalt.transport.kept import KeptConnections

#: Seconds between two reads of the journal of events.
_LOOK: Final = 0.2
#: Begins of texts about invalid arguments, which Salt's minions prefix with the function.
_INVALID: Final = ("The following keyword arguments are not valid", "Pillar data must be formatted as a dictionary")
_STOPPED: Final = "the orchestration is being stopped"


class Steps:
    """The steps of one orchestration, whose options are ``options``.

    ``kept``: the connections that its steps use. ``recorded`` is informed of their jobs.
    """

    def __init__(
        self, client: Jobs, options: JobOptions, kept: KeptConnections, recorded: Recorded | None = None
    ) -> None:
        self._client = client
        self._options = options
        self._kept = kept
        self._recorded = recorded
        self._running: set[Jobs] = set()
        self._is_stopped = False
        self._journal = open_journal(client.project)

    async def __call__(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Answer a question; returns the value. Raises PushsaltError."""
        handler = getattr(self, f"_{fun.removeprefix('orchestrate.')}", None)
        if handler is None:
            raise FunctionError("unknown_function", f"'{fun}' is not available.", "", "CommandExecutionError")
        return await handler(*args, **kwargs)

    def stop(self, *, gently: bool) -> None:
        """Stop the running steps, and begin no other. ``gently``: let running states finish."""
        self._is_stopped = True
        for client in self._running:
            client.stop(self._client.stopped_with, gently=gently)

    @contextmanager
    def _client_of(self, name: str, fun: str, tgt: str, jids: list[str]) -> Iterator[Jobs]:
        """A client for the jobs of a step, whose ids are added to ``jids``.

        Raises FunctionError while the orchestration is being stopped.
        """
        if self._is_stopped:
            raise FunctionError("exception", _STOPPED, "go on with it: --resume JID", "CommandExecutionError")
        client = self._client.within(self._kept)

        def begins(jid: str) -> None:
            jids.append(jid)
            if self._recorded is not None:
                self._recorded.step(name, jid, fun, tgt)
            if self._is_stopped:
                client.stop(self._client.stopped_with, gently=True)

        client.on_begin = begins
        self._running.add(client)
        try:
            yield client
        finally:
            self._running.discard(client)

    async def _job(self, tgt: Any, fun: str, **given: Any) -> dict[str, dict[str, Any]]:
        """id -> ``ret``, ``retcode``, ``out``, ``jid``, or ``failed`` for a target without a return."""
        name, expect = str(given.pop("step", None) or fun), bool(given.pop("expect_minions", False))
        args, kwargs = _arguments(list(given.pop("arg", ())), dict(given.pop("kwarg", None) or {}))
        self._tell(given.pop("told", {}))
        tgt_type = str(given.pop("tgt_type", "glob"))
        options = rollouts.options(self._options, given)
        # As in Salt, ``subset`` has no effect in batches.
        selection = rollouts.selection(tgt, tgt_type, None if options.batch else given.get("subset"))
        jids: list[str] = []
        unknown = self._unknown(selection)
        if unknown:
            known = ",".join(id for id in selection.expr.split(",") if id not in unknown)
            selection = replace(selection, expr=known)
        gone = {id: {"failed": True, "error": "there is no such target"} for id in unknown}
        if unknown and not selection.expr:
            return {}
        with self._client_of(name, fun, selection.expr, jids) as client:
            try:
                returns = await client.run_async(selection, fun, args, kwargs, options)
            except NoTargetError:
                return {}
        answers = {id: {**_answer(result, fun), "jid": jids[0]} for id, result in returns.items()}
        return {**{id: answer for id, answer in answers.items() if expect or not answer.get("failed")}, **gone}

    def _unknown(self, selection: Selection) -> list[str]:
        """The ids of a list that the inventory does not have: in Salt, targets without a return."""
        if selection.tgt_type != "list" or not self._client.project.config.has_inventory:
            return []
        targets = self._client.project.inventory.targets
        return [id for id in selection.expr.split(",") if id.strip() and id not in targets and ":" not in id]

    async def _wait_for_event(
        self, tag: str, ids: list[Any], event_id: str, timeout: Any, since: float
    ) -> dict[str, Any]:
        """Wait for events of these ids. Returns ``seen`` and ``left`` ids, ``is_done``, and the ``seconds`` it took.

        ``since``: when the state began (seconds since 1970). As in Salt, earlier events do not count, so that a second
        wait for a tag is not satisfied by the events of the first; an empty list waits for any event.
        """
        until = time.monotonic() + _seconds(timeout)
        left, seen = list(ids), []
        last = await asyncio.to_thread(self._journal.since, since)
        while True:
            if self._is_stopped:
                raise FunctionError("exception", _STOPPED, "go on with it: --resume JID", "CommandExecutionError")
            for event in await asyncio.to_thread(self._journal.after, last):
                last = event.number
                if fnmatch.fnmatch(event.tag, tag):
                    for value in _values(event.data, event_id):
                        if value in left:
                            left.remove(value)
                            seen.append(value)
                if not left:
                    return {"seen": seen, "left": left, "is_done": True, "seconds": max(0.0, time.time() - since)}
            if time.monotonic() >= until:
                return {"seen": seen, "left": left, "is_done": False}
            await asyncio.sleep(_LOOK)

    def _tell(self, data: dict[str, Any]) -> None:
        """Send the event of a step's arguments. Salt: ``salt/run/JID/args``."""
        if self._recorded is not None:
            self._recorded.args(data)

    async def _runner(self, name: str, env: str, /, **kwargs: Any) -> dict[str, Any]:
        """Call a runner function: ``return``, ``success``, ``jid``. ``arg`` and ``kwarg`` are further arguments.

        ``env``: the saltenv of the SLS, for functions that have such an argument, even if another one is given (Salt).
        """
        from pushsalt.orchestrate.runnercalls import answer

        return await self._call_runner(answer, name, env, kwargs)

    async def _call_runner(
        self, call: Callable[..., Awaitable[dict[str, Any]]], name: str, env: str, kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        from pushsalt.orchestrate.runnercalls import takes

        args, more = list(kwargs.pop("arg", None) or ()), dict(kwargs.pop("kwarg", None) or {})
        given = {**more, **kwargs}
        if takes(self._client, name, "saltenv"):
            given["saltenv"] = env
        if name in ORCHESTRATIONS:
            given["orchestration_jid"] = None if self._recorded is None else self._recorded.outermost
        self._tell({"type": "runner", "name": name, "args": args, "kwargs": given})
        with self._client_of(name, f"runner.{name}", "", []) as client:
            args, given = _arguments(args, given, parse=True)
            return await call(client, self._options, name, args, given)

    async def _runners(self, calls: list[dict[str, Any]], env: str) -> list[dict[str, Any]]:
        """Call several runner functions concurrently; returns their answers, after all have ended."""
        from pushsalt.orchestrate.runnercalls import call

        work = [self._call_runner(call, each["name"], env, dict(each["kwarg"])) for each in calls]
        found = await asyncio.gather(*work, return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return [each for each in found if isinstance(each, dict)]

    async def _wheel(self, name: str, **kwargs: Any) -> dict[str, Any]:
        from pushsalt.orchestrate import wheels

        self._tell({"type": "wheel", "name": name, "args": dict(kwargs)})
        return await wheels.answer(self._client, name, kwargs)


def _arguments(given: list[Any], kwargs: dict[str, Any], *, parse: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call. A text ``KEY=VALUE`` is a keyword argument, as on a command line (Salt).

    ``parse``: all other texts are read as on a command line, too.
    """
    args = []
    for each in given:
        values, keywords = parse_args([each]) if isinstance(each, str) else ([each], {})
        args += values if parse or keywords else [each]
        kwargs = {**keywords, **kwargs}
    return args, kwargs


def _answer(result: TargetReturn, fun: str) -> dict[str, Any]:
    """A target's return in the shape that the states of an orchestration read."""
    out = "highstate" if fun.startswith("state.") else "nested"
    if result.shape != "error":
        return {"ret": result.ret, "retcode": result.retcode or int(bool(result.exit_code)), "out": out}
    error = result.ret["error"]
    if result.exit_code == EXIT_NO_ANSWER:
        return {"failed": True, "error": error["message"]}
    text = str(error["message"])
    if text.startswith(_INVALID):
        return {"ret": f"ERROR executing '{fun}': {text}", "retcode": 1, "out": out}
    if out == "highstate":
        return {"ret": [text], "retcode": 1, "out": out}
    return {"ret": text, "retcode": 1, "out": out}


def _seconds(timeout: Any) -> float:
    """Raises UsageError for a ``timeout`` that is not a number."""
    try:
        return float(timeout)
    except (TypeError, ValueError):
        raise UsageError(f"timeout: {timeout!r} is not a number of seconds") from None


def _values(data: Mapping[str, Any], key: str) -> list[Any]:
    """The values of a key in the data of an event, or in the data that a sender gave. Salt: ``wait_for_event``."""
    value = data.get(key)
    if value is None and isinstance(data.get("data"), dict):
        value = data["data"].get(key)
    return value if isinstance(value, list) else [] if value is None else [value]
