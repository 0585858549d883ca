"""Options of plans, and of what tells by its exit code whether something changed."""

from __future__ import annotations

from pushsalt.cli.opt import Opt, rows

_PANEL = "States and functions"
DETAILED = rows(
    _PANEL,
    Opt(
        "detailed_exitcode",
        ("--detailed-exitcode",),
        "4 in place of 0 if something changed or would change.",
        "flag",
    ),
)
#: Of ``plan``.
PLAN_FILE = rows(
    _PANEL,
    Opt("plan_file", ("-o", "--plan-file"), "Keep the plan in this file, for apply FILE.plan.", metavar="FILE.plan"),
    Opt(
        "recipient",
        ("--recipient",),
        "Seal it to this age recipient instead of your own key; repeatable.",
        "list",
        "KEY",
    ),
)
#: Of ``apply``.
FROM_PLAN = rows(
    _PANEL,
    Opt("accept_drift", ("--accept-drift",), "With a plan: go on where a target is not as it was.", "flag"),
    Opt("max_age", ("--max-age",), "With a plan: refuse one that is older (90s, 30m, 2h, 7d).", metavar="TIME"),
)
#: Of ``apply`` and ``run``.
BACKUPS = rows(
    _PANEL,
    Opt("backups", ("--backups",), "Keep on the targets what file states change, for `undo`.", "flag"),
)
