"""Limits how often passwords can be tried: by account and address, and by address."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

#: Seconds in which failures count.
WINDOW: Final = 60.0
#: Failures of an account from one address, and of an address, in this time.
OF_ACCOUNT: Final = 5
OF_ADDRESS: Final = 20
#: Addresses and accounts that are remembered; the ones that were least recently seen go.
_MOST: Final = 10_000


class Attempts:
    """The failed logins of the last minute. ``clock``: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[str, ...], deque[float]] = OrderedDict()

    def wait(self, address: str, name: str) -> int:
        """Seconds until the account may be tried again from the address; 0: now."""
        return max(self._left((address,), OF_ADDRESS), self._left((address, name), OF_ACCOUNT))

    def begins(self, address: str, name: str) -> None:
        """Count an attempt before it is made, as a failure, so that many at the same time count, too."""
        for key, most in (((address,), OF_ADDRESS), ((address, name), OF_ACCOUNT)):
            times = self._failures.setdefault(key, deque(maxlen=most))
            times.append(self._clock())
            self._failures.move_to_end(key)
        while len(self._failures) > _MOST:
            self._failures.popitem(last=False)

    def succeeded(self, address: str, name: str) -> None:
        """The attempt that has begun was no failure: forget those of the account from the address."""
        self._failures.pop((address, name), None)
        times = self._failures.get((address,))
        if times:
            times.pop()

    def _left(self, key: tuple[str, ...], most: int) -> int:
        times = self._failures.get(key)
        if times is None or len(times) < most:
            return 0
        return max(0, int(times[0] + WINDOW - self._clock() + 0.999))
