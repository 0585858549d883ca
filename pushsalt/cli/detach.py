"""``--detach``: the runs of ``apply`` and ``run`` continue on the targets without the command; ``jobs wait`` collects
their returns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pushsalt.cli.opt import Opt, rows
from pushsalt.cli.rollouts import BATCH, ROLLOUT
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.cli.job import Stream
    from pushsalt.cli.options import Given
    from pushsalt.cli.stdio import Terminal

DETACH = rows(
    "Execution",
    Opt("detach", ("--detach",), "Print the JID and end; the runs continue on the targets (jobs wait).", "flag"),
)
#: Options for the output of returns, which have no effect with --detach.
_RETURNED = ("junit", "summary", "report", "returners", "detailed_exitcode", "raw", "rerun_failed")


def leave_running(given: Given, terminal: Terminal, target: str, stream: Stream) -> int:
    """Begin a job, print its JID, and disconnect from its runs. Returns the exit code for targets that could not begin.

    Raises CommandError for an invalid command.
    """
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.cli.job import Work, say_jid
    from pushsalt.cli.returns import say_failures
    from pushsalt.log import DEFAULT_LEVEL

    check(given)
    selection = given.selection(target)
    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    watcher = Watcher()
    client, level = open_client(given, terminal, watcher)
    if not client.project.config.opts.get("job_cache", True):
        hint = "set job_cache: true in the configuration, or omit --detach"
        raise UsageError(
            "--detach: jobs are not recorded (job_cache: false), so `jobs wait` could not collect it", hint
        )
    client.words = sys.argv[1:]

    def begins(jid: str) -> None:
        say_jid(given, jid)
        terminal.stdout.write(f"{jid}\n", utf8=True)

    client.on_begin = begins
    work = Work(client, watcher, on_result=None)
    work.run(lambda: stream(client, selection, given.job(level)))
    say_failures({id: ret for id, ret in work.results.items() if not ret.left}, client.redactor().text)
    return work.exit_code


def check(given: Given) -> None:
    """Raise UsageError for options that need the command until the runs have ended."""
    for opt in (*BATCH, *ROLLOUT):
        if given.values.get(opt.name):
            hint = "omit one of them: batches need the command until their end"
            raise UsageError(f"--detach and {opt.flags[-1]} contradict each other", hint)
    for name in _RETURNED:
        if given.values.get(name):
            flag = "--return" if name == "returners" else "--" + name.replace("_", "-")
            hint = f"omit --detach, or {flag}: `pushsalt jobs wait JID` collects the returns"
            raise UsageError(f"--detach and {flag} contradict each other", hint)
