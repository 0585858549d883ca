"""``pushsalt wait``: waits until a login on a target succeeds, or the target was restarted."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import TargetError
from pushsalt.session.survival import PASSING

if TYPE_CHECKING:
    from pushsalt.run.work import Work

#: The default of the time limit, and the pause between two attempts, in seconds.
USUAL: Final = 300.0
PAUSE: Final = 1.0
#: Time limit in seconds for one attempt, after it is connected.
ATTEMPT: Final = 20.0
#: Clock ticks per second of times in /proc.
_TICKS: Final = 100
#: Margin in seconds: a machine whose first process is younger than the wait by more than this was restarted.
_MARGIN: Final = 2.0
_LOOK: Final = "cat /proc/sys/kernel/random/boot_id /proc/uptime /proc/1/stat 2>/dev/null || uptime"


async def wait_for(work: Work, what: str, seconds: float) -> dict[str, Any]:
    """Wait at most ``seconds`` until a login succeeds (``ssh``), or the target was restarted (``reboot``).

    A restart is detected by a new boot id, by a first process that is younger than the wait, or if the target did not
    answer at first. Raises TargetError.
    """
    began = time.monotonic()
    first: str | None = None
    was_down = False
    trouble: TargetError | None = None
    work.reporter.target_phase(work.name, f"wait for {what}")
    while (left := began + seconds - time.monotonic()) > 0:
        try:
            boot, is_young = await asyncio.wait_for(_boot(work, began), left)
        except asyncio.TimeoutError:
            if first is None:  # else it has answered before, and this attempt had too little time
                trouble = trouble or TargetError("connect_timeout", "no answer", "look at the machine")
        except TargetError as exc:
            if exc.kind not in PASSING:
                raise
            trouble, was_down = exc, True
        else:
            if what == "ssh" or is_young or (was_down if first is None else boot != first):
                return {"for": what, "seconds": round(time.monotonic() - began, 1)}
            first, trouble = boot, None
        await asyncio.sleep(min(PAUSE, max(0.0, began + seconds - time.monotonic())))
    raise _too_long(work.target.id, seconds, trouble)


async def _boot(work: Work, began: float) -> tuple[str, bool]:
    """(a text that changes with each restart, whether the machine was restarted since ``began``)."""
    from pushsalt.session import raw

    connection = await work.connect_again()
    try:
        result = await asyncio.wait_for(raw.run(work.target, connection, _LOOK), ATTEMPT)
    except asyncio.TimeoutError:
        raise TargetError("connect_timeout", "a command got no answer", "look at the machine") from None
    lines = result["stdout"].split("\n")
    try:
        ticks = int(lines[2].rpartition(")")[2].split()[19])
        age = float(lines[1].split()[0]) - ticks / _TICKS
    except (IndexError, ValueError):  # not Linux
        return result["stdout"], False
    return lines[0], age < time.monotonic() - began + _MARGIN


def _too_long(id: str, seconds: float, trouble: TargetError | None) -> TargetError:
    if trouble is not None:
        reason = trouble.message.removeprefix(f"{id}: ")
        return TargetError(trouble.kind, f"{id}: not reachable after {seconds:g} s: {reason}", trouble.hint)
    message = f"{id}: it was not restarted within {seconds:g} s"
    return TargetError("timeout", message, "see whether the restart was asked for, or raise --timeout")
