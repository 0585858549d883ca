"""What a session starts with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pushsalt.model import Blob


@dataclass(frozen=True)
class LockRequest:
    """``words`` tell the next one who holds the target; ``wait`` is how many seconds to wait for it ourselves.

    ``name`` is the lock's, when it is not that of the whole target.
    """

    words: str
    wait: float = 0.0
    name: str = ""


@dataclass(frozen=True)
class Start:
    """What a session starts with. ``deadline`` (seconds) bounds all of it by the target's own clock.

    ``clean`` removes what pushsalt left on the target instead of starting a worker; see ``clean`` below.
    ``custom`` are the users' own modules, if there are any; see thin/custom.py. ``salt``: that Salt's own modules may
    be asked for; see thin/saltown.py. ``resource``: which resource it is about; see thin/resourcetypes.py.
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

    def parameters(self) -> dict[str, object]:
        """What the supervisor gets of it; see thin/__main__.py."""
        lock = self.lock
        parameters: dict[str, object] = {
            "lock": lock.words if lock else None,
            "wait": lock.wait if lock else 0,
            "deadline": self.deadline,
            "clean": self.clean,
        }
        if lock is not None and lock.name:
            parameters["lock_name"] = lock.name
        return parameters

    def init(self, id: str, resource: Mapping[str, Any] | None) -> dict[str, Any]:
        """The first message to the runtime; ``resource`` as it is told there."""
        init = {
            "k": "init",
            "id": id,
            "opts": dict(self.opts),
            "grains": dict(self.grains),
            "want_grains": self.want_grains,
            "log_level": self.log_level,
        }
        if self.salt is not None:
            init["salt"] = dict(self.salt)
        if resource is not None:
            init["resource"] = resource
        return init
