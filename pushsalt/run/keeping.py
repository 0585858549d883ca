"""Connections that a Python program keeps between its jobs, and the thread with the event loop that they use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from pushsalt.run.runner import close_connecting, connect_options
from pushsalt.transport.kept import KeptConnections

if TYPE_CHECKING:
    from pushsalt.job import Job
    from pushsalt.run.project import Project

Result = TypeVar("Result")


class Keeping:
    """The thread; end it with ``close``."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._kept: KeptConnections | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="pushsalt-kept", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine, run in the thread; an exception in the caller, such as Ctrl-C, cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def connections(self, project: Project, job: Job) -> KeptConnections | None:
        """The connections for a job in the thread; None for a job in another event loop."""
        if not self.is_current:
            return None
        if self._kept is None:
            self._kept = KeptConnections(connect_options(project, job))
        return self._kept

    def close(self) -> None:
        """Close the connections, and end the thread."""
        if self._kept is not None:
            self.run(self._let_go(self._kept))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _let_go(self, kept: KeptConnections) -> None:
        await kept.close()
        await close_connecting(kept.options)
