"""The state of a reactor, stored in the database of the journal, so that it survives the end of the process.

========================  ======================================================================================
table                     rows
========================  ======================================================================================
``reacting``              events that were taken and whose reactions are not all done
``reactions``             reactions to these events that were begun: their JID, and whether they are done
``reacted``               targets that have returned for a reaction
========================  ======================================================================================

An event is taken in the same transaction that moves the cursor, so that none is lost and none is taken twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import sqlite3

    from pushsalt.journal.cause import Cause
    from pushsalt.journal.store import Journal

#: The name of the cursor.
NAME: Final = "pushsalt react"
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS reacting (number INTEGER PRIMARY KEY)",
    """CREATE TABLE IF NOT EXISTS reactions (
        number INTEGER NOT NULL, name TEXT NOT NULL, jid TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (number, name)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS reacted (
        number INTEGER NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (number, name, id)
    ) WITHOUT ROWID""",
)


@dataclass(frozen=True)
class Begun:
    """A reaction that was begun. ``ids``: targets that have returned."""

    jid: str
    is_done: bool
    ids: frozenset[str]


class Reactions:
    """The state of the reactor of one journal. Methods raise OSError and sqlite3.Error."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        with journal.transaction() as connection:
            for statement in _TABLES:
                connection.execute(statement)

    def take(self, number: int) -> None:
        """Take an event: its reactions will be done, by a later process if this one ends."""
        with self._journal.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO reacting VALUES (?)", (number,))
            self._journal.move_within(connection, NAME, number)

    def taken(self) -> list[int]:
        """The numbers of events that were taken and are not done, in their order."""
        return [int(number) for (number,) in self._journal.rows("SELECT number FROM reacting ORDER BY number", ())]

    def begun(self, number: int) -> dict[str, Begun]:
        """The reactions to an event that were begun, by name."""
        done: dict[str, set[str]] = {}
        for name, id in self._journal.rows("SELECT name, id FROM reacted WHERE number = ?", (number,)):
            done.setdefault(name, set()).add(id)
        rows = self._journal.rows("SELECT name, jid, done FROM reactions WHERE number = ?", (number,))
        return {name: Begun(jid, bool(is_done), frozenset(done.get(name, ()))) for name, jid, is_done in rows}

    def begins(self, number: int, name: str, jid: str) -> None:
        """Store that a reaction begins, as the job with this JID."""
        with self._journal.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO reactions VALUES (?, ?, ?, 0)", (number, name, jid))

    def returned(self, number: int, name: str, id: str) -> None:
        """Store that a target has returned."""
        with self._journal.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO reacted VALUES (?, ?, ?)", (number, name, id))

    def ends(self, number: int, name: str, events: Sequence[tuple[str, dict[str, Any]]], cause: Cause) -> None:
        """Store that a reaction is done, and ``events`` about it, in one transaction."""
        with self._journal.transaction() as connection:
            connection.execute("UPDATE reactions SET done = 1 WHERE number = ? AND name = ?", (number, name))
            self._journal.put_within(connection, events, cause)

    def done(self, number: int, events: Sequence[tuple[str, dict[str, Any]]], cause: Cause) -> None:
        """Store that all reactions to an event are done, and ``events``, in one transaction."""
        with self._journal.transaction() as connection:
            _forget(connection, number)
            self._journal.put_within(connection, events, cause)


def _forget(connection: sqlite3.Connection, number: int) -> None:
    for table in ("reacting", "reactions", "reacted"):
        connection.execute(f"DELETE FROM {table} WHERE number = ?", (number,))
