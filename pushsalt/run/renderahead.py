"""Renders the states of one target ahead, with its cached grains, while the job connects and targets collect grains.

The render process memoizes the result (``pushsalt.memo``): a target whose grains, pillar and files have the values that
the rendering read gets it without waiting; any other target is rendered as if there was none. What cannot be memoized,
and what has any effect besides, ends the rendering (``pushsalt.memo.reads.ahead``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pushsalt.errors import TargetError
from pushsalt.modules.controller import RUNS_STATES, has_trait
from pushsalt.run.work import Work
from pushsalt.session.intake import imposed

if TYPE_CHECKING:
    from pushsalt.run.runner import Runner

#: Number of targets among which one with cached grains is looked for.
_TRIED: Final = 8


def begin(runner: Runner, ids: Sequence[str]) -> None:
    """Begin it if the job runs states, for the first of some targets that has cached grains."""
    job, project = runner.job, runner.project
    wanted = job.options.render_cache
    memoizes = project.config.opts["render_cache"] if wanted is None else wanted
    if not memoizes or job.kind not in ("apply", "call") or not has_trait(job.fun, RUNS_STATES):
        return
    for id in ids[:_TRIED]:
        try:
            target = project.target(id)
        except TargetError:
            continue  # reported when its turn has come
        if target.resource or target.transport == "offline" or project.secrets.has(target):
            continue
        grains = project.grains.get(target.key)
        if isinstance(grains, dict):
            runner.ready_to_render()
            runner.ahead = asyncio.create_task(_render(Work(runner, target, id), grains))
            return


async def _render(work: Work, grains: dict[str, Any]) -> None:
    from pushsalt.run.rendered import RenderedTarget

    rendered = RenderedTarget(
        work.project,
        work.target,
        work.options,
        imposed(work.target, grains, bool(work.opts().get("grains_deep_merge"))),
        calls=_calls,
        in_thread=work.runner.answer_in_thread,
        time_left=lambda: work.options.timeout,
        discover=_discover,
    )
    try:
        await rendered.ahead(work.job.fun, work.args(), work.job.kwargs)
    finally:
        rendered.close()


async def _calls(fun: str, args: list[Any], kwargs: dict[str, Any]) -> NoReturn:
    """Not called: a rendering ahead ends before it would call the target."""
    raise NotImplementedError(fun)


async def _discover(pillar: dict[str, Any]) -> NoReturn:
    """Not called: a rendering ahead ends before it would ask for discovery."""
    raise NotImplementedError
