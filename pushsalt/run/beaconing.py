"""The beacons of one target: requests their events from its session until it ends, and checks the answers.

The state of a beacon between two evaluations is in the session's process on the target (thin/utils/system/beaconing.py)
and ends with it. The target answers when there are events, or after some seconds without any.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import TargetError

if TYPE_CHECKING:
    from pushsalt.model import Target
    from pushsalt.session.session import Session
    from pushsalt.transport import Keeper

#: Seconds after which a target answers without events.
_WAIT: Final = 10
#: Bytes that an answer may add to what a session may receive in total.
_ANSWER_SIZE: Final = 8 * 1024 * 1024
#: Limits: characters of a name, names of one answer, events of one answer.
_NAME_LENGTH: Final = 200
_NAMES: Final = 200
_EVENTS: Final = 20_000


@dataclass(frozen=True)
class Following:
    """``beacons``: those of the configuration, for all targets. ``started`` is called with an id and the names of its
    beacons when they start; ``received`` is awaited with an id and its events: tags and data."""

    beacons: dict[str, Any]
    started: Callable[[str, list[str]], None]
    received: Callable[[str, list[tuple[str, dict[str, Any]]]], Awaitable[None]]

    async def follow(self, id: str, session: Session, lock: str) -> list[str]:
        """Request events until the target has no beacons; returns the names of those it had.

        ``lock``: the file on the target that is locked while states run. Raises TargetError and FunctionError.
        """
        names: list[str] = []
        arguments: dict[str, Any] = {"beacons": self.beacons, "lock": lock}
        while True:
            arguments["seconds"] = _WAIT if names else 0
            answer = await session.call("beacons.poll", (), arguments, _ANSWER_SIZE)
            active, events = _checked(id, answer)
            if active and not names:
                self.started(id, active)
            if events:
                await self.received(id, events)
            if not active:
                return names
            names = names or active
            arguments["beacons"] = {}


def notice_beacons(keeper: Keeper | None, opts: Mapping[str, Any], target: Target, pillar: Any = None) -> None:
    """Have a kept session evaluate beacons, if the target has some by configuration, inventory or this pillar."""
    if keeper is None or target.transport != "ssh" or target.resource:
        return
    places = (opts, target.minion_opts, target.pillar, pillar if isinstance(pillar, dict) else {})
    if any(place.get("beacons") for place in places):
        keeper.start_beacons()


def _checked(id: str, answer: Any) -> tuple[list[str], list[tuple[str, dict[str, Any]]]]:
    """The names of the active beacons, and the events. Raises TargetError for an answer of another shape.

    Tags begin with the id of the target, and data has it as ``id``, whatever the target sends.
    """
    try:
        names = [str(name)[:_NAME_LENGTH] for name in answer["beacons"][:_NAMES]]
        events = []
        for event in answer["events"][:_EVENTS]:
            name, tag, data = str(event["name"])[:_NAME_LENGTH], str(event["tag"])[:_NAME_LENGTH], dict(event["data"])
            events.append((f"salt/beacon/{id}/{name}/{tag}", {**data, "id": id}))
    except (TypeError, KeyError, ValueError) as exc:
        text = f"{id}: the answer of `beacons.poll` has another shape ({type(exc).__name__})"
        raise TargetError("protocol_error", text, "find out which program answers on this target") from None
    return names, events
