"""The same function on many targets, and which of them return the same. Salt: ``salt/runners/survey.py``."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pushsalt.runners.salt import execute

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def hash(run: Run, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """``[{"pool": [id], "result": text}]``: targets with the same return, the largest pool first.

    Arguments: the target (compound), a function and its arguments; ``survey_sort: up`` has the smallest first.
    """
    direction = kwargs.pop("survey_sort", "down") != "up"
    tgt_type = kwargs.pop("tgt_type", "compound")
    tgt, fun, *rest = args
    kwarg = {key: value for key, value in kwargs.items() if not key.startswith("_")}
    results = execute(run, tgt, fun, rest, tgt_type=tgt_type if tgt_type == "pcre" else "compound", kwarg=kwarg)
    pools: dict[str, list[str]] = {}
    for id in sorted(results):
        pools.setdefault(str(results[id]), []).append(id)
    rows: list[dict[str, Any]] = [{"result": text, "pool": pool} for text, pool in pools.items()]
    return sorted(rows, key=lambda row: len(row["pool"]), reverse=direction)


def diff(run: Run, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """The same pools; those behind the first have ``diff``, what differs from its result."""
    rows = hash(run, *args, **kwargs)
    for row in rows[1:]:
        old, new = (each["result"].splitlines() for each in (rows[0], row))
        row["diff"] = "\n".join(difflib.unified_diff(old, new, rows[0]["pool"][0], row["pool"][0], lineterm="", n=0))
    return rows
