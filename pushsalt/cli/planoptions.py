"""Options of plans, and the option for an exit code that reports changes."""

from __future__ import annotations

from pushsalt.cli.opt import Opt, rows

_PANEL = "States and functions"
DETAILED = rows(
    _PANEL,
    Opt(
        "detailed_exitcode",
        ("--detailed-exitcode",),
        "Exit with 4 instead of 0 if something changed or would change.",
        "flag",
    ),
)
#: Of ``plan``.
PLAN_FILE = rows(
    _PANEL,
    Opt("plan_file", ("-o", "--plan-file"), "Write the plan to this file, for apply FILE.plan.", metavar="FILE.plan"),
    Opt(
        "recipient",
        ("--recipient",),
        "Encrypt it for this age recipient instead of your own key; repeatable.",
        "list",
        "KEY",
    ),
)
#: Of ``apply``.
FROM_PLAN = rows(
    _PANEL,
    Opt("accept_drift", ("--accept-drift",), "With a plan: also apply it to targets that have changed.", "flag"),
    Opt("max_age", ("--max-age",), "With a plan: refuse an older one (90s, 30m, 2h, 7d).", metavar="TIME"),
)
#: Of ``apply`` and ``run``.
BACKUPS = rows(
    _PANEL,
    Opt("backups", ("--backups",), "Store files that file states change on the targets, for `undo`.", "flag"),
)
