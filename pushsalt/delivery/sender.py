"""The thread of one returner: sends new items first, then those that an earlier command could not send.

After two consecutive failures the returner counts as down for the rest of the command: further items are stored in the
spool without an attempt.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator
from typing import Final

from pushsalt.delivery.destination import Destination, Hung
from pushsalt.delivery.spool import Item, Spool
from pushsalt.returners import Trouble

log = logging.getLogger(__name__)

_FAILURES: Final = 2
#: failed attempts after which an item is dropped if other items can be sent
_MOST_ATTEMPTS: Final = 10
#: seconds for which the end of a command waits for items of earlier commands
_FOR_OLD: Final = 2.0


class Sender:
    """``put`` and ``end`` are called by the job and never wait; ``wait`` may. ``warnings`` are complete after it."""

    def __init__(self, destination: Destination, spool: Spool) -> None:
        self.destination = destination
        self.warnings: list[str] = []
        self._spool = spool
        self._queue: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._old: Iterator[Item] | None = None
        self._ended: float | None = None
        self._late = threading.Event()
        self._failures = 0
        self._failed: list[Item] = []
        self._trouble: Trouble | None = None
        self._refused: dict[str, int] = {}
        self._kept = self._unkept = self._given_up = self._sent = 0
        self._why_unkept = ""
        self._thread = threading.Thread(target=self._run, name=f"sender {destination.name}", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Queue an item for sending."""
        self._queue.put(item)

    def end(self) -> None:
        """No more items follow."""
        self._queue.put(None)

    def wait(self, seconds: float) -> None:
        """Wait for the end; after so many seconds no other call begins, and the rest is stored in the spool."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._late.set()
            self._thread.join(5)
        if self._thread.is_alive():
            self.warnings = [f"{self.destination.title}: it does not end; what it had is lost"]

    def hurry(self) -> None:
        """Begin no other call: the rest is stored in the spool."""
        self._late.set()

    def _run(self) -> None:
        try:
            while (item := self._next()) is not None:
                self._send(item)
            for failed in self._failed if self._sent else ():  # the returner works, so these items cause the failures
                if failed.attempts >= _MOST_ATTEMPTS:
                    self._given_up += 1
                    self._forget(failed)
        except Exception as exc:
            log.debug("%s", self.destination.title, exc_info=True)
            self.warnings.append(f"{self.destination.title}: {type(exc).__name__}: {exc}")
        finally:
            self.destination.close()
            self._spool.close()
            self._report()

    def _next(self) -> Item | None:
        """The next new item; None at the end. While there is none, old items are sent."""
        while True:
            try:
                item = self._queue.get(block=not self._may_send_old())
            except queue.Empty:
                self._send_old()
                continue
            if item is not None:
                return item
            self._ended = time.monotonic()
            while self._may_send_old():
                self._send_old()
            return None

    @property
    def _is_down(self) -> bool:
        return self._failures >= _FAILURES or self._late.is_set()

    def _may_send_old(self) -> bool:
        if self._is_down or (self._ended is not None and time.monotonic() > self._ended + _FOR_OLD):
            return False
        if self._old is None:
            try:
                self._old = self._spool.items() if self._spool.claim() else iter(())
            except OSError as exc:
                self._old = iter(())
                self._why_unkept = str(exc)
        return self._old is not _NOTHING

    def _send_old(self) -> None:
        item = next(self._old, None) if self._old is not None else None
        if item is None:
            self._old = _NOTHING
        else:
            self._send(item)

    def _send(self, item: Item) -> None:
        if self._is_down:
            self._keep(item)
            return
        try:
            self.destination.call(item, self._late)
        except Trouble as exc:
            self._not_sent(item, exc)
        else:
            self._sent += 1
            self._failures = 0
            self._forget(item)

    def _not_sent(self, item: Item, exc: Trouble) -> None:
        if exc.refused:
            self._refused[exc.message] = self._refused.get(exc.message, 0) + 1
            self._forget(item)
            return
        self._trouble = exc
        self._failures += _FAILURES if isinstance(exc, Hung) else 1
        try:
            item = self._spool.attempted(item)
        except OSError as trouble:
            log.debug("%s: %s", self.destination.title, trouble)
        self._failed.append(item)
        self._keep(item)

    def _keep(self, item: Item) -> None:
        if item.path is not None:
            return
        try:
            self._spool.add(item)
            self._kept += 1
        except OSError as exc:
            self._unkept += 1
            self._why_unkept = exc.strerror or str(exc)

    def _forget(self, item: Item) -> None:
        try:
            self._spool.done(item)
        except OSError as exc:
            log.debug("%s: %s", self.destination.title, exc)

    def _report(self) -> None:
        """Add the warnings, each once."""
        title = self.destination.title
        self.warnings += [f"{title}: {text}" for text in self.destination.warnings]
        what = (
            f"{_counted(self._kept)} kept, to be sent by a later command"
            if self._kept
            else "the returns kept so far are not lost"
        )
        if self._unkept:
            what = f"{_counted(self._unkept)} lost: they cannot be kept in {self._spool.folder}: {self._why_unkept}"
        if self._trouble is not None:
            hint = f"; {self._trouble.hint}" if self._trouble.hint else ""
            self.warnings.append(f"{title}: {self._trouble.message}: {what}{hint}")
        elif self._kept or self._unkept:
            self.warnings.append(f"{title}: it had no time for all: {what}")
        elif self._why_unkept:
            self.warnings.append(f"{title}: what former commands kept cannot be read: {self._why_unkept}")
        for text, count in self._refused.items():
            self.warnings.append(f"{title}: {text}: {_counted(count)} not taken, and not sent again")
        if self._given_up + self._spool.lost:
            text = f"{_counted(self._given_up + self._spool.lost)} given up: too old, too many, or never taken"
            self.warnings.append(f"{title}: {text} ({self._spool.folder})")
        if self._sent:
            log.debug("%s: %d sent", title, self._sent)


_NOTHING: Final[Iterator[Item]] = iter(())


def _counted(number: int) -> str:
    return "one message is" if number == 1 else f"{number} messages are"
