"""The numbered requests of a session that have no answer yet."""

from __future__ import annotations

import asyncio
from typing import Any

from pushsalt.errors import TargetError
from pushsalt.session import troubles


class Pending:
    """A future for each request; true while one has no answer."""

    def __init__(self) -> None:
        self._number = 0
        self._futures: dict[int, asyncio.Future[Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._futures)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and number in self._futures

    def add(self, trouble: TargetError | None) -> tuple[int, asyncio.Future[Any]]:
        """The number of a new request and the future of its answer; ``trouble``: why no answer can come any more."""
        self._number += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if trouble is None:
            self._futures[self._number] = future
        else:
            _fail(future, trouble)
        return self._number, future

    def put(self, number: int, future: asyncio.Future[Any]) -> None:
        """Add a request that was not made by ``add``."""
        self._futures[number] = future

    def forget(self, number: int) -> None:
        self._futures.pop(number, None)

    def answered(self, number: object, id: str, message: dict[str, Any]) -> None:
        """Process the message ``ret`` or ``exc`` of the target ``id``; the answer of an unknown request is ignored."""
        future = self._futures.pop(number, None) if isinstance(number, int) else None
        if future is None or future.done():
            return
        if message.get("k") == "ret":
            future.set_result(message.get("ret"))
        else:
            _fail(future, troubles.raised(id, message))

    def fail(self, trouble: TargetError) -> None:
        """Set this error on all futures."""
        for future in self._futures.values():
            _fail(future, trouble)
        self._futures.clear()


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # marks the exception as retrieved, since the caller may be cancelled
