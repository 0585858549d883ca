"""Writes events in a separate thread; all waiting events are one transaction.

If events cannot be written, there is one warning, and the job continues.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from typing import Any, Final

from pushsalt.journal.interface import EventJournal
from pushsalt.journal.store import Journal

#: Maximum number of events in one transaction.
_MANY: Final = 2000


class Writer:
    """Writes the events of one job into the journal. ``put`` does not block and never raises; end with ``close``.

    ``close`` does not wait until the thread has closed SQLite's file, which syncs it.
    """

    def __init__(self, journal: EventJournal) -> None:
        self._journal = journal
        self._waiting: queue.SimpleQueue[tuple[str, dict[str, Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._written = threading.Event()
        #: messages: which events could not be written, and why
        self.troubles: list[str] = []

    def put(self, tag: str, data: dict[str, Any]) -> None:
        """Queue an event for writing."""
        if self._thread is None:
            self._written.clear()
            self._thread = threading.Thread(target=self._run, name="pushsalt-events", daemon=True)
            self._thread.start()
        self._waiting.put((tag, data))

    def close(self) -> None:
        """Wait until all events are written, or writing has failed."""
        thread, self._thread = self._thread, None
        if thread is None:
            self._journal.close()
            return
        self._waiting.put(None)
        self._written.wait()
        if not isinstance(self._journal, Journal):
            thread.join()

    def _run(self) -> None:
        try:
            self._write_all()
        finally:
            self._written.set()
            self._journal.close()

    def _write_all(self) -> None:
        ended = False
        while not ended:
            batch = [self._waiting.get()]
            while len(batch) < _MANY and not self._waiting.empty():
                batch.append(self._waiting.get())
            ended = None in batch
            events = [each for each in batch if each is not None]
            if events and not self.troubles[1:]:
                self._write(events)

    def _write(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        try:
            try:
                self._journal.put_many(events)
            except sqlite3.DatabaseError as exc:
                if type(exc) is not sqlite3.DatabaseError or not isinstance(self._journal, Journal):
                    raise
                aside = self._journal.put_aside()
                why = f"a new journal of events was started, since the old one is unusable: {exc}"
                self._say(f"{why}; it is now {aside.name} in the same folder")
                self._journal.put_many(events)
        except (OSError, sqlite3.Error) as exc:
            text = getattr(exc, "strerror", None) or str(exc)
            self._say(f"events are not kept: {self._journal.place}: {text}; {self._journal.hint}")

    def _say(self, text: str) -> None:
        if text not in self.troubles:
            self.troubles.append(text)
