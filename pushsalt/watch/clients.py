"""The clients of a service's jobs: they share a project and its connections, and can be stopped together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.job import Job
from pushsalt.orchestrate.jobs import Jobs
from pushsalt.run.runner import close_connecting, connect_options
from pushsalt.transport.kept import KeptConnections

if TYPE_CHECKING:
    from pushsalt.job import JobOptions, Selection
    from pushsalt.model import TargetReturn


class WatchClient(Jobs, Protocol):
    """A client that applies states."""

    def stream_apply(
        self, selection: Selection, sls: list[str] | None = None, options: JobOptions | None = None
    ) -> AsyncIterator[TargetReturn]: ...

    def target(self, selection: Selection) -> list[str]: ...

    def within(self, kept: KeptConnections | None = None) -> WatchClient: ...


class Clients:
    """Makes clients that share the project of ``client``; ``options``: those of the command."""

    def __init__(self, client: WatchClient, options: JobOptions) -> None:
        self.client = client
        self.options = options
        self._kept: KeptConnections | None = None
        self._running: set[Jobs] = set()
        self._is_stopped = False

    def kept(self) -> KeptConnections:
        """The connections that all jobs share."""
        if self._kept is None:
            self._kept = KeptConnections(connect_options(self.client.project, Job("call", options=self.options)))
        return self._kept

    def one(self) -> WatchClient:
        """A client for one job."""
        return self.client.within(self.kept())

    @contextmanager
    def running(self, client: Jobs) -> Iterator[None]:
        """Within this context, ``stop`` also stops the job of this client."""
        self._running.add(client)
        try:
            yield
        finally:
            self._running.discard(client)

    def stop(self, exit_code: int) -> None:
        """Stop the running jobs; each running state is finished."""
        for client in self._running:
            client.stop(exit_code, gently=True)

    async def close(self) -> None:
        """Close the connections."""
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.close()
            await close_connecting(kept.options)

    def redacted(self, text: str) -> str:
        """The text without secrets."""
        return self.client.redactor().text(text)

    def hidden(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data without secrets."""
        hidden: dict[str, Any] = self.client.redactor().data(data)
        return hidden
