"""The events of one call of a runner or wheel function. Salt: ``salt.client.mixins``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.jobs.model import JobStart
from pushsalt.journal.jobevents import run_tag
from pushsalt.run.jobstart import user_name
from pushsalt.workers.jobevents import open_events, settle_events

if TYPE_CHECKING:
    from pushsalt.journal.jobevents import RunEvents
    from pushsalt.orchestrate.jobs import Jobs


class CallEvents:
    """The events of one call: ``salt/run/JID/new`` and ``…/ret``, or ``salt/wheel/…``; end with ``settled``.

    The object is also ``__jid_event__`` of the function.
    """

    def __init__(
        self,
        client: Jobs,
        kind: str,
        name: str,
        args: list[Any],
        kwargs: dict[str, Any],
        jid: str,
        *,
        silent: bool = False,
    ) -> None:
        """``kind``: ``runner`` or ``wheel``; ``silent``: no events are sent."""
        self._client = client
        self._events = open_events(client.project) if client.keeps_jobs and not silent else None
        self._redactor = client.redactor()
        self._jid = jid
        for value in (kwargs, *args):
            if isinstance(value, dict):
                self._redactor.add_pillar(value)
        self._run: RunEvents | None = None
        if self._events is not None:
            shown = self._redactor.data([list(args), dict(kwargs)])
            fun, user = f"{kind}.{name}", user_name()
            self._run = self._events.run_begins(JobStart(jid, fun, arg=shown[0], kwarg=shown[1], user=user))
            self._run.begins()

    def fire_event(self, data: dict[str, Any], tag: str) -> bool:
        """Send an event whose tag begins with that of the call, as Salt's ``__jid_event__`` does."""
        if self._events is not None:
            self._events.put(f"{run_tag(self._jid)}/{tag}", self._redactor.data(data))
        return True

    def ends(self, value: Any, *, success: bool) -> None:
        """Send the event of the end: the function has returned ``value``."""
        if self._run is not None:
            self._run.ends(self._redactor.data(value), success=success)

    async def settled(self) -> None:
        """Return when all events are written, or writing them has failed, which is a warning."""
        await settle_events(self._events, self._client.project)
