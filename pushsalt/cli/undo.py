"""``pushsalt undo JID [TARGET]``: restores files that a job's states changed, from the copies on the targets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt.cli.answer import write_data
from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.api import Client, JobOptions
    from pushsalt.cli.client import Watcher
    from pushsalt.jobs.jobs import KeptJob

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt apply 'web*' nginx --backups       store changed files for an undo
pushsalt undo last --test                   show the steps of an undo
pushsalt undo last                          show the steps, ask, and do them
pushsalt undo 20261126 web1 --yes --out json
"""
_TEST = tuple(opt for opt in STATES if opt.name == "test")
OPTIONS = (
    Opt("yes", ("-y", "--yes"), "Do not ask for confirmation; it is never asked for without a terminal.", "flag"),
    Opt("accept_drift", ("--accept-drift",), "Also restore files that were changed after the job.", "flag"),
)


@app.command(cls=Command, epilog=EXAMPLES)
@takes(_TEST, OPTIONS, MATCHERS, JOB, GLOBAL)
def undo(
    jid: Annotated[str, typer.Argument(metavar="JID", help="A JID, the beginning of one, or `last`.")],
    given: Given,
    target: Annotated[
        str | None,
        typer.Argument(metavar="[TARGET]", help="Only on these targets of the job.", autocompletion=complete_targets),
    ] = None,
) -> int:
    """Restore the files that the file states of a job changed. The steps are shown first.

    Files are stored for it with --backups of apply and run, `backups: true` in the configuration, or `backup: minion`
    of a state. Files that the job created are removed. States that cannot be undone, such as commands, are listed.
    """
    from pushsalt.cli.asking import ask_yes, has_terminal
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.cli.job import say_jid
    from pushsalt.log import DEFAULT_LEVEL
    from pushsalt.planning.undoing import is_open

    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    watcher = Watcher()
    client, level = open_client(given, TERMINAL.get(), watcher)
    job = client.jobs.get(jid)
    ids = _ids(given, client, job, target)
    undoing = Undoing(given, client, watcher, job, given.job(level))
    shown = undoing.run(ids, test=True)
    open_ids = [id for id, each in shown.items() if "error" not in each and is_open(each)]
    if given.test or not open_ids:
        undoing.write(shown)
        return undoing.code
    if not given.yes and has_terminal():
        undoing.say(shown)
        if not asyncio.run(ask_yes(f"Undo this on {len(open_ids)} target{'s' * (len(open_ids) != 1)}? [y/N] ")):
            raise UsageError("the undo was not confirmed, and not done", hint="answer y to undo it")
    client.on_begin = lambda jid: say_jid(given, jid)
    undoing.write({**shown, **undoing.run(open_ids, test=False)})
    return undoing.code


def _ids(given: Given, client: Client, job: KeptJob, target: str | None) -> list[str]:
    """The ids of the job to undo it on. Raises CommandError."""
    from pushsalt.api import Selection

    if job.state == "running":
        raise UsageError(f"the job {job.jid} is still running", hint=f"pushsalt jobs wait {job.jid}")
    if job.detail.get("options", {}).get("test"):
        raise UsageError(f"the job {job.jid} was a dry run, and has no changes to undo", hint="name another job")
    returns = client.jobs.returns(job)
    chosen = client.target(given.selection(target) if target else Selection(",".join(returns), "list"))
    ids = [id for id in chosen if id in returns]
    if not ids:
        hint = f"its targets: {', '.join([*returns][:5])}" if returns else "pushsalt jobs list"
        raise UsageError(f"the job {job.jid} did not run on these targets", hint=hint)
    return ids


class Undoing:
    """The undo of one job. ``code``: the exit code so far."""

    def __init__(self, given: Given, client: Client, watcher: Watcher, job: KeptJob, options: JobOptions) -> None:
        self._given, self._client, self._watcher = given, client, watcher
        self._job, self._options = job, options
        self._returns = client.jobs.returns(job)
        self._keys: list[str] = []
        self.code = 0

    def run(self, ids: list[str], *, test: bool) -> dict[str, Any]:
        """id -> the result of ``planning.undoing``, or an error. ``test``: only show the steps; this is not recorded as
        a job.
        """
        from pushsalt.api import Selection
        from pushsalt.cli.job import Work
        from pushsalt.planning.undoing import FUNCTION, undo_of

        drift = {"accept_drift": True} if self._given.accept_drift else {}
        kwargs = {"test": True} if test else {"keys": self._keys, **drift}  # do exactly the steps that were shown
        client, keeps = self._client, self._client.keeps_jobs
        client.keeps_jobs = keeps and not test
        work = Work(client, self._watcher, None)
        selection = Selection(",".join(ids), "list")
        work.run(lambda: client.stream_run(selection, FUNCTION, [self._job.jid], kwargs, self._options))
        client.keeps_jobs = keeps
        self.code = max(self.code, work.exit_code)
        steps: dict[str, Any] = {}
        for id, result in work.results.items():
            ret = result.ret
            if test and isinstance(ret, dict) and isinstance(ret.get("key"), str):
                self._keys.append(ret["key"])
            steps[id] = ret if result.shape == "error" else undo_of(self._returns[id].ret, ret)
        return {id: steps[id] for id in ids if id in steps}

    def _hidden(self, data: Mapping[str, Any]) -> Any:
        for id in data:
            self._client.project.hide_kept(self._client.project.target(id))  # the files may contain former secrets
        return self._client.redactor().answer(data)

    def say(self, data: Mapping[str, Any]) -> None:
        """Write the steps or results as text for people."""
        from pushsalt.display.states import Detail
        from pushsalt.display.style import draw
        from pushsalt.display.undo import lines

        terminal, detail = TERMINAL.get(), Detail(full_diff=bool(self._given.full_diff))
        terminal.stdout.write(draw(lines(self._hidden(data), detail, bool(self._given.accept_drift)), terminal.color))

    def write(self, data: Mapping[str, Any]) -> None:
        """Write the steps or results as text for people, or in the format of ``--out``."""
        if self._given.out in (None, "rich"):
            self.say(data)
        elif self._given.out != "quiet":
            write_data(self._given, self._hidden(data))
