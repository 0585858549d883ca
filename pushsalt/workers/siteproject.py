"""A project at a worker, which collects what its jobs learn about targets: the controllers keep it, too."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pushsalt.cache.mine import MineBank
from pushsalt.events import Reporter
from pushsalt.job import Settings
from pushsalt.model import Target
from pushsalt.run.project import Project
from pushsalt.select.resources import Found, Resources


class Learnt:
    """What was learnt about targets, by their keys: see ``pushsalt.workers.messages.Answer``."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def put(self, key: str, name: str, value: Any) -> None:
        """Note the last value of its kind."""
        with self._lock:
            self._found.setdefault(key, {})[name] = value

    def add(self, key: str, name: str, value: Any) -> None:
        """Note one more value of its kind."""
        with self._lock:
            self._found.setdefault(key, {}).setdefault(name, []).append(value)

    def taken(self, key: str) -> dict[str, Any]:
        """What was learnt about a target since the last call."""
        with self._lock:
            return self._found.pop(key, {})


class SiteProject(Project):
    """``learnt`` has what was learnt about each target since its last return."""

    @classmethod
    def of(cls, settings: Settings, reporter: Reporter) -> SiteProject:
        """The project of these settings. Raises ConfigError or InventoryError for files that cannot be used."""
        found = cls.open(settings, reporter)
        assert isinstance(found, cls)
        return found

    @cached_property
    def learnt(self) -> Learnt:
        return Learnt()

    def remember_grains(self, target: Target, grains: dict[str, Any]) -> None:
        self.learnt.put(target.key, "grains", grains)
        super().remember_grains(target, grains)

    def is_kept(self, target: Target, pillar: dict[str, Any]) -> bool:
        self.learnt.put(target.key, "pillar", pillar)
        return super().is_kept(target, pillar)

    @cached_property
    def mine(self) -> MineBank:
        return _Mine(self.config.cache_dir, self.learnt)

    @cached_property
    def managed(self) -> Resources:
        return _Managed(self, self.learnt)


class _Mine(MineBank):
    """The changes travel as ``[values, names of removed ones, whether all others are removed]``."""

    def __init__(self, root: Path, learnt: Learnt) -> None:
        super().__init__(root)
        self._learnt = learnt

    def put(self, key: str, value: Mapping[str, Any]) -> bool:
        self._learnt.add(key, "mine", [dict(value), [], True])
        return super().put(key, value)

    def update(self, key: str, values: Mapping[str, Any], without: Collection[str] = ()) -> bool:
        self._learnt.add(key, "mine", [dict(values), list(without), False])
        return super().update(key, values, without)

    def delete(self, key: str) -> bool:
        self._learnt.add(key, "mine", [{}, [], True])
        return super().delete(key)


class _Managed(Resources):
    """The answer of a discovery travels as it is: each controller compares it with its own inventory."""

    def __init__(self, project: Project, learnt: Learnt) -> None:
        super().__init__(project)
        self._learnt = learnt

    def register(
        self, manager: str, found: Found, failed: Iterable[str] = (), declared: Mapping[str, Any] | None = None
    ) -> dict[str, list[str]]:
        failed = list(failed)
        said = {"found": found, "failed": failed, "declared": dict(declared or {})}
        self._learnt.put(manager, "resources", said)
        return super().register(manager, found, failed, declared)
