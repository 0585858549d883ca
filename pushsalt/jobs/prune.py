"""Removes old jobs: those beyond a limit of age, number or total size. Running jobs are kept."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import Final

from pushsalt.jobs.alive import LEFT, is_gone

#: Minimum seconds between two automatic removals by commands.
EVERY: Final = 3600.0
#: Seconds for which targets keep the returns of detached runs (thin.kept).
KEPT: Final = 7 * 24 * 3600.0
_PAGES: Final = 2000


@dataclass(frozen=True)
class Bounds:
    """Limits: ``seconds`` of age, ``size`` of all jobs in bytes, ``number`` of jobs. None: no limit."""

    seconds: float | None = None
    size: int | None = None
    number: int | None = None


def prune(connection: sqlite3.Connection, bounds: Bounds, now: float | None = None) -> list[str]:
    """Remove jobs beyond the limits, the oldest first; returns their jids. Raises sqlite3.Error."""
    now = time.time() if now is None else now
    removed, total = [], 0
    rows = connection.execute("SELECT jid, start, size, state, mark FROM jobs ORDER BY jid DESC").fetchall()
    for number, (jid, start, size, state, mark) in enumerate(rows):
        total += size
        beyond = (
            (bounds.seconds is not None and start < now - bounds.seconds)
            or (bounds.size is not None and total > bounds.size and number > 0)
            or (bounds.number is not None and number >= bounds.number)
        )
        is_over = state != "running" or is_gone(mark) or (mark == LEFT and start < now - KEPT)
        if beyond and is_over:
            removed.append(jid)
    if removed:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("DELETE FROM returns WHERE jid = ?", [(jid,) for jid in removed])
        connection.executemany("DELETE FROM parts WHERE jid = ?", [(jid,) for jid in removed])
        connection.executemany("DELETE FROM jobs WHERE jid = ?", [(jid,) for jid in removed])
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()
    return removed


def prune_when_due(connection: sqlite3.Connection, bounds: Bounds, now: float | None = None) -> list[str]:
    """Call ``prune`` if the last time is at least ``EVERY`` seconds ago. Raises sqlite3.Error."""
    now = time.time() if now is None else now
    last = connection.execute("SELECT value FROM meta WHERE key = 'pruned'").fetchone()
    if last is not None and 0 <= now - last[0] < EVERY:
        return []
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('pruned', ?)", (now,))
    return prune(connection, bounds, now)
