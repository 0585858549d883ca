"""One round of a watch: a dry run of the states on all targets, events of drift, and runs on drifted targets.

All rounds of a watch use the same connections.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import EXIT_FAILED, EXIT_NO_ANSWER, EXIT_OK
from pushsalt.run.again import selected
from pushsalt.watch import drift
from pushsalt.workers.jobevents import watched_of

if TYPE_CHECKING:
    from pushsalt.job import JobOptions, Selection
    from pushsalt.journal.interface import EventJournal
    from pushsalt.watch.clients import Clients, WatchClient
    from pushsalt.watch.metrics import Metrics
    from pushsalt.workers.jobevents import AnyWatched

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Watch:
    """What is watched. ``applies``: whether the states are applied to drifted targets."""

    selection: Selection
    sls: list[str]
    options: JobOptions
    applies: bool


class Rounds:
    """The rounds of a watch. ``say`` is called with texts for people."""

    def __init__(
        self, clients: Clients, journal: EventJournal, watch: Watch, metrics: Metrics, say: Callable[[str], None]
    ) -> None:
        self._clients = clients
        self._journal = journal
        self._watch = watch
        self._metrics = metrics
        self._say = say
        self._watched: AnyWatched | None = None
        self._said = ""
        self.exit_code = EXIT_OK

    async def round(self) -> None:
        """Run one round. Raises CommandError for targets that cannot be selected."""
        began = time.monotonic()
        drifts = await self._run(self._watch.selection, dry=True)
        for each in drifts.values():
            self._metrics.add(each)
        if self._watch.applies:
            drifted = [id for id, each in drifts.items() if each.drifted]
            if drifted:
                again = await self._run(selected(drifted), dry=False)
                for id, each in again.items():
                    if each.is_known and not each.failed:
                        self._metrics.applied(id)
                        self._metrics.targets[id]["drifted_states"] = 0.0
                    drifts[id] = each
        self.exit_code = max((_code(each) for each in drifts.values()), default=EXIT_OK)
        self._metrics.round_ended(time.monotonic() - began)

    async def _run(self, selection: Selection, *, dry: bool) -> dict[str, drift.TargetDrift]:
        client = self._clients.one()
        jids: list[str] = []
        client.on_begin = jids.append
        drifts: dict[str, drift.TargetDrift] = {}
        options = replace(self._watch.options, test=dry)
        with self._clients.running(client):
            async for result in self._stream(client, selection, options):
                each = drift.of_return(result, dry=dry)
                drifts[each.id] = each
                if each.is_known:
                    await self._compare(each, jids[0] if jids else "", applied=not dry)
                elif each.error:
                    self._say(f"{each.id}  {self._clients.redacted(each.error).removeprefix(f'{each.id}: ')}")
        return drifts

    def _stream(self, client: WatchClient, selection: Selection, options: JobOptions) -> Any:
        return client.stream_apply(selection, self._watch.sls, options)

    async def _compare(self, result: drift.TargetDrift, jid: str, *, applied: bool) -> None:
        """Compare the drift of a target with the stored one; store a difference, with an event."""
        try:
            event = await asyncio.to_thread(self._store, result, jid, applied)
            self._said = ""
        except (OSError, sqlite3.Error) as exc:
            text = f"{self._journal.place}: {getattr(exc, 'strerror', None) or exc}"
            if text != self._said:
                log.error("%s; %s: events wait for the next round", text, self._journal.hint)
            self._said = text
            return
        if event is not None:
            data = event[1]
            how = "corrected" if applied else "in order again"
            states = ", ".join(f"{each['__sls__']}: {each['__id__']}" for each in data["states"])
            self._say(f"{result.id}  " + (how if data["in_order"] else f"drifted: {states}"))

    def _store(self, result: drift.TargetDrift, jid: str, applied: bool) -> tuple[str, dict[str, Any]] | None:
        if self._watched is None:
            self._watched = watched_of(self._journal, self._watch.sls)
        event = drift.event(self._watched.tags(result.id), result, jid, applied)
        if event is None:
            return None
        event = event[0], self._clients.hidden(event[1])
        self._watched.change(result.id, sorted(result.drifted), event)
        return event


def _code(result: drift.TargetDrift) -> int:
    if not result.answered:
        return EXIT_NO_ANSWER
    return EXIT_FAILED if result.failed or result.error else EXIT_OK
