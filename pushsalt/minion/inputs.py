"""The inputs of one target's renderings: a key for each read, by which memoized results are found."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from pushsalt.errors import PushsaltError
from pushsalt.memo.keys import Key, NoKeyError, key_of
from pushsalt.memo.reads import WHOLE, Read, current, muted, plain
from pushsalt.minion.files import RecordedFiles, Snapshot
from pushsalt.minion.shared import GONE, MemoPillar, Shared, TargetSettings, value_key

if TYPE_CHECKING:
    from pushsalt.minion.salt import TemplateFunctions

#: Prefix for calls of ``Minion.remote``, to distinguish them from template calls of the same function.
REMOTE: Final = "remote "


class ReadTarget(Protocol):
    """The target that is read: ``pushsalt.minion.minion.Minion``. ``own_`` attributes belong to this target alone."""

    settings: TargetSettings
    own_opts: dict[str, Any] | None
    own_pillar: dict[str, Any] | None

    @property
    def id(self) -> str: ...
    @property
    def user(self) -> Any: ...
    @property
    def saltenv(self) -> str: ...
    @property
    def offline(self) -> bool: ...
    @property
    def has_target(self) -> bool: ...
    @property
    def own_grains(self) -> dict[str, Any]: ...
    @property
    def opts(self) -> dict[str, Any]: ...
    @property
    def shared_pillar(self) -> MemoPillar: ...
    @property
    def functions(self) -> TemplateFunctions: ...
    def is_matched(self, expr: str, tgt_type: str) -> bool: ...
    def call_target(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any: ...


class TargetInputs:
    """Answers reads (``pushsalt.memo.reads``) for one Minion."""

    def __init__(self, minion: ReadTarget, shared: Shared) -> None:
        self._minion = minion
        self._shared = shared
        self._seen = threading.local()

    def begin(self) -> None:
        """Begin a rendering: snapshots that are too old are replaced."""
        self._seen.trees = {}

    def snapshot(self, tree: str) -> Snapshot:
        """The snapshot that this thread uses until the next ``begin``."""
        trees: dict[str, Snapshot] = self._seen.__dict__.setdefault("trees", {})
        snapshot = trees.get(tree)
        if snapshot is None:
            snapshot = trees[tree] = self._shared.snapshot(tree)
        return snapshot

    def recorded_files(self, tree: str) -> RecordedFiles:
        return RecordedFiles(self._shared.files(tree), tree, self, lambda: self.snapshot(tree))

    def key(self, read: Read) -> Key:
        assert isinstance(read, tuple)
        kind = read[0]
        if kind == "opts":
            return self._option(read[1])
        if kind == "grains":
            return _looked_up(self._minion.own_grains, read[1])
        if kind == "pillar":
            return self._pillar(read[1])
        if kind == "compiled":  # as it was compiled, not with the changes that templates made since
            pillar = self._minion.shared_pillar
            return pillar.key(WHOLE), pillar.errors
        if kind == "match":
            return self._matches(*read[1:])
        try:
            return self.snapshot(read[1]).key(kind, *read[2:])
        except (PushsaltError, OSError):  # the rendering reports the error
            raise NoKeyError("a file") from None

    def common(self) -> Hashable:
        """The key of settings and snapshots (``ReadSource.common``); None if templates may have changed the options."""
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
        return self._minion.shared_pillar.key(name)

    def _option(self, name: Any) -> Key:
        opts = self._minion.own_opts
        if opts is None:
            cached = self._minion.settings.keys.get(name)
            if cached is not None:
                return cached
            if name == "id":
                return self._minion.id if len(self._minion.id) < 60 else key_of(self._minion.id)
            if name == "user":
                return value_key(self._minion.user)
            if name is not WHOLE:
                return self._minion.settings.key(name)
            opts = self._minion.opts
        if name is WHOLE:
            return key_of({key: value for key, value in plain(opts).items() if key != "grains"})
        return _key(self._shared.comparable(dict.get(opts, name, GONE)))

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
        """The part of each memo question that depends on the target (see ``reads.Recorded``)."""
        minion = self._minion
        own = minion.own_pillar
        pillar: Mapping[Any, Any] = own if own is not None else minion.shared_pillar.values
        return bool(minion.own_grains), bool(pillar), minion.has_target, minion.offline, minion.saltenv


def _looked_up(mapping: dict[Any, Any], name: Any) -> Key:
    if name is WHOLE:
        return key_of(plain(mapping))
    return _key(dict.get(mapping, name, GONE))


def _key(value: Any) -> Key:
    return str(value) if type(value) is str and len(value) < 60 else value_key(value)


def noting(inputs: TargetInputs) -> bool:
    """Whether this thread is recording a rendering of this target."""
    top = current()
    return top is not None and top.inputs is inputs
