"""Decides which targets may begin: in order, a limited number at a time, no two with the same value at once. Pure.

``Window`` is Salt's batch mode: whenever a target is done, the next one begins. ``batches`` makes groups, each of which
begins when the previous one is done.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Final

from pushsalt.errors import UsageError

#: id -> values that no two running targets may share
Values = Mapping[str, Collection[str]]

_SIZE: Final = re.compile(r"\s*(\d{1,9})(?:\.(\d{1,6}))?\s*(%?)\s*", re.ASCII)


class Size:
    """A number of targets, or a percentage of all: ``5``, ``25%``, ``2.5%``."""

    def __init__(self, text: str, flag: str, example: str) -> None:
        """Raises UsageError, which names the flag, for any other text, for 0, and for more than 100 %."""
        from fractions import Fraction  # on demand: it imports decimal

        match = _SIZE.fullmatch(text)
        number = Fraction(f"{match[1]}.{match[2] or 0}") if match else Fraction(0)
        self.is_share = bool(match and match[3])
        if match and (number == 0 or (self.is_share and number > 100)):
            raise UsageError(f"{flag}: {text!r} is out of range: at least 1 target, at most 100%", hint=example)
        if not match or (not self.is_share and number != int(number)):
            raise UsageError(f"{flag}: {text!r} is neither a number of targets nor a percentage", hint=example)
        self.text = text.strip()
        self._number = number / 100 if self.is_share else number

    def of(self, total: int) -> int:
        """The size as a number of targets of ``total``, rounded down, at least 1. Salt: Batch."""
        return max(1, int(self._number * total)) if self.is_share else int(self._number)

    def at_least(self, total: int) -> int:
        """The size as a number of targets of ``total``, rounded up, at least 1."""
        return max(1, ceil(self._number * total)) if self.is_share else int(self._number)


def parse_steps(text: str) -> list[Size]:
    """The sizes of ``1,10%,50%``. Raises UsageError."""
    return [
        Size(part, "--batch", "for example --batch 10, --batch 25% or --batch 1,10%,50%") for part in text.split(",")
    ]


class Window:
    """The waiting and the running ids of a job."""

    def __init__(self, ids: Iterable[str], width: int, values: Values | None = None) -> None:
        """At most ``width`` run at a time, and no two of them share a value."""
        self._width = width
        self._queues: dict[frozenset[str], deque[tuple[int, str]]] = defaultdict(deque)
        for number, id in enumerate(ids):
            self._queues[frozenset(values.get(id, ()) if values else ())].append((number, id))
        #: the first ids of queues that may be able to begin; a blocked queue waits until one of its values is free
        self._ready = [(queue[0][0], key) for key, queue in self._queues.items()]
        heapify(self._ready)
        self._blocked: dict[str, list[frozenset[str]]] = {}
        self._taken: set[str] = set()
        self._at_work: dict[str, frozenset[str]] = {}
        self.waiting = sum(map(len, self._queues.values()))

    def next(self) -> str | None:
        """The next id that may begin; it counts as running from then on. None if no id may begin now."""
        if len(self._at_work) >= self._width:
            return None
        while self._ready:
            _, key = heappop(self._ready)
            blocker = next((value for value in key if value in self._taken), None)
            if blocker is not None:
                self._blocked.setdefault(blocker, []).append(key)
                continue
            _, id = self._queues[key].popleft()
            self._taken |= key
            self._at_work[id] = key
            self._requeue(key)
            self.waiting -= 1
            return id
        return None

    def free(self, id: str) -> None:
        """Declare the id done, so that others may begin."""
        key = self._at_work.pop(id)
        self._taken -= key
        for value in key:
            for blocked in self._blocked.pop(value, ()):
                self._requeue(blocked)

    def rest(self) -> list[str]:
        """Remove and return the ids that did not begin, in order."""
        left = sorted(item for queue in self._queues.values() for item in queue)
        self._queues.clear()
        self._ready.clear()
        self._blocked.clear()
        self.waiting = 0
        return [id for _, id in left]

    def _requeue(self, key: frozenset[str]) -> None:
        queue = self._queues[key]
        if queue:
            heappush(self._ready, (queue[0][0], key))


def batches(ids: Sequence[str], sizes: Sequence[int], values: Values | None = None) -> list[list[str]]:
    """The ids in batches of these sizes; the last size repeats. No batch has two targets with the same value.

    A batch is smaller than its size if there are not enough different values.
    """
    window = Window(ids, len(ids) + 1, values)
    batches: list[list[str]] = []
    while window.waiting:
        size = sizes[min(len(batches), len(sizes) - 1)]
        batch: list[str] = []
        while len(batch) < size and (id := window.next()) is not None:
            batch.append(id)
        for id in batch:
            window.free(id)
        batches.append(batch)
    return batches
