"""Runs the states of a plan file on a target: a dry run, the comparison with the plan, and then the run.

Nothing is rendered or compiled: states, files and templates are those of the plan (pushsalt.planning.planfile).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import PlanStale
from pushsalt.model import Blob
from pushsalt.planning.forecast import Forecast
from pushsalt.planning.planfile import PlanFile
from pushsalt.run.kinds import Kind
from pushsalt.run.recording import place
from thin import wire

if TYPE_CHECKING:
    from pushsalt.run.answers import Answers
    from pushsalt.run.work import Work
    from pushsalt.session.session import Session

_AGAIN: Final = "make a new plan, or give --accept-drift to run the states of the plan as they are"
#: Most states that are shown with both sides, and characters of a side.
_SHOWN: Final = 5
_WIDTH: Final = 600


@dataclass(frozen=True)
class Kept:
    """A plan that is to be run. ``accept_drift``: also on targets whose dry run differs from the plan."""

    plan: PlanFile
    accept_drift: bool = False


class FromPlan(Kind):
    """``apply FILE.plan``."""

    takes_lock = True

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._kept: Kept = work.job.kept
        self._entry = self._kept.plan.targets[work.name]

    async def offline(self) -> Any:
        raise self._unreachable("no states can be run there")

    async def online(self) -> tuple[Any, int]:
        id, entry = self.target.id, self._entry
        if place(self.target) != entry["place"]:
            text = f"{id}: its address or login in the inventory has changed since the plan was made"
            raise PlanStale(text, "make a new plan: this one is for another machine")
        opts = self.work.opts()
        custom = self.project.custom_archive(str(opts.get("saltenv") or "base"))
        if (custom.digest if custom is not None else "") != entry["custom"]:
            raise PlanStale(f"{id}: your own modules have changed since the plan was made", "make a new plan")
        return await super().online()

    async def run(self, session: Session) -> tuple[Any, int]:
        work, entry = self.work, self._entry
        blobs = self._blobs
        fields = {**entry["run"], "test": True, "mock": False, "detail": True, "look": True}
        work.kept_answers = KeptAnswers(entry, self._kept.plan.blobs, work.answers())
        with work.phase("look"):
            await session.run({"k": "run", **fields}, blobs)
        returns, details = {**entry["disabled"], **work.states}, dict(work.details)
        work.begin_again()
        now = Forecast(entry["run"], returns, details, work.opts()).as_data()
        differing = list(differences(entry["data"], now))
        if differing and not self._kept.accept_drift:
            raise PlanStale(_words(self.target.id, differing, len(now["states"])), _AGAIN)
        work.total = len(entry["run"]["chunks"])
        work.reporter.target_chunks(work.name, work.total)
        with work.phase("run"):
            fields = {**entry["run"], "test": False, "mock": False, **work.backups()}
            if not self._kept.accept_drift:  # the target compares each of these again (thin.planned)
                fields["planned"] = [state["tag"] for state in now["states"] if state["mark"] in ("none", "will")]
            await session.run({"k": "run", **fields}, blobs)
        return {**entry["disabled"], **work.states}, 0

    def _blobs(self, digest: str) -> Blob:
        data = self._kept.plan.blobs[digest]
        return Blob(digest, len(data), data=data)


class KeptAnswers:
    """Answers a target's questions from the plan; the command answers those that no plan stores (``ask``, ``salt``)."""

    def __init__(self, entry: Mapping[str, Any], blobs: Mapping[str, bytes], answers: Answers) -> None:
        self._entry, self._blobs, self._answers = entry, blobs, answers

    async def __call__(self, question: dict[str, Any]) -> dict[str, Any]:
        """The fields of the answer, or ``error`` and ``exception``."""
        handler = getattr(self, f"_{question.get('k')}", None)
        if handler is None:
            return await self._answers(question)
        answer: dict[str, Any] = handler(question)
        return answer

    def _pillar(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"pillar": self._entry["pillar"]}

    def _file(self, question: dict[str, Any]) -> dict[str, Any]:
        url = str(question.get("url"))
        key = wire.file_key(url, str(question.get("saltenv") or "base"))
        if key not in self._entry["files"]:
            return _not_in_plan(url)
        digest = self._entry["files"][key]
        if digest is None:
            return {"missing": True}
        data = self._blobs.get(digest)
        if question.get("stat") or digest in (question.get("have") or ()):
            return {"digest": digest, "size": None if data is None else len(data), "have": True}
        if data is None:
            return _not_in_plan(url)
        blob = Blob(digest, len(data), data=data)
        return {"digest": digest, "size": len(data), "blobs": [(blob, question.get("part"))]}

    def _files(self, question: dict[str, Any]) -> dict[str, Any]:
        saltenv = str(question.get("saltenv") or "base")
        files = []
        for url, part in question.get("files") or ():
            digest = self._entry["files"].get(wire.file_key(str(url), saltenv))
            if digest in self._blobs:
                files.append((Blob(digest, len(self._blobs[digest]), data=self._blobs[digest]), part))
        return {"digests": [blob.digest for blob, _ in files], "blobs": files}

    def _tree(self, question: dict[str, Any]) -> dict[str, Any]:
        url = str(question.get("url"))
        key = wire.file_key(url, str(question.get("saltenv") or "base"))
        if key not in self._entry["trees"]:
            return _not_in_plan(url)
        entries = self._entry["trees"][key]
        return {"missing": True} if entries is None else {"entries": entries}

    def _template(self, question: dict[str, Any]) -> dict[str, Any]:
        text = self._entry["templates"].get(str(question.get("key")))
        return _not_in_plan(str(question.get("url") or "a template of the target")) if text is None else {"text": text}


def _not_in_plan(what: str) -> dict[str, Any]:
    text = f"{what} is not in the plan: no state asked for it when the plan was made"
    return {"error": text, "exception": "CommandExecutionError"}


def differences(planned: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(tag, planned, now) of the states that would not do what was planned; None for a state that is missing there."""
    sides = [{state["tag"]: state for state in data["states"]} for data in (planned, now)]
    for tag in {**sides[0], **sides[1]}:
        before, after = (side.get(tag) for side in sides)
        if _essence(before) != _essence(after):
            yield tag, before, after


def _essence(state: Mapping[str, Any] | None) -> Any:
    if state is None:
        return None
    fails = state["comment"].startswith("It would fail: ")
    words = "" if state["changes"] or state["mark"] == "none" else state["comment"]  # all that such a state tells
    return state["mark"], json.dumps(state["changes"], sort_keys=True, default=repr), state["diff"], fails, words


def _words(id: str, differing: list[tuple[str, Any, Any]], total: int) -> str:
    lines = [f"{id}: a dry run now differs from the plan in {len(differing)} of {total} states"]
    for tag, before, after in differing[:_SHOWN]:
        module, _, rest = tag.partition("_|-")
        lines.append(f"{module}.{rest.rpartition('_|-')[2]} {rest.partition('_|-')[0]}")
        for word, state in (("planned", before), ("now", after)):
            lines += [f"  {word}: {row}" if not at else f"    {row}" for at, row in enumerate(_outcome_lines(state))]
    if len(differing) > _SHOWN:
        lines.append(f"and {len(differing) - _SHOWN} more states")
    return "\n".join(lines)


def _outcome_lines(state: Mapping[str, Any] | None) -> list[str]:
    """The lines of a message about what a state would do."""
    if state is None:
        return ["no such state"]
    if state["mark"] == "none":
        return ["no change" if not state["comment"].startswith("It would fail: ") else state["comment"].split("\n")[0]]
    text = state["diff"] or json.dumps(state["changes"], sort_keys=True, default=repr)
    cut = text[:_WIDTH] + (" …" if len(text) > _WIDTH else "")
    return [f"{state['mark']} change", *cut.rstrip("\n").split("\n")]
