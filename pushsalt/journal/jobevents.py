"""The events of a job, by Salt's tags and names; the observer that writes them into the journal.

Salt: ``salt/job/JID/new`` and ``…/ret/ID`` of the master, ``…/prog/ID/NUMBER`` with ``state_events``, and events that
targets send (``fire_event``, ``event.send``), which arrive with the target's id around their data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from pushsalt.jobs.model import JobEnd, JobStart, as_result
from pushsalt.journal.writer import Writer
from pushsalt.model import TargetReturn
from pushsalt.redact import Redactor

#: Tags of events that only the controller may send.
OURS: Final = ("salt/job/", "salt/run/", "salt/auth", "salt/beacon/", "salt/key", "salt/wheel/", "pushsalt/")
#: Functions whose failed states are events.
WITH_STATES: Final = ("state.highstate", "state.sls")
#: Tags of ``fire_event``, which the controller composes itself.
STATE_RESULT: Final = "salt/state_result/"


class JobEvents:
    """Observes one job and writes its events. ``settled`` is called after the job."""

    def __init__(self, writer: Writer, redactor: Redactor, *, progress: bool = False) -> None:
        """``progress``: whether each return of a state is an event."""
        self._writer = writer
        self._redactor = redactor
        self._progress = progress
        self._job: JobStart | None = None

    def job_begins(self, job: JobStart) -> None:
        self._job = job
        self._writer.put(*new_event(job))

    def run_begins(self, job: JobStart) -> RunEvents:
        """Begin the job of a runner or wheel function; the result writes its events, which differ from others."""
        self._job = job
        args = [*job.arg, *([job.kwarg] if job.kwarg else [])]
        return RunEvents(self._writer.put, job.jid, job.fun, job.user, args)

    def target_returned(self, ret: TargetReturn) -> None:
        if self._job is not None:
            self._writer.put(*return_event(self._job, ret))
            for event in failed_events(self._job, ret):
                self._writer.put(*event)

    def job_ends(self, end: JobEnd) -> None:
        pass

    def fired(self, id: str, tag: str, data: Any, by_state: bool) -> None:
        """A target has sent an event; ``by_state``: whether a ``fire_event`` did; the controller composes its tag."""
        if self._job is None or not may_send(tag, by_state=by_state):
            return
        tag, data = self._redactor.text(tag), self._redactor.data(data)
        more = {"jid": self._job.jid} if by_state else {}
        self._writer.put(tag, {**more, **from_target(id, tag, data)})

    def state_returned(self, id: str, tag: str, ret: Mapping[str, Any]) -> None:
        """A state has returned."""
        if self._job is None or not self._progress:
            return
        name = f"salt/job/{self._job.jid}/prog/{id}/{ret.get('__run_num__')}"
        data = {"ret": self._redactor.data(dict(ret))}
        self._writer.put(name, {"jid": self._job.jid, **from_target(id, name, data)})

    def put(self, tag: str, data: dict[str, Any]) -> None:
        """Write an event of the job; its data must contain no secrets."""
        self._writer.put(tag, data)

    def settled(self) -> list[str]:
        """Wait until all events are written. Returns messages about those that could not be written."""
        self._writer.close()
        return self._writer.troubles


def may_send(tag: str, *, by_state: bool) -> bool:
    """Whether a target may send an event with this tag: not with the tags of another target or of the controller."""
    return by_state or not tag.startswith((*OURS, STATE_RESULT))


def from_target(id: str, tag: str, data: Any) -> dict[str, Any]:
    """The data of an event that a target has sent. Salt: ``_minion_event``."""
    return {"id": id, "tag": tag, "data": data, "cmd": "_minion_event", "pretag": None}


def new_event(job: JobStart) -> tuple[str, dict[str, Any]]:
    """Tag and data of the event of a job's begin."""
    load = {key: value for key, value in load_of(job).items() if key not in ("ret", "cmd")}
    return f"salt/job/{job.jid}/new", {**load, "minions": list(job.ids), "missing": []}


def return_event(job: JobStart, ret: TargetReturn) -> tuple[str, dict[str, Any]]:
    """Tag and data of the event of a target's return."""
    return f"salt/job/{job.jid}/ret/{ret.id}", {**as_result(job, ret), "cmd": "_return"}


def failed_events(job: JobStart, ret: TargetReturn) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tag and data of an event for each failed state of a return. Salt: ``fire_ret_load``."""
    if ret.shape != "states" or job.fun not in WITH_STATES or not ret.exit_code:
        return
    about = {"retcode": as_result(job, ret)["retcode"], "jid": job.jid, "id": ret.id, "success": False}
    for tag, state in ret.ret.items():
        if isinstance(state, dict) and state.get("result") is False:
            parts = tag.split("_|-")
            error = f"Error: {parts[0]}.{parts[-1]}"
            data = {**state, **about, "return": error, "fun": job.fun, "user": job.user}
            yield f"salt/job/{job.jid}/sub/{ret.id}/error/{job.fun}", data


def load_of(job: JobStart) -> dict[str, Any]:
    """A job as a mapping with Salt's names, as ``save_load`` of a returner gets it."""
    start = datetime.fromtimestamp(job.start, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return {
        "cmd": "publish",
        "jid": job.jid,
        "fun": job.fun,
        "arg": [*job.arg, *([{**job.kwarg, "__kwarg__": True}] if job.kwarg else [])],
        "tgt": job.tgt,
        "tgt_type": job.tgt_type,
        "user": job.user,
        "ret": "",
        "StartTime": start,
    }


def run_tag(jid: str, kind: str = "run") -> str:
    """The begin of the tags of a runner function's events; ``kind``: ``run``, or ``wheel``."""
    return f"salt/{kind}/{jid}"


class RunEvents:
    """The events of a runner function: ``salt/run/JID/new`` and ``…/ret``; ``salt/wheel/…`` of a wheel function.

    Salt: ``salt.client.mixins``.
    """

    def __init__(self, put: Callable[[str, dict[str, Any]], None], jid: str, fun: str, user: str, args: Any) -> None:
        """``fun``: ``runner.MODULE.FUNCTION`` or ``wheel.MODULE.FUNCTION``; ``args``: without secrets."""
        self._put = put
        self._tag = run_tag(jid, "wheel" if fun.startswith("wheel.") else "run")
        self._data = {"fun": fun, "jid": jid, "user": user, "fun_args": args}

    def begins(self) -> None:
        self._put(f"{self._tag}/new", dict(self._data))

    def ends(self, value: Any, *, success: bool) -> None:
        """The function has returned; ``value``: without secrets."""
        self._put(f"{self._tag}/ret", {**self._data, "return": value, "success": success})
