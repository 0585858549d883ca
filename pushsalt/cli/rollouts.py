"""Options of ``apply`` and ``run`` about the order, limits and checks of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pushsalt.cli.opt import Opt, positive, rows, seconds

#: Options of all commands that run jobs.
BATCH = rows(
    "Execution",
    Opt(
        "batch",
        ("--batch",),
        "Number or percentage of targets to process at a time; a list (1,10%,50%) is steps.",
        metavar="N|P%",
    ),
)
#: Options of ``apply`` and ``run``.
ROLLOUT = rows(
    "Rollout",
    Opt("batch_wait", ("--batch-wait",), "Wait this time before the next batch.", metavar="SECONDS"),
    Opt(
        "batch_by",
        ("--batch-by",),
        "Never process two targets with the same value of this grain at a time; repeatable.",
        "list",
        "grain:KEY",
    ),
    Opt("batch_safe_limit", ("--batch-safe-limit",), "Use batches for this number of targets or more.", metavar="N"),
    Opt("batch_safe_size", ("--batch-safe-size",), "Size of these batches (default 8%).", metavar="N|P%"),
    Opt(
        "max_fail",
        ("--max-fail",),
        "Begin no more targets when this number have failed or not answered.",
        metavar="N|P%",
    ),
    Opt("fail_fast", ("--fail-fast",), "Begin no more targets after the first failure: --max-fail 1.", "flag"),
    Opt("ignore_unreachable", ("--ignore-unreachable",), "Do not count targets that cannot be reached.", "flag"),
    Opt(
        "batch_check",
        ("--batch-check",),
        "Call this function on the targets of each batch after it; those without success count as failed.",
        metavar="'FUNCTION ARGS'",
    ),
    Opt(
        "batch_check_timeout",
        ("--batch-check-timeout",),
        "Repeat the batch check up to this time (default 30).",
        metavar="SECONDS",
    ),
    Opt("confirm", ("--confirm",), "Prompt on the terminal before each further batch.", "flag"),
)


def rollout_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``RolloutOptions`` of these options, checked; empty if none was given. Raises UsageError."""
    given = {opt.name: values[opt.name] for opt in (*BATCH, *ROLLOUT) if values.get(opt.name) not in (None, False, [])}
    if not given:
        return {}
    from pushsalt.cli.asking import need_terminal
    from pushsalt.job import RolloutOptions
    from pushsalt.run.rollout import check_options

    converted: dict[str, Callable[[Any], Any]] = {
        "batch_wait": lambda text: seconds("--batch-wait", text, zero=True),
        "batch_safe_limit": lambda text: positive("--batch-safe-limit", text),
        "batch_check_timeout": lambda text: seconds("--batch-check-timeout", text),
        "batch_by": lambda texts: tuple(part.strip() for text in texts for part in text.split(",")),
    }
    fields: dict[str, Any] = {name: converted.get(name, _same)(value) for name, value in given.items()}
    check_options(RolloutOptions(**fields))
    if fields.get("confirm"):
        need_terminal("--confirm", "omit it; --max-fail also stops a rollout")
    return fields


def _same(value: Any) -> Any:
    return value
