"""What a controller learns from a worker's return: secrets, grains, pillar, events and returns of states."""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING

from pushsalt.errors import PushsaltError

if TYPE_CHECKING:
    from pushsalt.run.project import Project
    from pushsalt.run.runner import Runner
    from pushsalt.workers.messages import Answer

log = logging.getLogger(__name__)


async def learn(runner: Runner, answer: Answer) -> None:
    """Keep what the worker has learnt about a target, as a run from here does.

    The content is foreign: if it cannot be used, the target gets a warning, and other targets go on.
    """
    try:
        await _learn(runner, answer)
    except Exception as exc:
        log.debug("the return of %s", answer.result.id, exc_info=exc)
        text = f"what its worker sent with the return cannot be used: {type(exc).__name__}: {exc}"
        runner.project.reporter.warning(answer.result.id, text[:500])


async def _learn(runner: Runner, answer: Answer) -> None:
    project, result = runner.project, answer.result
    project.redactor.add_secrets(*answer.secrets)
    if answer.pillar is not None:
        project.redactor.add_pillar(answer.pillar)
    if answer.grains is not None or answer.pillar is not None:
        await runner.in_thread(partial(_remember, project, answer))
    if runner.on_event is not None:
        # only the target's own tag is taken for that of a ``fire_event``: others of this kind are the controller's
        own = f"salt/state_result/{runner.jid}/{project.target(result.id).id}/" if result.events else ""
        for event in result.events:
            runner.on_event(result.id, event["tag"], event.get("data"), event["tag"].startswith(own))
    if runner.on_state is not None and result.shape == "states":
        for tag, ret in result.ret.items():
            if isinstance(ret, dict):
                runner.on_state(result.id, tag, ret)


def _remember(project: Project, answer: Answer) -> None:
    with contextlib.suppress(PushsaltError):
        target = project.target(answer.result.id)
        if answer.grains is not None:
            project.remember_grains(target, {**answer.grains, **target.grains, "id": target.id})
        if answer.pillar is not None and project.keeps_pillar:
            project.hide_kept(target)
            if not project.is_kept(target, answer.pillar):
                project.remember_pillar(target, answer.pillar)
