"""The journal of events in SQLite: one row for each event, in the order of their numbers.

Several processes may write and read at the same time. An event survives a kill of any process when ``put``
has returned; a power loss may drop the last ones (SQLite: WAL, ``synchronous = NORMAL``). The journal is
limited in size and age: the oldest events are removed as new ones arrive, whether they were read or not.

The journal also stores the cursor of each consumer: the number of the last event that it has processed. A consumer that
was killed before it moved its cursor gets the same events again, with the same ids.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from pushsalt import privatefolder
from pushsalt.journal import cause

#: Seconds to wait for another process that writes.
_PATIENCE: Final = 30.0
#: Old events are searched for after each so many new ones.
_EVERY: Final = 1000
#: Part of the maximum size to which the journal is reduced, so that this is seldom necessary.
_LEFT: Final = 0.9
#: Characters of a text in an event; a longer one is replaced by ``TRIMMED``. Salt: ``max_event_size``, and its word.
_LONG: Final = 1 << 20
TRIMMED: Final = "VALUE_TRIMMED"
#: Bytes that an event needs in addition to its tag and data.
_ROW: Final = 100
_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS events (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, stamp REAL NOT NULL,
        size INTEGER NOT NULL, data TEXT NOT NULL, cause TEXT NOT NULL DEFAULT ''
    )""",
    "CREATE INDEX IF NOT EXISTS events_by_stamp ON events (stamp)",
    "CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT OR IGNORE INTO meta VALUES ('size', 0)",
)
_FIELDS: Final = "number, id, tag, stamp, data, cause"
_INSERT: Final = "INSERT INTO events (id, tag, stamp, size, data, cause) VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class Bounds:
    """Limits: ``seconds`` of age, ``size`` of all events in bytes. None: no limit."""

    seconds: float | None = None
    size: int | None = None


@dataclass(frozen=True)
class Event:
    """An event of the journal. ``number`` gives the order; ``id`` is the same wherever the event is delivered."""

    number: int
    id: str
    tag: str
    #: seconds since 1970
    stamp: float
    data: dict[str, Any]
    #: the cause of an event that a reaction sent, see ``pushsalt.journal.cause``
    cause: tuple[str, ...] = ()

    @property
    def time(self) -> str:
        """The time at which it was written, in the format of Salt's ``_stamp``: ISO 8601, UTC, with the zone."""
        return datetime.fromtimestamp(self.stamp, timezone.utc).isoformat(timespec="microseconds")

    @property
    def as_json(self) -> dict[str, Any]:
        """``tag``, ``id``, ``_stamp``, ``data``."""
        return {"tag": self.tag, "id": self.id, "_stamp": self.time, "data": self.data}


class Journal:
    """The journal of a cache folder, for any thread. Its methods raise OSError and sqlite3.Error."""

    def __init__(self, cache_dir: Path, bounds: Bounds = Bounds()) -> None:
        """Events get the cause of the context in which this object was made."""
        self._cause = cause.current()
        self.path = cache_dir / "events" / "journal.sqlite3"
        self._bounds = bounds
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._until_trim = 0

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return str(self.path)

    @property
    def hint(self) -> str:
        """The hint of the error of a journal that cannot be used."""
        return "check the free space and mode of its folder"

    def put(self, tag: str, data: dict[str, Any]) -> Event:
        """Append an event."""
        [event] = self.put_many([(tag, data)])
        return event

    def put_many(self, events: Sequence[tuple[str, dict[str, Any]]]) -> list[Event]:
        """Append events in this order, in one transaction."""
        with self.transaction() as connection:
            return self.put_within(connection, events)

    def put_within(
        self,
        connection: sqlite3.Connection,
        events: Sequence[tuple[str, dict[str, Any]]],
        reason: cause.Cause | None = None,
    ) -> list[Event]:
        """Append events within a transaction of the caller. ``reason``: their cause, instead of that of this object."""
        stamp, reason = time.time(), self._cause if reason is None else reason
        rows = [_row(tag, stamp, data, cause.as_text(reason)) for tag, data in events]
        numbers = [connection.execute(_INSERT, row).lastrowid for row in rows]
        connection.execute("UPDATE meta SET value = value + ? WHERE key = 'size'", (sum(row[3] for row in rows),))
        self._until_trim -= len(rows)
        if self._until_trim < 0:
            self._until_trim = _EVERY
            self._trim(connection, stamp)
        return [
            Event(int(number or 0), row[0], row[1], stamp, data, reason)
            for number, row, (_, data) in zip(numbers, rows, events, strict=True)
        ]

    def after(self, number: int, limit: int = 1000) -> list[Event]:
        """The events after this number, oldest first, at most ``limit``."""
        query = f"SELECT {_FIELDS} FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return [_event(row) for row in self.rows(query, (number, limit))]

    def at(self, number: int) -> Event | None:
        """The event with this number; None if it was removed."""
        return next(
            (_event(row) for row in self.rows(f"SELECT {_FIELDS} FROM events WHERE number = ?", (number,))), None
        )

    def since(self, stamp: float) -> int:
        """The number before the first event at or after this time (seconds since 1970)."""
        rows = self.rows("SELECT MIN(number) FROM events WHERE stamp >= ?", (stamp,))
        return self.last() if not rows or rows[0][0] is None else int(rows[0][0]) - 1

    def first(self) -> int:
        """The number of the oldest stored event; 0 if there is none."""
        rows = self.rows("SELECT COALESCE(MIN(number), 0) FROM events", ())
        return int(rows[0][0]) if rows else 0

    def last(self) -> int:
        """The number of the newest event, which may have been removed; 0 if there was none yet."""
        rows = self.rows("SELECT seq FROM sqlite_sequence WHERE name = 'events'", ())
        return int(rows[0][0]) if rows else 0

    def cursor(self, name: str) -> int | None:
        """The number of the last event that a consumer has processed; None for a new consumer."""
        rows = self.rows("SELECT number FROM cursors WHERE name = ?", (name,))
        return int(rows[0][0]) if rows else None

    def move(self, name: str, number: int) -> None:
        """Store that a consumer has processed all events up to this one."""
        with self.transaction() as connection:
            self.move_within(connection, name, number)

    @staticmethod
    def move_within(connection: sqlite3.Connection, name: str, number: int) -> None:
        """``move`` within a transaction of the caller."""
        connection.execute("INSERT OR REPLACE INTO cursors VALUES (?, ?)", (name, number))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __del__(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def put_aside(self) -> Path:
        """Rename a damaged file. Raises OSError."""
        self.close()
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}")
        for end in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + end).rename(aside.with_name(aside.name + end))
        return aside

    def _trim(self, connection: sqlite3.Connection, now: float) -> None:
        """Remove events beyond the limits."""
        seconds, most = self._bounds.seconds, self._bounds.size
        until = 0
        if seconds is not None:
            query = "SELECT COALESCE(MAX(number), 0) FROM events WHERE stamp < ?"
            until = int(connection.execute(query, (now - seconds,)).fetchone()[0])
        total = int(connection.execute("SELECT value FROM meta WHERE key = 'size'").fetchone()[0])
        if most is not None and total > most:
            for number, size in connection.execute("SELECT number, size FROM events ORDER BY number"):
                until, total = max(until, number), total - size
                if total <= most * _LEFT:
                    break
        if until:
            query = "SELECT COALESCE(SUM(size), 0) FROM events WHERE number <= ?"
            removed = int(connection.execute(query, (until,)).fetchone()[0])
            connection.execute("DELETE FROM events WHERE number <= ?", (until,))
            connection.execute("UPDATE meta SET value = value - ? WHERE key = 'size'", (removed,))
            connection.execute("PRAGMA incremental_vacuum(4000)").fetchall()

    def rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The rows of a query; none if there is no journal."""
        if not self.path.exists():
            return []
        with self._lock:
            return self._opened().execute(query, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is committed at the end of the context, and rolled back by an exception."""
        with self._lock:
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None:
            if self._inode == _inode(self.path):
                return self._connection
            self._connection.close()  # another process has renamed the file
            self._connection = None
        privatefolder.private_dir(self.path.parent)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        status = self.path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise PermissionError(1, f"{self.path} is no regular file of its user")
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            for words in ("auto_vacuum = INCREMENTAL", "synchronous = NORMAL", "trusted_schema = OFF"):
                connection.execute(f"PRAGMA {words}")
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                connection.execute("BEGIN IMMEDIATE")
                for statement in _TABLES:
                    connection.execute(statement)
                connection.execute("COMMIT")
            elif not connection.execute("SELECT 1 FROM pragma_table_info('events') WHERE name = 'cause'").fetchone():
                connection.execute("ALTER TABLE events ADD COLUMN cause TEXT NOT NULL DEFAULT ''")
        except BaseException:
            connection.close()
            raise
        self._connection, self._inode = connection, _inode(self.path)
        return connection


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _row(tag: str, stamp: float, data: dict[str, Any], reason: str) -> tuple[str, str, float, int, str, str]:
    text = as_text(data)
    return os.urandom(16).hex(), tag, stamp, len(tag) + len(text) + _ROW, text, reason


def _event(row: tuple[Any, ...]) -> Event:
    number, id, tag, stamp, text, reason = row
    return Event(number, id, tag, stamp, json.loads(text), cause.from_text(reason))


def as_text(data: dict[str, Any]) -> str:
    """Data as JSON in ASCII; values of types that JSON does not have become text. Very long texts are left out."""
    try:
        return json.dumps(_trimmed(data) if _has_long_text(data) else data, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of other types, or values that contain themselves
        return json.dumps({"text": repr(data)})


def _has_long_text(data: Any) -> bool:
    """Whether a text in the data is too long. Raises RecursionError for values that contain themselves."""
    if isinstance(data, str | bytes):
        return len(data) > _LONG
    if isinstance(data, dict):
        return any(map(_has_long_text, data.values()))
    return isinstance(data, list | tuple) and any(map(_has_long_text, data))


def _trimmed(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _trimmed(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_trimmed(value) for value in data]
    return TRIMMED if isinstance(data, str | bytes) and len(data) > _LONG else data
