"""Data that a controller stores from the return of a worker."""

from __future__ import annotations

import pytest

from pushsalt.job import Job
from pushsalt.model import TargetReturn
from pushsalt.run.runner import Runner
from pushsalt.workers.learning import learn
from pushsalt.workers.messages import Answer

JID = "20261126101500000000"


class Bed:
    def __init__(self, site) -> None:
        self.project = site.open()
        self.warnings: list[tuple[str | None, str]] = []
        self.project.reporter.warning = lambda id, text: self.warnings.append((id, text))
        self.runner = Runner(self.project, Job("apply", "state.apply", jid=JID), 1)
        self.fired: list[tuple[str, bool]] = []
        self.runner.on_event = lambda id, tag, data, by_state: self.fired.append((tag, by_state))

    async def learn(self, *tags: str, **fields) -> None:
        events = [{"tag": tag, "data": {}} for tag in tags]
        await learn(self.runner, Answer(TargetReturn("a1", **{"ret": True, **fields}, events=events)))
        await self.runner.close()


@pytest.fixture
def bed(site):
    return Bed(site)


async def test_a_target_does_not_send_the_events_of_another(bed):
    """``by_state`` lets a tag of this kind pass, which otherwise only the controller composes."""
    own, other, earlier = (
        f"salt/state_result/{jid}/{id}/x" for jid, id in ((JID, "a1"), (JID, "a2"), ("20251126101500000000", "a1"))
    )
    await bed.learn(own, other, earlier, f"salt/state_result/{JID}/a1", "my/tag")
    assert [tag for tag, by_state in bed.fired if by_state] == [own]
    assert len(bed.fired) == 5 and not bed.warnings


async def test_what_cannot_be_used_is_a_warning_for_the_target(bed):
    def state_returned(id, tag, ret):
        raise KeyError(tag)

    bed.runner.on_state = state_returned
    await bed.learn(ret={"t": {}}, shape="states")
    [(id, text)] = bed.warnings
    assert id == "a1" and "cannot be used: KeyError" in text


async def test_only_returns_of_states_are_reported_as_states(bed):
    """The value of a disabled ``state.highstate`` is a mapping of texts."""
    told = []
    bed.runner.on_state = lambda id, tag, ret: told.append(tag)
    await bed.learn(ret={"name": "disabled", "t": {"result": True}}, shape="states")
    assert told == ["t"] and not bed.warnings
