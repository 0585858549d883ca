"""Of what an event comes: the event that a reaction was for, and the reactor files from there on.

What runs within ``of_reaction`` opens journals whose events have this cause, in threads and tasks that it starts too.
So a reactor notices that an event comes of its own reaction.
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
    """The cause of events that are put in this context; empty outside of a reaction."""
    return _current.get()


@contextmanager
def of_reaction(cause: Cause) -> Iterator[None]:
    """Give this cause to the events of what runs within the context."""
    token = _current.set(cause)
    try:
        yield
    finally:
        _current.reset(token)


def as_text(cause: Cause) -> str:
    """The cause as it is stored."""
    return json.dumps(cause) if cause else ""


def from_text(text: str) -> Cause:
    """The cause of a stored text."""
    return tuple(map(str, json.loads(text))) if text else ()
