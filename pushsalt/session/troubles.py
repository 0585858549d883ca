"""The errors of a session, with messages and hints."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError, TargetError
from pushsalt.session.handshake import from_frame, printable
from pushsalt.session.intake import excess
from thin import wire

if TYPE_CHECKING:
    from pushsalt.model import Target
    from pushsalt.session.channel import Channel

log = logging.getLogger(__name__)

#: Characters of the text of an exception.
_TEXT = 64 * 1024
#: Exit status of a supervisor whose worker died inside a frame; see thin/relay.py.
_CUT: Final = 77


def too_slow(id: str, seconds: float, said: str) -> TargetError:
    message = f"{id}: the runtime did not start within {seconds:g} s"
    hint = "look at the start-up files of the login's shell: something there may wait for input"
    return TargetError("bootstrap_failed", f"{message}: {said}" if said else message, hint)


def overdue(id: str, deadline: float, margin: float) -> TargetError:
    return TargetError(
        "timeout",
        f"{id}: no answer {margin:g} s after the limit of {deadline:g} s",
        "the target should have stopped the work by itself; check what still runs there",
    )


def nonsense(id: str, exc: ValueError) -> TargetError:
    """The error of a target that violated the protocol."""
    if isinstance(exc, wire.Excess):
        return excess(id, exc)
    hint = "a start-up file of the login may print without end, or something changes the bytes in transit"
    return TargetError("protocol_error", f"{id}: {exc}", hint)


def internal(id: str, exc: Exception) -> TargetError:
    message = f"{id}: {type(exc).__name__}: {exc}"
    return TargetError("internal", message, "run again with -l debug and report what it prints")


def lost(exc: TargetError, work_sent: bool) -> TargetError:
    """The error of a broken connection: if no work was sent, it says that a repetition is safe."""
    if exc.kind != "connection_lost" or work_sent:
        return exc
    message = f"{exc.message}, before anything was run"
    return TargetError("bootstrap_failed", message, "nothing was done on the target: it is safe to run again")


def ended(target: Target, channel: Channel, awaited: bool) -> TargetError | None:
    """The error of a channel that the target has closed; None if nothing was ``awaited`` and it ended normally."""
    status = channel.stream.exit_status
    if not channel.is_greeted:
        return channel.ending()
    if status == _CUT:
        return from_frame(target, {"kind": "worker_died", "message": "while it sent its answer"})
    if not awaited:
        return None
    how = "the channel was closed" if status is None else f"the runtime ended with status {status}"
    return TargetError("connection_lost", f"{target.id}: {how}", "look at the target")


def raised(id: str, message: dict[str, Any]) -> FunctionError:
    """The error of a function that raised an exception on the target, from its message ``exc``."""
    name = str(message.get("type") or "Exception")[:200]
    text = str(message.get("message") or name)[:_TEXT]
    if message.get("tb"):
        log.debug("%s: %s", id, message["tb"][:_TEXT])
    if message.get("known", True):
        return FunctionError("exception", text, "see the message; -l debug shows where it was raised", name)
    nearest = message.get("nearest")
    near = [printable(str(one)) for one in nearest[:3]] if isinstance(nearest, list) else []
    there = message.get("hint") or "`pushsalt run TARGET sys.list_functions` lists what there is"
    hint = f"nearest: {', '.join(near)}" if near else printable(str(there))
    return FunctionError("unknown_function", text, hint, "CommandExecutionError")
