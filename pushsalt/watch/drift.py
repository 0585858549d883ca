"""The result of a dry run on one target: which of its states would change something, and which fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pushsalt.errors import EXIT_NO_ANSWER

if TYPE_CHECKING:
    from pushsalt.model import TargetReturn


@dataclass(frozen=True)
class TargetDrift:
    """``drifted`` and ``failed``: tag -> ``__id__``, ``__sls__``, ``name``, ``comment``.

    ``answered``: whether the target was reached; ``error``: why there are no returns of states.
    """

    id: str
    answered: bool = True
    drifted: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    failed: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    total: int = 0
    seconds: float = 0.0
    error: str = ""

    @property
    def is_known(self) -> bool:
        """Whether all states were checked."""
        return self.answered and not self.error


def of_return(result: TargetReturn, *, dry: bool = True) -> TargetDrift:
    """The drift and failures in a return, of a dry run or of a run."""
    seconds = sum(result.phases.values())
    if result.shape == "states" and isinstance(result.ret, dict):
        states = {tag: ret for tag, ret in result.ret.items() if isinstance(ret, dict)}
        drifted = {tag: _about(ret) for tag, ret in states.items() if _drifts(ret, dry)}
        failed = {tag: _about(ret) for tag, ret in states.items() if ret.get("result") is False}
        return TargetDrift(result.id, True, drifted, failed, len(states), seconds)
    answered = result.exit_code != EXIT_NO_ANSWER
    if result.shape == "error":
        error = str(result.ret["error"]["message"])
    elif isinstance(result.ret, list):
        error = "\n".join(map(str, result.ret))
    else:
        error = "it returned no states"
    return TargetDrift(result.id, answered, seconds=seconds, error=error)


def _drifts(ret: Mapping[str, Any], dry: bool) -> bool:
    return ret.get("result") is None or (dry and ret.get("result") is True and bool(ret.get("changes")))


def _about(ret: Mapping[str, Any]) -> dict[str, Any]:
    return {key: ret.get(key) for key in ("__id__", "__sls__", "name", "comment")}


def event(before: list[str], drift: TargetDrift, jid: str, applied: bool) -> tuple[str, dict[str, Any]] | None:
    """The event of a target whose drift differs from ``before`` (tags of drifted states); None if it is the same."""
    now = sorted(drift.drifted)
    if now == before:
        return None
    data = {
        "id": drift.id,
        "jid": jid,
        "applied": applied,
        "in_order": not now,
        "drifted": now,
        "new": sorted(set(now) - set(before)),
        "back": sorted(set(before) - set(now)),
        "states": [{"tag": tag, **drift.drifted[tag]} for tag in now],
    }
    return f"pushsalt/drift/{drift.id}", data
