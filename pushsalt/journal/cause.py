"""The cause of an event: the first event of a chain of reactions, and the reactor files of the chain.

Code that runs within ``of_reaction``, also in threads and tasks that it starts, opens journals whose events have this
cause. So a reactor detects events that its own reactions have caused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

#: the id of the first event, then the reactor files in their order
Cause = tuple[str, ...]
_current: Final[ContextVar[Cause]] = ContextVar("pushsalt_cause", default=())


def current() -> Cause:
    """The cause of events that are sent in this context; empty outside of a reaction."""
    return _current.get()


@contextmanager
def of_reaction(cause: Cause) -> Iterator[None]:
    """Give this cause to all events that are sent within the context."""
    token = _current.set(cause)
    try:
        yield
    finally:
        _current.reset(token)


def as_text(cause: Cause) -> str:
    """The cause as text, for storage."""
    return json.dumps(cause) if cause else ""


def from_text(text: str) -> Cause:
    """The cause from its stored text."""
    return tuple(map(str, json.loads(text))) if text else ()
