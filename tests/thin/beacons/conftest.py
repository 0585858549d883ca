"""Fixtures for beacons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from thin import loader, runtime
from thin.utils.system import beaconing


@pytest.fixture
def load(lines) -> Callable[..., loader.Loader]:
    """A function that creates a loader of beacons; ``salt``: their ``__salt__``."""

    def make(salt: dict[str, Any] | None = None, overlays: Any = ()) -> loader.Loader:
        pack = {"__grains__": {"kernel": "Linux"}, "__salt__": {} if salt is None else salt, "__context__": {}}
        return loader.Loader("beacons", pack, {"id": "web1"}, runtime, overlays)

    return make


@pytest.fixture
def clock(monkeypatch):
    """The clock of intervals: a list with its seconds; sleeping advances it."""
    now = [1000.0]
    monkeypatch.setattr(beaconing, "monotonic", lambda: now[0])
    monkeypatch.setattr(beaconing.waiting, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now
