"""Fixtures for the runtime's own tests."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thin import loader, log, runtime

_spec = importlib.util.spec_from_file_location("memory_runtime", Path(__file__).with_name("memory_runtime.py"))
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)


@pytest.fixture
def lines() -> Iterator[list[tuple[str, str]]]:
    """The (level, text) lines that modules log during the test."""
    logged: list[tuple[str, str]] = []
    before = log.sink, log.level
    log.sink, log.level = (lambda level, text: logged.append((level, text))), log.DEBUG
    yield logged
    log.sink, log.level = before


@pytest.fixture
def make_loaders(lines: list[tuple[str, str]]) -> Callable[..., loader.Loaders]:
    """A function that creates the loaders of a target; ``modules`` are texts of further modules, by full name."""

    def make(
        modules: dict[str, str] | None = None, opts: dict[str, Any] | None = None, **kwargs: Any
    ) -> loader.Loaders:
        own = _module.MemoryRuntime(modules or {})
        overlays = {kind: [own] for kind in ("modules", "states", "utils")}
        kwargs.setdefault("grains", {"os": "Debian", "kernel": "Linux"})
        return loader.Loaders(
            {"id": "minion", "test": False, **(opts or {})}, runtime, overlays=overlays, **{"pillar": {}, **kwargs}
        )

    return make
