"""The mine on disk: values that targets provide for each other, a file for each target.

An entry is ``{"values": {name: value}, "older": {name: seconds since the epoch}}``. Values that are not in ``older``
have the time of the file, so that unchanged values only need a touch.
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
    """``Bank`` whose entries are ``{name: value}``; each value has its own age.

    Concurrent changes of an entry by threads and controllers are serialized: none is lost.
    """

    def __init__(self, root: Path, name: str = "mine") -> None:
        super().__init__(root, name)
        self._lock_path = root / f"{name}.lock"
        self._changing = threading.Lock()

    def get(self, key: str) -> dict[str, Any] | None:
        return _parts(super().get(key))[0]

    def put(self, key: str, value: Mapping[str, Any]) -> bool:
        """Replace all values by these. Returns whether they were stored."""
        return super().put(key, {"values": dict(value), "older": {}})

    def update(self, key: str, values: Mapping[str, Any], without: Collection[str] = ()) -> bool:
        """Set these values, and remove those named in ``without``; others are kept. Returns whether that was stored."""
        with self._one_at_a_time():
            written = self.written(key) or time.time()
            before, older = _parts(super().get(key))
            kept = {name: value for name, value in (before or {}).items() if name not in values and name not in without}
            return super().put(
                key, {"values": {**kept, **values}, "older": {name: older.get(name, written) for name in kept}}
            )

    def with_times(self, key: str) -> tuple[dict[str, Any], dict[str, float]]:
        """The values, and the time of each, in seconds since the epoch."""
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
        """As ``Bank``, with entries that are invalid in the mine."""
        problems = super().problems()
        if not problems:
            problems = [
                f"{key}: the entry has no values" for key, body, _ in super().entries() if _parts(body)[0] is None
            ]
        return problems

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        with self._changing:
            try:
                private_dir(self.path)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(self._lock_path, flags, 0o600)
            except OSError as exc:  # then `put` fails too, and reports it
                log.debug("%s: no lock: %s", self.path.name, exc)
                yield
                return
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)


def _parts(body: Any) -> tuple[dict[str, Any] | None, dict[str, float]]:
    """Values and times of an entry; None for an invalid one."""
    if not isinstance(body, dict) or not all(isinstance(body.get(part), dict) for part in ("values", "older")):
        return None, {}
    return body["values"], body["older"]
