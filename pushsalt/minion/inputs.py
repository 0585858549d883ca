"""One target as its renderings read it, and what the targets of a project have in common there."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pushsalt.config import minion_opts
from pushsalt.errors import PushsaltError
from pushsalt.lazy import cached_property
from pushsalt.memo.reads import MISSING, WHOLE, Key, NoKeyError, Read, current, key_of, muted, plain, takes_time
from pushsalt.memo.tree import Once
from pushsalt.minion.files import SeenFiles, Snapshot
from thin.utils.dictupdate import copy_containers

if TYPE_CHECKING:
    from pushsalt.fileserver import FileServer
    from pushsalt.minion.minion import Minion
    from pushsalt.minion.trees import Trees
    from pushsalt.model import Target
    from pushsalt.pillar import PillarResult

#: Different settings of targets that are kept.
MAX_SETTINGS: Final = 200

_GONE: Final = object()
_numbers: Final = itertools.count()
#: Functions asked by ``Minion.remote``, which is told apart from what templates call by the same name.
REMOTE: Final = "remote "


class TargetSettings:
    """The ``opts`` of all targets with the same settings: all but what differs by target anyway."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.number = next(_numbers)
        self.keys: dict[str, Key] = {}

    def key(self, name: Any) -> Key:
        key = self.keys[name] = _key(self.values.get(name, _GONE))
        return key

    def copy(self) -> dict[str, Any]:
        copied: dict[str, Any] = copy_containers(self.values)
        return copied


class MemoPillar:
    """A compiled pillar that targets share; each that wants to hold it gets a copy."""

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
            key = self._keys[name] = _key(self.values if name is WHOLE else self.values.get(name, _GONE))
            return key

    def result(self) -> PillarResult:
        from pushsalt.pillar import PillarResult

        return PillarResult(copy_containers(self.values), list(self.errors), list(self.warnings))

    @cached_property
    def size(self) -> int:
        return 2000 + 10 * len(repr(self.values))


class Shared:
    """What the targets of a project share: results, settings, and what was seen of the files."""

    def __init__(self, project: Trees) -> None:
        self.once = Once()
        self._project = project
        self._settings: dict[Any, TargetSettings] = {}
        self._snapshots: dict[str, Snapshot] = {}

    def settings(
        self, target: Target, *, test: bool | None, saltenv: str | None, pillarenv: str | None
    ) -> TargetSettings:
        config = self._project.config
        try:
            key = (target.transport, test, saltenv, pillarenv, key_of(dict(target.minion_opts)))
        except NoKeyError:
            return TargetSettings(minion_opts(config, target, test=test, saltenv=saltenv, pillarenv=pillarenv))
        found = self._settings.get(key)
        if found is None:
            values = minion_opts(config, target, test=test, saltenv=saltenv, pillarenv=pillarenv)
            if len(self._settings) >= MAX_SETTINGS:  # hardly two targets have the same: no use in keeping them
                self._settings.clear()
            found = self._settings[key] = TargetSettings(values)
        return found

    def files(self, tree: str) -> FileServer:
        """The file server of the states or of the pillar."""
        return self._project.files if tree == "states" else self._project.pillar_files

    def snapshot(self, tree: str) -> Snapshot:
        found = self._snapshots.get(tree)
        if found is None or not found.is_fresh():
            takes_time()
            found = self._snapshots[tree] = Snapshot(self.files(tree))
        return found

    def renew(self) -> None:
        """As ``look_again``, and the configuration may be another one."""
        self._settings.clear()
        self.look_again()

    def look_again(self) -> None:
        """Forget what was seen of the files: a new job begins."""
        self._snapshots.clear()


class TargetInputs:
    """Answers reads (``pushsalt.memo.reads``) for one Minion."""

    def __init__(self, minion: Minion) -> None:
        self._minion = minion
        self._shared = minion.project.shared
        self._seen = threading.local()

    def begin(self) -> None:
        """Something is rendered from the start: files are looked at again where it is time for that."""
        self._seen.trees = {}

    def snapshot(self, tree: str) -> Snapshot:
        """What this thread sees of the files until it begins something else."""
        trees: dict[str, Snapshot] = self._seen.__dict__.setdefault("trees", {})
        found = trees.get(tree)
        if found is None:
            found = trees[tree] = self._shared.snapshot(tree)
        return found

    def seen_files(self, tree: str) -> SeenFiles:
        return SeenFiles(self._shared.files(tree), tree, self, lambda: self.snapshot(tree))

    def key(self, read: Read) -> Key:
        assert isinstance(read, tuple)
        kind = read[0]
        if kind == "opts":
            return self._option(read[1])
        if kind == "grains":
            return _looked_up(self._minion.own_grains, read[1])
        if kind == "pillar":
            return self._pillar(read[1])
        if kind == "compiled":  # whatever became of the target's own since
            known = self._minion.known_pillar
            return known.key(WHOLE), known.errors
        if kind == "match":
            return self._matches(*read[1:])
        try:
            return self.snapshot(read[1]).key(kind, *read[2:])
        except (PushsaltError, OSError):  # it cannot be read: the rendering says so
            raise NoKeyError("a file") from None

    def common(self) -> Hashable:
        """The settings and what is seen of the files, unless templates may have changed the options."""
        if self._minion.own_opts is not None:
            return None
        return self._minion.settings.number, self.snapshot("states").number, self.snapshot("pillar").number

    def is_common(self, read: Read) -> bool:
        assert isinstance(read, tuple)
        if read[0] == "opts":
            return read[1] is not WHOLE and read[1] not in ("id", "user")
        return read[0] in ("find", "read", "list")

    def _pillar(self, name: Any) -> Key:
        own = self._minion.own_pillar
        if own is not None:
            return _looked_up(own, name)
        return self._minion.known_pillar.key(name)

    def _option(self, name: Any) -> Key:
        opts = self._minion.own_opts
        if opts is None:
            known = self._minion.settings.keys.get(name)
            if known is not None:
                return known
            if name == "id":
                return self._minion.id if len(self._minion.id) < 60 else key_of(self._minion.id)
            if name == "user":
                return _key(self._minion.user)
            if name is not WHOLE:
                return self._minion.settings.key(name)
            opts = self._minion.opts
        if name is WHOLE:
            return key_of({key: value for key, value in plain(opts).items() if key != "grains"})
        return _looked_up(opts, name)

    def _matches(self, tgt_type: str, expression: str) -> Key:
        with muted():
            try:
                return self._minion.is_matched(expression, tgt_type)
            except Exception:
                raise NoKeyError("a match") from None

    def ask(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name.startswith(REMOTE):
            return self._minion.call_target(name.removeprefix(REMOTE), list(args), kwargs)
        return self._minion.functions.function(name)(*args, **kwargs)

    def question(self) -> tuple[Any, ...]:
        """What every question about this target says, besides what is asked (see ``reads.Recorded``)."""
        minion = self._minion
        own = minion.own_pillar
        pillar: Mapping[Any, Any] = own if own is not None else minion.known_pillar.values
        return bool(minion.own_grains), bool(pillar), minion.has_target, minion.offline, minion.saltenv


def _looked_up(mapping: dict[Any, Any], name: Any) -> Key:
    if name is WHOLE:
        return key_of(plain(mapping))
    value = dict.get(mapping, name, _GONE)
    return str(value) if type(value) is str and len(value) < 60 else _key(value)


def _key(value: Any) -> Key:
    return MISSING if value is _GONE else key_of(value)


def noting(inputs: TargetInputs) -> bool:
    """Whether a rendering of this target is being recorded in this thread."""
    top = current()
    return top is not None and top.inputs is inputs
