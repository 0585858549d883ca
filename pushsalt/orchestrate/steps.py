"""Answers the questions of an orchestration's states (``thin/states/saltmod.py``): jobs, runners, events.

Only the session on the controller itself asks them: the sessions of targets have no ``Steps``.
"""

from __future__ import annotations

import asyncio
import fnmatch
import time
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import EXIT_NO_ANSWER, FunctionError, NoTargetError
from pushsalt.journal.store import Journal
from pushsalt.orchestrate import rollouts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.job import JobOptions
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs
    from pushsalt.transport.kept import KeptConnections

#: Seconds between two looks at the journal of events.
_LOOK: Final = 0.2


class Steps:
    """The steps of one orchestration, whose options are ``options``. ``kept``: the connections that its steps use."""

    def __init__(self, client: Jobs, options: JobOptions, kept: KeptConnections) -> None:
        self._client = client.within(kept)
        self._options = options
        self._journal = Journal(client.project.config.cache_dir)
        self._journal_from = self._journal.last()

    async def __call__(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The value of a question. Raises PushsaltError."""
        handler = getattr(self, f"_{fun.removeprefix('orchestrate.')}", None)
        if handler is None:
            raise FunctionError("unknown_function", f"'{fun}' is not available.", "", "CommandExecutionError")
        return await handler(*args, **kwargs)

    async def _job(self, tgt: Any, fun: str, **given: Any) -> dict[str, dict[str, Any]]:
        """id -> ``ret``, ``retcode``, ``out``, ``jid``, or ``failed`` for a target without a return."""
        expect = bool(given.pop("expect_minions", False))
        args, kwargs = list(given.pop("arg", ())), dict(given.pop("kwarg", None) or {})
        tgt_type = str(given.pop("tgt_type", "glob"))
        options = rollouts.options(self._options, given)
        selection = rollouts.selection(tgt, tgt_type, given.get("subset"))
        try:
            found = await self._client.run_async(selection, fun, args, kwargs, options)
        except NoTargetError:
            return {}
        answers = {id: _answer(result, fun) for id, result in found.items()}
        return {id: answer for id, answer in answers.items() if expect or not answer.get("failed")}

    async def _wait_for_event(self, tag: str, ids: list[Any], event_id: str, timeout: Any) -> dict[str, Any]:
        """``seen`` and ``left`` of the ids, and the ``seconds`` that it took.

        Events count from the beginning of the orchestration on: one that arrives before the step begins is not lost.
        """
        began = time.monotonic()
        left, seen, last = list(ids), [], self._journal_from
        while left and time.monotonic() - began < float(timeout):
            for event in await asyncio.to_thread(self._journal.after, last):
                last = event.number
                if fnmatch.fnmatch(event.tag, tag):
                    for value in _values(event.data, event_id):
                        if value in left:
                            left.remove(value)
                            seen.append(value)
            if left:
                await asyncio.sleep(_LOOK)
        return {"seen": seen, "left": left, "seconds": time.monotonic() - began}

    async def _runner(self, name: str, **kwargs: Any) -> dict[str, Any]:
        """``return`` and ``success`` of a runner function; ``arg`` and ``kwarg`` are its arguments too."""
        from pushsalt.orchestrate.runnercalls import call

        args, more = list(kwargs.pop("arg", None) or ()), dict(kwargs.pop("kwarg", None) or {})
        return await call(self._client, self._options, name, args, {**kwargs, **more})

    async def _runners(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers of several runner functions, which run at the same time."""
        return list(await asyncio.gather(*(self._runner(each["name"], **each["kwarg"]) for each in calls)))

    async def _wheel(self, name: str, **kwargs: Any) -> dict[str, Any]:
        from pushsalt.orchestrate import wheels

        return {"return": await asyncio.to_thread(wheels.call, self._client.project, name, kwargs), "success": True}


def _answer(result: TargetReturn, fun: str) -> dict[str, Any]:
    """A target's return as the states of an orchestration read it."""
    out = "highstate" if fun.startswith("state.") else "nested"
    if result.shape != "error":
        return {"ret": result.ret, "retcode": result.retcode or int(bool(result.exit_code)), "out": out}
    error = result.ret["error"]
    if result.exit_code == EXIT_NO_ANSWER:
        return {"failed": True, "error": error["message"]}
    text = str(error["message"])
    if out == "highstate":
        return {"ret": [text], "retcode": 1, "out": out}
    return {"ret": text, "retcode": 1, "out": out}


def _values(data: Mapping[str, Any], key: str) -> list[Any]:
    """The values of a key in the data of an event, or in the data that a sender gave. Salt: ``wait_for_event``."""
    value = data.get(key)
    if value is None and isinstance(data.get("data"), dict):
        value = data["data"].get(key)
    return value if isinstance(value, list) else [] if value is None else [value]
