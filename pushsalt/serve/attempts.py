"""Limits the number of failed logins: of an account from one address, and from one address."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

#: Seconds for which a failure counts.
WINDOW: Final = 60.0
#: Maximum number of failures in this time: of an account from one address, and from one address.
OF_ACCOUNT: Final = 5
OF_ADDRESS: Final = 20
#: Maximum number of addresses and accounts that are remembered; the least recently used ones are forgotten.
_REMEMBERED: Final = 10_000


class Attempts:
    """The failed logins of the last minute. ``clock``: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[str, ...], deque[float]] = OrderedDict()

    def wait(self, address: str, name: str) -> int:
        """Seconds until the next login of the account from the address is permitted; 0 if it is permitted now."""
        return max(self._left((address,), OF_ADDRESS), self._left((address, name), OF_ACCOUNT))

    def begins(self, address: str, name: str) -> None:
        """Count an attempt as a failure before it is made, so that concurrent attempts are limited, too."""
        for key, most in (((address,), OF_ADDRESS), ((address, name), OF_ACCOUNT)):
            times = self._failures.setdefault(key, deque(maxlen=most))
            times.append(self._clock())
            self._failures.move_to_end(key)
        while len(self._failures) > _REMEMBERED:
            self._failures.popitem(last=False)

    def succeeded(self, address: str, name: str) -> None:
        """The attempt was successful: remove it from the failures, and forget those of the account from the address."""
        self._failures.pop((address, name), None)
        times = self._failures.get((address,))
        if times:
            times.pop()

    def _left(self, key: tuple[str, ...], most: int) -> int:
        times = self._failures.get(key)
        if times is None or len(times) < most:
            return 0
        return max(0, int(times[0] + WINDOW - self._clock() + 0.999))
