"""The mine on disk: what targets told of themselves for each other, a file for each target.

A body is ``{"values": {name: value}, "older": {name: seconds since the epoch}}``; what is not in ``older`` is as old as
the file, so that collecting the same again is but a touch.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pushsalt.cache.store import Bank, private_dir

log = logging.getLogger(__name__)


class MineBank(Bank):
    """``Bank`` whose entries are ``{name: value}``, each value with an age of its own.

    Changes of one entry by several threads and controllers come one after the other: none is lost.
    """

    def __init__(self, root: Path, name: str = "mine") -> None:
        super().__init__(root, name)
        self._lock_path = root / f"{name}.lock"
        self._changing = threading.Lock()

    def get(self, key: str) -> dict[str, Any] | None:
        return _parts(super().get(key))[0]

    def put(self, key: str, value: Mapping[str, Any]) -> bool:
        """Keep these values and no others."""
        return super().put(key, {"values": dict(value), "older": {}})

    def update(self, key: str, values: Mapping[str, Any], without: Collection[str] = ()) -> bool:
        """Keep these values besides those that are there, but for some by name."""
        with self._one_at_a_time():
            written = self.written(key) or time.time()
            before, older = _parts(super().get(key))
            kept = {name: value for name, value in (before or {}).items() if name not in values and name not in without}
            return super().put(
                key, {"values": {**kept, **values}, "older": {name: older.get(name, written) for name in kept}}
            )

    def with_times(self, key: str) -> tuple[dict[str, Any], dict[str, float]]:
        """The values, and when each was collected, in seconds since the epoch."""
        written = self.written(key)
        values, older = _parts(super().get(key))
        if values is None or written is None:
            return {}, {}
        return values, {name: older.get(name, written) for name in values}

    def entries(self) -> Iterator[tuple[str, dict[str, Any], float]]:
        for key, body, written in super().entries():
            values, _ = _parts(body)
            if values is not None:
                yield key, values, written

    def problems(self) -> list[str]:
        """As ``Bank``; entries that are none of the mine too."""
        found = super().problems()
        if not found:
            found = [f"{key}: no values" for key, body, _ in super().entries() if _parts(body)[0] is None]
        return found

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        with self._changing:
            try:
                private_dir(self.path)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(self._lock_path, flags, 0o600)
            except OSError as exc:  # then it cannot be written either, and `put` says so
                log.debug("%s: no lock: %s", self.path.name, exc)
                yield
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)


def _parts(body: Any) -> tuple[dict[str, Any] | None, dict[str, float]]:
    """Values and times of a body; None for what is none."""
    if not isinstance(body, dict) or not all(isinstance(body.get(part), dict) for part in ("values", "older")):
        return None, {}
    return body["values"], body["older"]
