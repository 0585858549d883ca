"""The drifted states of each target at the last check, stored in the database of the journal.

The event of a change is written in the same transaction as the change, so that none is lost and none is sent twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pushsalt.journal.store import Journal


@dataclass(frozen=True)
class Drift:
    """A target that has drifted: ``tags`` of its states. ``what``: a key of the SLS that were checked."""

    what: str
    id: str
    tags: tuple[str, ...]


def what_of(sls: Sequence[str]) -> str:
    """A name for these SLS."""
    return hashlib.sha256(json.dumps(list(sls)).encode()).hexdigest()[:16]


def drifted(journal: Journal) -> list[Drift]:
    """The targets that had drifted at the last check, by id. Raises OSError and sqlite3.Error."""
    if not journal.rows("SELECT 1 FROM sqlite_master WHERE name = 'watched'", ()):
        return []
    rows = journal.rows("SELECT what, id, tags FROM watched WHERE tags != '[]' ORDER BY id, what", ())
    return [Drift(what, id, tuple(map(str, json.loads(tags)))) for what, id, tags in rows]


_TABLE: Final = """CREATE TABLE IF NOT EXISTS watched (
    what TEXT NOT NULL, id TEXT NOT NULL, tags TEXT NOT NULL, PRIMARY KEY (what, id)
) WITHOUT ROWID"""


class Watched:
    """The drift of targets from the states of these SLS. Methods raise OSError and sqlite3.Error."""

    def __init__(self, journal: Journal, sls: Sequence[str]) -> None:
        self._journal = journal
        self._what = what_of(sls)
        with journal.transaction() as connection:
            connection.execute(_TABLE)

    def tags(self, id: str) -> list[str]:
        """The tags of the drifted states; none for a new target."""
        query = "SELECT tags FROM watched WHERE what = ? AND id = ?"
        rows = self._journal.rows(query, (self._what, id))
        return [str(tag) for tag in json.loads(rows[0][0])] if rows else []

    def change(self, id: str, tags: Sequence[str], event: tuple[str, dict[str, Any]]) -> None:
        """Store the tags of the drifted states, and the event of the change."""
        with self._journal.transaction() as connection:
            row = (self._what, id, json.dumps(list(tags)))
            connection.execute("INSERT OR REPLACE INTO watched VALUES (?, ?, ?)", row)
            self._journal.put_within(connection, [event])
