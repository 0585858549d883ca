"""The interface of a client (``pushsalt.api.Client``) that orchestrations and runner functions use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from pushsalt.events import Reporter
    from pushsalt.job import Job, JobOptions, Selection
    from pushsalt.jobs.jobs import Jobs as KeptJobs
    from pushsalt.model import TargetReturn
    from pushsalt.redact import Redactor
    from pushsalt.run.observers import JobObserver
    from pushsalt.run.project import Project
    from pushsalt.run.stopping import Stopping
    from pushsalt.transport.kept import KeptConnections


class Jobs(Protocol):
    """Runs jobs of one project; the methods are described at ``pushsalt.api.Client``."""

    reporter: Reporter
    observers: list[JobObserver]
    keeps_jobs: bool
    on_begin: Callable[[str], None]
    on_value: Callable[[str], Awaitable[None]] | None
    words: Sequence[str]
    stopped_with: int

    @property
    def project(self) -> Project: ...

    @property
    def jobs(self) -> KeptJobs: ...

    def stop(self, exit_code: int = ..., gently: bool = ...) -> None: ...

    def within(self, kept: KeptConnections | None = None) -> Jobs: ...

    def new_jid(self) -> str: ...

    def stoppable(self, stopping: Stopping) -> AbstractContextManager[None]: ...

    def redactor(self) -> Redactor: ...

    async def run_async(
        self,
        selection: Selection,
        fun: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: JobOptions | None = None,
    ) -> dict[str, TargetReturn]: ...

    def stream_job(self, selection: Selection, job: Job) -> AsyncIterator[TargetReturn]: ...
