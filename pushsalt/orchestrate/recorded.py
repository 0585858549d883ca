"""Records an orchestration as a job: its steps, the returns of its states as they arrive, and its end."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt.job import Selection
from pushsalt.jobs.model import JobStart
from pushsalt.journal.jobevents import run_tag
from pushsalt.run.jobrecord import ProjectState, recorder
from pushsalt.run.jobstart import job_start
from pushsalt.run.observers import Observers
from pushsalt.workers.jobevents import open_events, settle_events

if TYPE_CHECKING:
    from pushsalt.job import Job
    from pushsalt.journal.jobevents import RunEvents
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs

#: The name of an orchestration's function in records and events. Salt's.
FUN: Final = "runner.state.orchestrate"
KIND: Final = "orchestrate"


class Recorded:
    """Informs the record and the observers of an orchestration. Begin with ``begins``, end with ``ends``."""

    def __init__(self, client: Jobs, job: Job, id: str, outermost: str) -> None:
        """``outermost``: the JID of the outermost orchestration; events of arguments have it in their tags."""
        project = client.project
        self._client = client
        self._redactor = project.redactor
        self.outermost = outermost
        self._record = recorder(project, job) if client.keeps_jobs else None
        self._observers = Observers(self._record, client.observers, project.redactor)
        self._events = open_events(project) if client.keeps_jobs else None
        self._run: RunEvents | None = None
        self._project_state: ProjectState | None = None
        self._state = partial(job_start, job, Selection(id, "list"), [id], client.words, project.redactor)

    def _start(self) -> JobStart:
        return replace(self._state(), kind=KIND, fun=FUN)

    async def begins(self) -> None:
        """The orchestration begins; when this returns, that is stored."""
        start = self._start()
        await self._observers.job_begins(start)
        if self._events is not None:
            self._run = self._events.run_begins(start)
            self._run.begins()
        self._project_state = ProjectState(self._client.project, self._record)
        self._client.on_begin(start.jid)

    def step(self, name: str, jid: str, fun: str, tgt: str) -> None:
        """The job of a step begins."""
        if self._record is not None:
            self._record.step_begins(JobStart(jid, fun, tgt=self._redactor.text(tgt), start=time.time()), name)

    def args(self, data: dict[str, Any]) -> None:
        """Send the event of a step that begins; ``data``: its arguments, as Salt's event has them."""
        if self._events is not None and data:
            for key in ("args", "kwargs"):
                self._redactor.add_pillar(data.get(key) if isinstance(data.get(key), dict) else None)
            self._events.put(f"{run_tag(self.outermost)}/args", self._redactor.data(data))

    def event(self, id: str, tag: str, data: Any, by_state: bool) -> None:
        """A state, or an execution function on the controller, has sent an event."""
        if self._events is not None:
            self._events.fired(id, tag, data, by_state)

    def state(self, id: str, tag: str, ret: dict[str, Any]) -> None:
        """A state has returned."""
        if self._events is not None:
            self._events.state_returned(id, tag, ret)
        if self._record is not None:
            self._record.state_returned(self._redactor.text(tag), self._redactor.data(ret))

    async def returned(self, result: TargetReturn) -> None:
        """All states have returned."""
        await self._observers.returned([result])
        if self._run is not None:
            shown = {**as_printed(result), "data": {result.id: self._redactor.data(result.ret)}}
            self._run.ends(shown, success=not result.exit_code)
        if self._record is not None:
            self._record.restated(self._start())  # without the secrets that are known from pillar since
        if self._project_state is not None:
            await self._project_state.settled()

    async def ends(self, stopped_with: int | None) -> None:
        """The orchestration ends; ``stopped_with``: the exit code if it was stopped."""
        await self._observers.job_ends(stopped_with)
        await settle_events(self._events, self._client.project)


def as_printed(result: TargetReturn) -> dict[str, Any]:
    """What ``salt-run state.orchestrate --out json`` prints: ``data``, ``outputter``, ``retcode``."""
    return {"data": {result.id: result.ret}, "outputter": "highstate", "retcode": int(bool(result.exit_code))}
