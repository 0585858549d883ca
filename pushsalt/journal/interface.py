"""What journals of events have in common, wherever they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pushsalt.journal.store import Event


class EventJournal(Protocol):
    """A journal, for any thread. Its methods raise OSError and sqlite3.Error."""

    #: the file of a journal on this machine; locks of this machine are in its folder
    path: Path

    @property
    def place(self) -> str:
        """Where it is, for messages."""

    @property
    def hint(self) -> str:
        """The hint of the error of a journal that cannot be used."""

    def put(self, tag: str, data: dict[str, Any]) -> Event:
        """Append an event; after this call it survives the end of any process."""

    def put_many(self, events: Sequence[tuple[str, dict[str, Any]]]) -> list[Event]:
        """Append events in this order."""

    def after(self, number: int, limit: int = 1000) -> list[Event]:
        """The events after this number, oldest first, at most ``limit``."""

    def at(self, number: int) -> Event | None:
        """The event with this number; None if it was removed."""

    def since(self, stamp: float) -> int:
        """The number before the first event at or after this time (seconds since 1970)."""

    def first(self) -> int:
        """The number of the oldest stored event; 0 if there is none."""

    def last(self) -> int:
        """The number of the newest event; 0 if there was none yet."""

    def cursor(self, name: str) -> int | None:
        """The number of the last event that a consumer has processed; None for a new consumer."""

    def move(self, name: str, number: int) -> None:
        """Store that a consumer has processed all events up to this one."""

    def close(self) -> None:
        """Close it; the next use opens it again."""
