"""Starts the delivery of a job's returns to returners, and waits for it at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pushsalt.job import Job

if TYPE_CHECKING:
    from pushsalt.delivery.delivery import Delivery
    from pushsalt.run.project import Project

#: Seconds for returners after the job was stopped; less than the command has to end
_WHEN_STOPPED: Final = 3.0
_OPTIONS: Final = ("return", "event_return", "ext_job_cache")


def open_delivery(project: Project, job: Job) -> Delivery | None:
    """The delivery of the job's returns; None if no returner is set and no spooled returns are left to send.

    Raises UsageError for an unknown returner that the command names.
    """
    opts, options = project.config.opts, job.options
    cache_dir = project.config.cache_dir
    named = options.returners or any(opts.get(name) for name in _OPTIONS)
    if job.kind == "clean" or not (named or (cache_dir / "returns").is_dir()):
        return None
    from pushsalt.delivery.delivery import Delivery, wanted

    delivery = Delivery(
        opts,
        wanted(opts, options.returners, options.return_config),
        cache_dir=cache_dir,
        redactor=project.redactor,
        sdb=lambda: project.sdb,
    )
    return delivery if delivery or delivery.warnings else None


async def finish(delivery: Delivery | None, project: Project, *, stopped: bool) -> None:
    """Wait a limited time until all returns are sent or spooled; warn of those that were not sent."""
    if delivery is None:
        return
    import asyncio

    try:
        await asyncio.to_thread(delivery.wait, _WHEN_STOPPED if stopped else None)
    finally:
        delivery.hurry()
        _say(project, delivery.warnings)


def _say(project: Project, warnings: Sequence[str]) -> None:
    for text in warnings:
        project.reporter.warning(None, project.redactor.text(text))
