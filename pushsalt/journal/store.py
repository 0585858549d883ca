"""The journal of events in SQLite: one row an event, in the order of their numbers.

Several processes may write and read at the same time. An event that ``put`` has returned for survives the end of the
process. The journal is bounded: the oldest events are removed as new ones arrive.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import uuid
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from pushsalt import privatefolder

#: Events that are kept, and how many are removed at a time.
KEPT: Final = 100_000
_SPARE: Final = 5_000
#: Seconds to wait for another process that writes.
_PATIENCE: Final = 30.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, stamp REAL NOT NULL,
    data TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Event:
    """An event of the journal. ``number`` gives the order; ``id`` is the same wherever the event is delivered."""

    number: int
    id: str
    tag: str
    #: seconds since 1970
    stamp: float
    data: dict[str, Any]

    @property
    def as_json(self) -> dict[str, Any]:
        """``tag``, ``id``, ``_stamp`` (ISO 8601, UTC), ``data``."""
        stamp = datetime.fromtimestamp(self.stamp, timezone.utc).isoformat().replace("+00:00", "")
        return {"tag": self.tag, "id": self.id, "_stamp": stamp, "data": self.data}


class Journal:
    """The journal of a cache folder, for any thread. Its methods raise OSError and sqlite3.Error."""

    def __init__(self, cache_dir: Path) -> None:
        self._path = cache_dir / "events" / "journal.sqlite3"
        self._lock = threading.Lock()
        self._ready = False

    def put(self, tag: str, data: dict[str, Any]) -> Event:
        """Append an event."""
        [event] = self.put_many([(tag, data)])
        return event

    def put_many(self, events: list[tuple[str, dict[str, Any]]]) -> list[Event]:
        """Append events in this order, in one transaction."""
        stamp = time.time()
        rows = [(uuid.uuid4().hex, tag, stamp, json.dumps(data, default=str)) for tag, data in events]
        found = []
        with self._lock, closing(self._open()) as connection, connection:
            for (id, tag, when, text), (_, data) in zip(rows, events, strict=True):
                cursor = connection.execute(
                    "INSERT INTO events (id, tag, stamp, data) VALUES (?, ?, ?, ?)", (id, tag, when, text)
                )
                found.append(Event(int(cursor.lastrowid or 0), id, tag, when, data))
            last = found[-1].number if found else 0
            if last % _SPARE < len(found):
                connection.execute("DELETE FROM events WHERE number <= ?", (last - KEPT,))
        return found

    def after(self, number: int, limit: int = 1000) -> list[Event]:
        """The events behind this number, oldest first, at most so many."""
        if not self._path.exists():
            return []
        with closing(self._open()) as connection:
            rows = connection.execute(
                "SELECT number, id, tag, stamp, data FROM events WHERE number > ? ORDER BY number LIMIT ?",
                (number, limit),
            ).fetchall()
        return [Event(row[0], row[1], row[2], row[3], json.loads(row[4])) for row in rows]

    def since(self, stamp: float) -> int:
        """The number before the first event at or after this time (seconds since 1970)."""
        if not self._path.exists():
            return 0
        with closing(self._open()) as connection:
            found = connection.execute("SELECT MIN(number) FROM events WHERE stamp >= ?", (stamp,)).fetchone()[0]
        return self.last() if found is None else int(found) - 1

    def last(self) -> int:
        """The number of the newest event; 0 without any."""
        if not self._path.exists():
            return 0
        with closing(self._open()) as connection:
            return int(connection.execute("SELECT COALESCE(MAX(number), 0) FROM events").fetchone()[0])

    def _open(self) -> sqlite3.Connection:
        if not self._ready:
            privatefolder.private_dir(self._path.parent)
        connection = sqlite3.connect(self._path, timeout=_PATIENCE)
        if not self._ready:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_SCHEMA)
            self._path.chmod(0o600)
            self._ready = True
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection
