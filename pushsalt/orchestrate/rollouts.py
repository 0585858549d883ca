"""The options and targets of a step's job, from the arguments of ``salt.state`` and ``salt.function``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import UsageError
from pushsalt.job import RolloutOptions, Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.job import JobOptions


def options(of_orchestration: JobOptions, given: Mapping[str, Any]) -> JobOptions:
    """The options of a job: those of the orchestration without its pillar and dry run, with the step's rollout.

    The step decides about a dry run, by the argument ``test`` of its function.
    """
    plain = RolloutOptions()
    by = given.get("batch_by") or ()
    wait = given.get("batch_wait")
    return replace(
        of_orchestration,
        test=False,
        pillar=None,
        saltenv=None,
        pillarenv=None,
        unknown_states_run=True,
        batch=_batch(given.get("batch")),
        batch_wait=None if wait is None else float(wait),
        batch_safe_limit=plain.batch_safe_limit,
        batch_by=tuple(map(str, by)) if isinstance(by, list | tuple) else (str(by),),
        max_fail=str(given["max_fail"]) if given.get("max_fail") is not None else None,
        fail_fast=bool(given.get("failhard")),
        batch_check=given.get("batch_check"),
        confirm=False,
    )


def _batch(given: Any) -> str | None:
    """``batch`` of a step; 0 is none, as in Salt. Raises UsageError, with Salt's text."""
    text = str(given or "").strip()
    for part in text.split(","):
        number = part.strip().removesuffix("%")
        try:
            size = float(number or 0)
        except ValueError as exc:
            text = f"Invalid batch specification {text!r}: must be an integer or percentage string like '10' or '25%'."
            raise UsageError(text, str(exc)) from None
    return text if text and size else None


def selection(tgt: Any, tgt_type: str, subset: Any = None) -> Selection:
    """The selection of a step's targets. Raises UsageError for a ``subset`` that is not a number."""
    expr = ",".join(map(str, tgt)) if isinstance(tgt, list) else str(tgt)
    try:
        number = int(subset) if subset else None
    except (TypeError, ValueError):
        raise UsageError(f"subset: {subset!r} is not a number of targets") from None
    return Selection(expr, "list" if isinstance(tgt, list) else tgt_type, subset=number)
