"""Beacons of one target: asks its session for their events as long as it lasts, and checks what is answered.

The state of a beacon between two evaluations is in the session's process on the target (thin/utils/system/beaconing.py)
and ends with it. An answer comes when there are events, or after some seconds without any.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import TargetError

if TYPE_CHECKING:
    from pushsalt.session.session import Session

#: Seconds after which a target answers without events.
_WAIT: Final = 10
#: Bytes that an answer may add to what a session may receive in total.
_ROOM: Final = 8 * 1024 * 1024
#: Limits of the names of beacons, and of the events of one answer.
_NAME: Final = 200
_MANY: Final = 20_000


@dataclass(frozen=True)
class Following:
    """``beacons``: those of the configuration, for all targets. ``begun`` is told the names of a target's beacons when
    they begin; ``told`` is awaited with its events: tags and data."""

    beacons: dict[str, Any]
    begun: Callable[[str, list[str]], None]
    told: Callable[[str, list[tuple[str, dict[str, Any]]]], Awaitable[None]]

    async def follow(self, id: str, session: Session, lock: str) -> list[str]:
        """Follow the beacons of a target until there are none: returns the names of those there were.

        ``lock``: the file on the target that is locked while states run. Raises TargetError and FunctionError.
        """
        names: list[str] = []
        given = {"beacons": self.beacons, "lock": lock}
        while True:
            answer = await session.call("beacons.poll", (), {"seconds": _WAIT if names else 0, **given}, _ROOM)
            active, events = _checked(id, answer)
            if active and not names:
                self.begun(id, active)
            if events:
                await self.told(id, events)
            if not active:
                return names
            names = names or active
            given["beacons"] = {}


def _checked(id: str, answer: Any) -> tuple[list[str], list[tuple[str, dict[str, Any]]]]:
    """The names of the beacons, and tags and data of the events. Raises TargetError for an answer of another shape.

    The tags begin with the id of the target, and the data has it as ``id``, whatever the target says.
    """
    try:
        names = [str(name)[:_NAME] for name in answer["beacons"][:_NAME]]
        events = []
        for each in answer["events"][:_MANY]:
            name, tag, data = str(each["name"])[:_NAME], str(each["tag"])[:_NAME], dict(each["data"])
            events.append((f"salt/beacon/{id}/{name}/{tag}", {**data, "id": id}))
    except (TypeError, KeyError, ValueError) as exc:
        text = f"{id}: the answer about its beacons makes no sense ({type(exc).__name__})"
        raise TargetError("protocol_error", text, "find out what answers there") from None
    return names, events
