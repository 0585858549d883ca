"""What a controller learns from a worker's return: secrets, grains, pillar, mine, resources, events and states."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pushsalt.errors import PushsaltError
from pushsalt.minion import mine

if TYPE_CHECKING:
    from pushsalt.cache.store import Bank
    from pushsalt.model import Target
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
    if has_learnt(answer):
        await runner.in_thread(partial(remember, project, answer))
    if runner.job.record is not None and answer.plan is not None:
        from pushsalt.workers import plans

        await runner.in_thread(partial(plans.take, project, runner.job.record, result.id, answer.plan))
    elif runner.job.record is not None and result.shape == "plan":
        project.reporter.warning(result.id, "its worker is older, and records no plans: it is not in the plan file")
    if runner.on_event is not None:
        # only the target's own tag is taken for that of a ``fire_event``: others of this kind are the controller's
        own = f"salt/state_result/{runner.jid}/{project.target(result.id).id}/" if result.events else ""
        for event in result.events:
            runner.on_event(result.id, event["tag"], event.get("data"), event["tag"].startswith(own))
    if runner.on_state is not None and result.shape == "states":
        for tag, ret in result.ret.items():
            if isinstance(ret, dict):
                runner.on_state(result.id, tag, ret)


def has_learnt(answer: Answer) -> bool:
    """Whether there is something for ``remember``."""
    return any(each is not None for each in (answer.grains, answer.pillar, answer.mine, answer.resources))


def remember(project: Project, answer: Answer, since: float | None = None) -> None:
    """Keep grains, pillar, mine values and resources in the caches of this controller.

    ``since``: the time of the answer, in seconds since the epoch, if it is not of now: what the caches have from later
    is kept.
    """
    with contextlib.suppress(PushsaltError):
        target = project.target(answer.result.id)
        if answer.resources is not None and not target.resource:
            with _of_time(project.managed.bank, target, since) as is_new:
                if is_new:
                    _register(project, target, answer.resources)
        if answer.grains is not None:
            with _of_time(project.grains_of(target), target, since) as is_new:
                if is_new:
                    project.remember_grains(target, {**answer.grains, **target.grains, "id": target.id})
        if answer.pillar is not None and project.keeps_pillar:
            with _of_time(project.pillar_bank, target, since) as is_new:
                project.hide_kept(target)
                if is_new and not project.is_kept(target, answer.pillar):
                    project.remember_pillar(target, answer.pillar)
        if answer.mine is not None:
            with _of_time(project.mine, target, since) as is_new:
                if is_new:
                    _change_mine(project, target, answer.mine)


@contextlib.contextmanager
def _of_time(bank: Bank, target: Target, since: float | None) -> Iterator[bool]:
    """Whether an entry has nothing later than ``since``; what is written within the context gets this time."""
    written = bank.written(target.key) if since is not None else None
    is_new = written is None or since is None or written < since
    yield is_new
    if is_new and since is not None and bank.written(target.key) != written:
        bank.set_time(target.key, since)


def _register(project: Project, target: Target, said: dict[str, Any]) -> None:
    found, failed, declared = (said.get(name) for name in ("found", "failed", "declared"))
    if isinstance(found, dict) and isinstance(failed, list) and isinstance(declared, dict):
        project.managed.register(target.id, found, [str(type) for type in failed], declared)


def _change_mine(project: Project, target: Target, changes: list[Any]) -> None:
    if not mine.keeps(project):
        return
    for values, without, clears in changes:
        named = {str(name): value for name, value in values.items()}
        if not clears:
            kept = project.mine.get(target.key) or {}
            if len({*kept, *named}) <= mine.NAMES:
                project.mine.update(target.key, named, [str(name) for name in without])
        elif named and len(named) <= mine.NAMES:
            project.mine.put(target.key, named)
        elif not named:
            project.mine.delete(target.key)
