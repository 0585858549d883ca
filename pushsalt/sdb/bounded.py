"""Calls with a time limit, for peers that answer very slowly or prompt the user."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from pushsalt.sdb import Trouble

Result = TypeVar("Result")


def within(limit: float, call: Callable[[], Result], what: str, hint: str) -> Result:
    """The result of ``call``. Raises what it raises, or Trouble after ``limit`` seconds; then the call continues."""
    results: list[Result] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as exc:
            raised.append(exc)

    thread = threading.Thread(target=work, name="sdb", daemon=True)
    thread.start()
    thread.join(limit)
    if raised:
        raise raised[0]
    if not results:
        raise Trouble(f"{what} gave no answer within {limit:g} s", hint, down=True)
    return results[0]
