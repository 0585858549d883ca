"""``pushsalt wait``: waits until logins on targets work, or targets have restarted."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

#: Seconds to wait without --timeout.
USUAL = 300.0
EXAMPLES = """
pushsalt wait 'web*' --for ssh
pushsalt apply web1 kernel && pushsalt wait web1 --for reboot --timeout 600
"""
FOR = (Opt("wait_for", ("--for",), "What to wait for: ssh (a login) or reboot (a restart).", metavar="ssh|reboot"),)


@app.command(cls=Command, epilog=EXAMPLES)
@takes(FOR, MATCHERS, JOB, GLOBAL)
def wait(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Target expression.", autocompletion=complete_targets)
    ],
    given: Given,
) -> int:
    """Wait until a login on each target works, or it has restarted; --timeout is 300 seconds by default.

    A restart after the start of the command counts, or one in progress then (the target cannot be reached).
    """
    from pushsalt.cli.job import run_job

    what = given.wait_for or "ssh"
    if what not in ("ssh", "reboot"):
        raise UsageError(f"--for takes ssh or reboot, not {what!r}", "for example --for reboot")
    return run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_wait(
            selection, what, USUAL if options.timeout is None else options.timeout, replace(options, timeout=None)
        ),
    )
