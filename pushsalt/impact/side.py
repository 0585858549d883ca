"""One side of a comparison: a project with its own snapshot of all files; its targets are compiled offline.

Both sides use the same memoized results (``pushsalt.memo``) if configuration and users' modules are equal: renderings
with equal dependencies are done once, and have one ``Answer`` for both sides. Keys of options and files contain
``Place.normal`` paths, which do not depend on the folder of the side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pushsalt.config import CliOverrides, load_config, minion_opts
from pushsalt.errors import PushsaltError
from pushsalt.events import Reporter
from pushsalt.job import JobOptions, Settings
from pushsalt.lazy import is_made
from pushsalt.memo.keys import Key, NoKeyError, key_of
from pushsalt.memo.tree import Once
from pushsalt.minion.files import Snapshot
from pushsalt.minion.minion import Minion
from pushsalt.minion.shared import GONE, Shared, TargetSettings, value_key
from pushsalt.model import Target
from pushsalt.run.project import Project

#: Stands for the folder of a side in keys.
_HERE: Final = "\0here"


@dataclass(frozen=True)
class Place:
    """Where the files of a side are: ``folder`` instead of the repository's ``top``; ``folders``: of both sides."""

    top: Path
    folder: Path
    folders: tuple[Path, ...] = ()

    def located(self, path: Path) -> Path:
        """The path on this side for a path of the repository; other paths are unchanged."""
        try:
            return self.folder / path.relative_to(self.top)
        except ValueError:
            return path

    def moved(self, value: Any) -> Any:
        """Options with paths of the repository -> with those of this side."""
        if self.folder == self.top:
            return value
        folder = str(self.folder)
        return _replaced(_replaced(_replaced(value, folder, _HERE), str(self.top), folder), _HERE, folder)

    def normal(self, value: Any) -> Any:
        """The value without the folder of the side, for keys."""
        return _replaced(value, str(self.folder), _HERE)

    def shown(self, value: Any) -> Any:
        """Texts, bytes and data with paths as the operator knows them, whichever side they come from."""
        for folder in self.folders:
            if folder == self.top:
                continue
            if isinstance(value, bytes):
                value = value.replace(bytes(folder), bytes(self.top))
            else:
                value = _exchanged(value, str(folder), str(self.top))
        return value


def _exchanged(value: Any, old: str, new: str) -> Any:
    match value:
        case str():
            return value.replace(old, new)
        case Mapping():
            return {_exchanged(key, old, new): _exchanged(item, old, new) for key, item in value.items()}
        case list() | tuple():
            return [_exchanged(item, old, new) for item in value]
    return value


def _replaced(value: Any, old: str, new: str) -> Any:
    match value:
        case str():
            return new + value[len(old) :] if value == old or value.startswith(f"{old}/") else value
        case Path():
            return Path(_replaced(str(value), old, new))
        case Mapping():
            return {key: _replaced(item, old, new) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_replaced(item, old, new) for item in value)
    return value


class _Settings(TargetSettings):
    """Settings whose keys do not depend on the folder of the side."""

    def __init__(self, values: dict[str, Any], place: Place) -> None:
        super().__init__(values)
        self._place = place

    def key(self, name: Any) -> Key:
        key = self.keys[name] = value_key(self._place.normal(self.values.get(name, GONE)))
        return key


class _Snapshot(Snapshot):
    """File look-ups of a side, whose files do not change during the comparison."""

    def __init__(self, files: Any, place: Place) -> None:
        super().__init__(files)
        self._place = place

    def is_fresh(self) -> bool:
        return True

    def key(self, kind: str, *place: Any) -> Key:
        base = super().key(kind, *place)
        return str(self._place.normal(str(base))) if kind == "find" and base is not None else base


class _Shared(Shared):
    """Objects that the targets of a side share; ``numbers``: settings -> number, for both sides."""

    def __init__(self, project: Project, place: Place, once: Once, numbers: dict[Key, int]) -> None:
        super().__init__(project)
        self.once = once
        self._place, self._numbers = place, numbers
        self._made: dict[Any, TargetSettings] = {}
        self._looked: dict[str, Snapshot] = {}

    def settings(
        self, target: Target, *, test: bool | None, saltenv: str | None, pillarenv: str | None
    ) -> TargetSettings:
        try:
            key = (target.transport, test, saltenv, pillarenv, key_of(dict(target.minion_opts)))
        except NoKeyError:
            return super().settings(target, test=test, saltenv=saltenv, pillarenv=pillarenv)
        settings = self._made.get(key)
        if settings is None:
            config = self._project.config
            values = minion_opts(config, target, test=test, saltenv=saltenv, pillarenv=pillarenv)
            settings = self._made[key] = _Settings(values, self._place)
            same = key_of(self._place.normal({**values, "id": ""}))
            settings.number = self._numbers.setdefault(same, settings.number)
        return settings

    def comparable(self, value: Any) -> Any:
        return self._place.normal(value)

    def snapshot(self, tree: str) -> Snapshot:
        snapshot = self._looked.get(tree)
        if snapshot is None:
            snapshot = self._looked[tree] = _Snapshot(self.files(tree), self._place)
        return snapshot


class Side:
    """A project in its place. Raises ConfigError and InventoryError as a project does."""

    def __init__(self, name: str, settings: Settings, place: Place, reporter: Reporter, everything: bool) -> None:
        """``everything``: use no memoized results."""
        self.name, self.place = name, place
        overrides = CliOverrides(
            inventories=tuple(settings.inventories),
            file_roots=tuple(settings.file_roots),
            pillar_roots=tuple(settings.pillar_roots),
            cache_dir=settings.cache_dir,
            locked=settings.locked,
            lock_file=settings.lock_file,
            options=settings.options,
        )
        config = load_config(settings.config, cli=overrides)
        config.opts.update(place.moved(config.opts))
        self.project = Project(config, reporter)
        self.options = JobOptions(render_cache=False if everything else None)

    def share(self, once: Once, numbers: dict[Key, int]) -> None:
        """Use these memoized results."""
        self.project.shared = _Shared(self.project, self.place, once, numbers)

    def ground(self) -> Key:
        """The key of the dependencies of compiling that are not recorded: configuration and users' own modules.

        Raises NoKeyError.
        """
        opts = self.project.config.opts
        return key_of(self.place.normal(opts)), tuple(self._modules()), tuple(sorted(self.project.groups))

    def _modules(self) -> Iterator[tuple[str, str, str]]:
        files = self.project.files
        for saltenv in files.envs():
            for path in files.list_files(saltenv, "_"):
                module = files.find(path, saltenv)
                yield saltenv, path, module.digest() if module is not None else ""
        for folder in map(Path, self.project.config.opts.get("module_dirs") or ()):
            for file in sorted(folder.rglob("*.py")):
                yield "", str(self.place.normal(str(file))), hashlib.sha256(file.read_bytes()).hexdigest()

    def targets(self) -> dict[str, Target]:
        """id -> target, of the inventory of this side; empty without an inventory."""
        return dict(self.project.inventory.targets) if self.project.config.has_inventory else {}

    def grains(self, target: Target, cached: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The grains of a target on this side; None if they are not known."""
        if cached is None and target.transport != "offline":
            return None
        base = {} if target.transport == "offline" else cached or {}
        return {**base, **target.grains, "id": target.id}

    def minion(self, target: Target, grains: dict[str, Any]) -> Minion:
        """The target as ``Minion`` for compiling; calls on the machine raise an error."""
        return Minion(self.project, target, self.options, grains, None, rendering=True)

    def same(self, other: Side, reads: Iterable[tuple[Any, ...]]) -> bool:
        """Whether these reads of files have the same result on both sides."""
        try:
            return all(self._key(read) == other._key(read) for read in reads)
        except (PushsaltError, OSError):
            return False

    def _key(self, read: tuple[Any, ...]) -> Key:
        kind, tree, *place = read
        return self.project.shared.snapshot(tree).key(kind, *place)

    def close(self) -> None:
        """End the programs of git remotes."""
        if is_made(self.project, "remotes"):
            self.project.remotes.close()


def settings_of(settings: Settings, project: Project, place: Place) -> Settings:
    """The settings of the command, for the same project in another place."""
    config = project.config
    inventories = [path for path in map(place.located, config.inventories) if path.exists()]
    lock_file = place.located(config.lock_file) if config.lock_file is not None else None
    return replace(
        settings,
        config=place.located(config.path) if config.path is not None else None,
        inventories=inventories,
        file_roots=[place.located(Path.cwd() / path) for path in settings.file_roots],
        pillar_roots=[place.located(Path.cwd() / path) for path in settings.pillar_roots],
        cache_dir=config.cache_dir,
        lock_file=lock_file,
    )
