"""Data that the targets of a project share while they are rendered: settings, pillars, results, file snapshots."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, Protocol

from pushsalt.config import minion_opts
from pushsalt.lazy import cached_property
from pushsalt.memo.keys import MISSING, Key, NoKeyError, key_of
from pushsalt.memo.reads import WHOLE, takes_time
from pushsalt.memo.tree import Once
from pushsalt.minion.files import PlanFiles, Snapshot
from thin.utils.dictupdate import copy_containers

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.fileserver import FileServer
    from pushsalt.model import Target
    from pushsalt.pillar import PillarResult

#: Limit for the number of stored ``TargetSettings``.
MAX_SETTINGS: Final = 200


_numbers: Final = itertools.count()
#: Stands for a missing value.
GONE: Final = object()


class FileTrees(Protocol):
    """The configuration and the file servers; ``pushsalt.minion.trees.Trees`` has them."""

    @property
    def config(self) -> Config: ...
    @property
    def files(self) -> FileServer: ...
    @property
    def pillar_files(self) -> FileServer: ...


class TargetSettings:
    """The ``opts`` of all targets with equal settings, without those that always differ (id, user)."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.number = next(_numbers)
        self.keys: dict[str, Key] = {}

    def key(self, name: Any) -> Key:
        key = self.keys[name] = value_key(self.values.get(name, GONE))
        return key

    def copy(self) -> dict[str, Any]:
        copied: dict[str, Any] = copy_containers(self.values)
        return copied


class MemoPillar:
    """A compiled pillar that targets share; ``copy`` makes one for a single target."""

    def __init__(self, result: PillarResult) -> None:
        self.values = result.pillar
        self.errors = tuple(result.errors)
        self.warnings = tuple(result.warnings)
        self.redacted = False
        self.number = next(_numbers)
        self._keys: dict[Any, Key] = {}

    def key(self, name: Any) -> Key:
        try:
            return self._keys[name]
        except KeyError:
            key = self._keys[name] = value_key(self.values if name is WHOLE else self.values.get(name, GONE))
            return key

    def result(self) -> PillarResult:
        from pushsalt.pillar import PillarResult

        return PillarResult(copy_containers(self.values), list(self.errors), list(self.warnings))

    @cached_property
    def size(self) -> int:
        return 2000 + 10 * len(repr(self.values))


class Shared:
    """Data that the targets of a project share: results, settings, file snapshots."""

    def __init__(self, project: FileTrees) -> None:
        self.once = Once()
        self._project = project
        self._settings: dict[Any, TargetSettings] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._plan_files: PlanFiles | None = None

    def settings(
        self, target: Target, *, test: bool | None, saltenv: str | None, pillarenv: str | None
    ) -> TargetSettings:
        config = self._project.config
        try:
            key = (target.transport, test, saltenv, pillarenv, key_of(dict(target.minion_opts)))
        except NoKeyError:
            return TargetSettings(minion_opts(config, target, test=test, saltenv=saltenv, pillarenv=pillarenv))
        settings = self._settings.get(key)
        if settings is None:
            values = minion_opts(config, target, test=test, saltenv=saltenv, pillarenv=pillarenv)
            if len(self._settings) >= MAX_SETTINGS:  # few targets have equal settings: storing them is useless
                self._settings.clear()
            settings = self._settings[key] = TargetSettings(values)
        return settings

    def files(self, tree: str) -> FileServer:
        """The file server of the states or of the pillar."""
        return self._project.files if tree == "states" else self._project.pillar_files

    def snapshot(self, tree: str) -> Snapshot:
        snapshot = self._snapshots.get(tree)
        if snapshot is None or not snapshot.is_fresh():
            takes_time()
            snapshot = self._snapshots[tree] = Snapshot(self.files(tree))
        return snapshot

    def plan_files(self) -> PlanFiles:
        """Finds the files of the states for a plan; plans that follow soon share the results."""
        if self._plan_files is None or not self._plan_files.is_fresh():
            self._plan_files = PlanFiles(self.files("states"))
        return self._plan_files

    def comparable(self, value: Any) -> Any:
        """The value by which options are compared: unchanged here; overridden to compare a project in two folders."""
        return value

    def renew(self) -> None:
        """Forget settings and file snapshots, since the configuration has changed."""
        self._settings.clear()
        self.look_again()

    def look_again(self) -> None:
        """Forget the file snapshots, since a new job begins."""
        self._snapshots.clear()
        self._plan_files = None


def value_key(value: Any) -> Key:
    """The key of a value, or MISSING for GONE."""
    return MISSING if value is GONE else key_of(value)
