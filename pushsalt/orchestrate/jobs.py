"""What orchestrations and runner functions need of a client (``pushsalt.api.Client``)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

    from pushsalt.events import Reporter
    from pushsalt.job import JobOptions, Selection
    from pushsalt.model import TargetReturn
    from pushsalt.redact import Redactor
    from pushsalt.run.project import Project
    from pushsalt.transport.kept import KeptConnections


class Jobs(Protocol):
    """Runs jobs of one project; the methods are described at ``pushsalt.api.Client``."""

    reporter: Reporter

    @property
    def project(self) -> Project: ...

    def within(self, kept: KeptConnections | None = None) -> Jobs: ...

    def new_jid(self) -> str: ...

    def stoppable(self, event: asyncio.Event) -> AbstractContextManager[None]: ...

    def redactor(self) -> Redactor: ...

    async def run_async(
        self,
        selection: Selection,
        fun: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: JobOptions | None = None,
    ) -> dict[str, TargetReturn]: ...
