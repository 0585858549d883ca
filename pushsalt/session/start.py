"""The parameters of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pushsalt.model import Blob, Target
from pushsalt.options import TARGET_DEFAULTS, UNSET

if TYPE_CHECKING:
    from pushsalt.bundle.runtime import Runtime
    from pushsalt.session.channel import Channels
    from pushsalt.session.keptchannels import KeepingConnection
    from pushsalt.transport import Connection, Keeper


@dataclass(frozen=True)
class LockRequest:
    """``words``: text that names the holder, for others that wait for the lock; ``wait``: seconds to wait for the lock.

    ``name``: the name of the lock, if it is not the lock of the whole target.
    """

    words: str
    wait: float = 0.0
    name: str = ""


@dataclass(frozen=True)
class Start:
    """The parameters of a session. ``deadline``: seconds for the whole session, measured on the target.

    ``clean``: no worker is started; pushsalt's files are removed from the target (``Session.removed``).
    ``custom``: the archive of users' own modules, see thin/custom.py. ``salt``: Salt's own modules may be asked for,
    see thin/saltown.py. ``resource``: the resource that the session serves, see thin/resourcetypes.py. ``jid``: the
    job's id. ``job``: the same for a run that may outlive its connection; ``once``: the name of the hand-out, if other
    processes may have the same job, see thin/handouts.py.
    """

    opts: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)
    want_grains: bool = False
    lock: LockRequest | None = None
    deadline: float | None = None
    log_level: str = "warning"
    clean: bool = False
    custom: Blob | None = None
    salt: Mapping[str, Any] | None = None
    resource: Mapping[str, Any] | None = None
    job: str = ""
    reconnect: float = 0.0
    once: str = ""
    jid: str = ""

    def parameters(self) -> dict[str, object]:
        """The parameters of the supervisor; see thin/__main__.py."""
        lock = self.lock
        parameters: dict[str, object] = {
            "lock": lock.words if lock else None,
            "wait": lock.wait if lock else 0,
            "deadline": self.deadline,
            "clean": self.clean,
        }
        if lock is not None and lock.name:
            parameters["lock_name"] = lock.name
        if self.job:
            parameters.update(job=self.job, reconnect=self.reconnect)
            if self.once:
                parameters["once"] = self.once
        return parameters

    def resuming(self, frame: int) -> dict[str, object]:
        """The parameters of a supervisor that continues the run of this job, from this frame on."""
        return {"lock": None, "wait": 0, "deadline": None, "clean": False, "job": self.job, "resume": frame}

    def init(self, id: str, resource: Mapping[str, Any] | None) -> dict[str, Any]:
        """The message ``init``; ``resource``: its field of that name."""
        own = _own(self.opts)
        init = {
            "k": "init",
            "id": id,
            "opts": dict(self.opts) if own is None else own,
            "defaults": own is not None,
            "grains": dict(self.grains),
            "want_grains": self.want_grains,
            "log_level": self.log_level,
            "jid": self.jid,
        }
        if self.job:
            init["survives"] = True
        if self.salt is not None:
            init["salt"] = dict(self.salt)
        if resource is not None:
            init["resource"] = resource
        return init


def _own(opts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that differ from their defaults, which the target has; None if one of these is missing."""
    if not TARGET_DEFAULTS.keys() <= opts.keys():
        return None
    own = {}
    for name, value in opts.items():
        default = TARGET_DEFAULTS.get(name, UNSET)
        if value is default or value is _equal.get(name, UNSET):
            continue
        if _are_same(value, default):
            _equal[name] = value
        else:
            own[name] = value
    return own


#: option -> the value that was last found to equal its default; the targets of a job share values (TargetOptions)
_equal: dict[str, Any] = {}


def _are_same(value: Any, other: Any) -> bool:
    """Whether two values are equal; 1 and True are not."""
    return type(value) is type(other) and value == other and repr(value) == repr(other)


def channels_of(
    target: Target, connection: Connection, keeper: Keeper | None, start: Start, runtime: Runtime
) -> Channels | None:
    """The store of channels that the session shares with others; None if its channel must not be shared."""
    if target.place != target.key:
        return cast("Channels", connection)
    if keeper is None or not hasattr(connection, "park"):
        return None
    from pushsalt.session.keptchannels import KeptChannels

    keeping = cast("KeepingConnection", connection)
    if start.clean:
        keeping.drop()
        return None
    return KeptChannels(keeping, target, runtime, keeper.seconds)
