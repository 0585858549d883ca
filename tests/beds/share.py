"""The share of the slow tests that one run takes: ``--share 8`` takes the files of an eighth of them, by the day.

`.ci/run` uses it, to stay within its time; every slow test has its turn within N days. ``DAY=2026-11-23`` takes the
share of that day. A file is slow if one of its tests is marked ``slow``; tests of such a file that are not marked run
each time, as do those that are also marked ``gate``.
"""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable


def today() -> datetime.date:
    """The day that determines the share: ``DAY``, or today (UTC)."""
    named = os.environ.get("DAY")
    return datetime.date.fromisoformat(named) if named else datetime.datetime.now(datetime.timezone.utc).date()


def left_out(files: Iterable[str], count: int, day: datetime.date) -> set[str]:
    """The slow files, of these, that do not have their turn on that day: each has one in ``count`` days.

    The order is that of digests of the names, so that files of one folder have different days.
    """
    ordered = sorted(set(files), key=lambda name: hashlib.sha256(name.encode()).digest())
    return {name for place, name in enumerate(ordered) if (place + day.toordinal()) % count}
