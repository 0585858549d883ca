"""``pushsalt jobs``: shows and manages recorded jobs, with their targets and returns."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pushsalt.cli.answer import write, write_data
from pushsalt.cli.app import Actions, Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import ASK, GLOBAL, JOB, LIMITS, LOGIN, OUTPUT, PILLAR, Given, takes
from pushsalt.cli.reports import REPORT, report_path, write_page
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pushsalt.api import Client
    from pushsalt.jobs.jobs import Jobs, KeptJob
    from pushsalt.model import TargetReturn

EXAMPLES = """
pushsalt jobs list --since 2h --failed
pushsalt jobs show last
pushsalt jobs show 20261126 --failed --out json
pushsalt jobs diff 20261126101500000000 last
pushsalt jobs wait last --timeout 600
pushsalt jobs resume last
pushsalt jobs prune --older 30d
"""
SHOWN = (
    Opt("limit", ("--limit",), "Only this number of jobs, the newest.", metavar="N"),
    Opt("since", ("--since",), "Only jobs that began in this last time (2h, 30d), or since a date.", metavar="TIME"),
    Opt("fun", ("--fun",), "Only jobs of functions that match.", metavar="GLOB"),
    Opt("of_target", ("--target",), "Only jobs on this target.", metavar="ID"),
    Opt("failed", ("--failed",), "Only jobs without a good return on some target.", "flag"),
)
PARTS = (
    Opt("failed", ("--failed",), "Only failed returns, and ids without a return.", "flag"),
    Opt("changed", ("--changed",), "Only returns with a state that changed something.", "flag"),
    Opt("of_target", ("--target",), "Only targets that match, as with -C.", metavar="EXPR"),
)
PRUNED = (
    Opt("older", ("--older",), "Jobs that began before this time: 30d, 12h.", metavar="TIME"),
    Opt("keep", ("--keep",), "All jobs but this number, the newest.", metavar="N"),
)

WAITED = (
    Opt("timeout", ("--timeout",), "Stop waiting after this time; the runs continue.", metavar="SECONDS"),
    *(opt for opt in LIMITS if opt.name in ("concurrency", "accept_new_host_keys")),
)

app = typer.Typer(cls=Actions, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)
_JID = typer.Argument(metavar="JID", help="A JID, the beginning of one, or `last`.")


#: Formats that write a job as an object; the others show its returns.
_OF_DATA: Final = ("json", "yaml", "ndjson")


def _client(given: Given) -> Client:
    from pushsalt.cli.client import Watcher, open_client

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    return client


@app.callback()
def jobs() -> None:
    """Show and manage the record of jobs: each job of apply, run and similar commands, with its returns.

    Jobs are kept for a day unless the configuration says otherwise (keep_jobs_seconds).
    """


@app.command("list", cls=Command)
@takes(SHOWN, OUTPUT, GLOBAL)
def list_(given: Given) -> int:
    """List the recorded jobs, newest first."""
    from pushsalt.jobs import times

    limit = _number("--limit", given.limit)
    try:
        since = None if given.since is None else times.since(given.since)
    except ValueError:
        raise UsageError(f"--since: {given.since!r} is not a time", "for example 2h, 30d, or 2026-11-26") from None
    kept = _kept(given)
    wanted: dict[str, Any] = {"limit": limit, "since": since, "fun": given.fun, "target": given.of_target}
    wanted["failed"] = bool(given.failed)
    out = TERMINAL.get().stdout
    if given.out in (None, "rich"):
        out.write(_escaped(kept.lines(**wanted)))
    elif given.out == "json" and not out.is_terminal:
        out.write(kept.as_json(**wanted) + "\n", utf8=True)  # fast for ten thousand rows
    else:
        write_data(given, [job.as_row() for job in kept.list(**wanted)])
    return 0


@app.command("show", cls=Command)
@takes(PARTS, REPORT, OUTPUT, GLOBAL)
def show(given: Given, jid: Annotated[str, _JID]) -> int:
    """Show the returns of a job, in the form in which the command showed them."""
    from pushsalt.cli.again import recorded
    from pushsalt.cli.returns import Returns
    from pushsalt.jobs.jobs import document

    client = _client(given)
    job = recorded(client, jid)
    page = report_path(given.report)
    by_id = client.jobs.returns(job)
    returns = _wanted(given, client, job, by_id)
    steps = client.jobs.parts(job, "job") if job.detail.get("kind") == "orchestrate" else None
    if page is not None:
        from pushsalt.reports.others import job_page

        write_page(page, job_page(job, returns))
    if given.out in _OF_DATA:
        more = {} if steps is None else {"Steps": [{"jid": jid, **step} for jid, step in steps.items()]}
        data = {**document(job, returns), **more}
        write_data(given, [data] if given.out == "ndjson" else data)
        return 0
    if given.out in (None, "rich"):
        TERMINAL.get().stdout.write(_escaped([*_head(job, by_id), *_steps(steps or {})]))
    if returns:
        test = bool(job.detail.get("options", {}).get("test"))
        Returns(client, given, TERMINAL.get(), test=test).write(returns, job.elapsed)
    return 0


@app.command("diff", cls=Command)
@takes(OUTPUT, GLOBAL)
def diff(
    given: Given,
    first: Annotated[str, typer.Argument(metavar="JID", help="The one.")],
    second: Annotated[str, typer.Argument(metavar="JID", help="The other.")],
) -> int:
    """Show the differences between two jobs, per target and state: result, changed or not, changes."""
    from pushsalt.jobs.difference import difference, lines

    kept = _client(given).jobs
    differences = difference(*(kept.returns(kept.get(word)) for word in (first, second)))
    write(given, differences, lines(differences) or ["no difference"])
    return 0


@app.command("resume", cls=Command)
@takes(PILLAR, JOB, GLOBAL)
def resume(given: Given, jid: Annotated[str, _JID]) -> int:
    """Run the job on targets without a good return, and show all its returns."""
    from pushsalt.cli.again import resume as go_on

    return go_on(given, jid)


@app.command("wait", cls=Command)
@takes(WAITED, OUTPUT, LOGIN, ASK, GLOBAL)
def wait(given: Given, jid: Annotated[str, _JID]) -> int:
    """Wait until the job has ended on all targets, collect stored returns from them, and show all its returns."""
    from pushsalt.cli.again import wait as collect

    return collect(given, jid)


@app.command("export", cls=Command)
@takes(GLOBAL)
def export(
    given: Given, jids: Annotated[list[str], typer.Argument(metavar="JID ...", help="JIDs, or their beginnings.")]
) -> int:
    """Write jobs with their returns as JSON, one document per line."""
    from pushsalt.jobs.jobs import document
    from pushsalt.outputters.json import dumps

    kept = _client(given).jobs
    jobs = [kept.get(jid) for jid in jids]
    for job in jobs:
        TERMINAL.get().stdout.write(dumps(_plain(document(job, kept.returns(job)))) + "\n", utf8=True)
    return 0


@app.command("prune", cls=Command)
@takes(PRUNED, OUTPUT, GLOBAL)
def prune(given: Given) -> int:
    """Remove jobs: those that exceed --older and --keep, or without both the configured limits."""
    from pushsalt.jobs import times
    from pushsalt.run.jobrecord import bounds_of

    try:
        seconds = None if given.older is None else times.seconds(given.older)
    except ValueError:
        raise UsageError(f"--older: {given.older!r} is not a time", "for example 30d or 12h") from None
    number = None if given.keep is None else _number("--keep", given.keep, zero=True)
    client = _client(given)
    if seconds is None and number is None:
        removed = client.jobs.prune(bounds_of(client.project.config.opts))
    else:
        removed = client.jobs.prune_beyond(seconds=seconds, number=number)
    write(given, removed, [f"{len(removed)} jobs removed"])
    return 0


def _kept(given: Given) -> Jobs:
    """The record of jobs, without the inventory and without connections."""
    from pushsalt.cli.client import configured_log
    from pushsalt.config import CliOverrides, load_config
    from pushsalt.jobs.jobs import Jobs

    configured_log(given, TERMINAL.get())
    settings = given.settings()
    return Jobs(load_config(settings.config, cli=CliOverrides(cache_dir=settings.cache_dir)).cache_dir)


def _escaped(lines: Iterable[str]) -> str:
    """The lines as text, without control characters."""
    from pushsalt.display.safe import escape

    return escape("".join([line.replace("\n", "\\n").replace("\t", "\\t") + "\n" for line in lines]))


def _plain(value: Any) -> Any:
    from pushsalt.display.safe import plain

    return plain(value)


def _number(flag: str, text: str | None, *, zero: bool = False) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and (zero or int(text))):
        raise UsageError(f"{flag}: {text!r} is not a whole number{'' if zero else ' above 0'}")
    return int(text)


def _local(moment: float) -> str:
    """A time for people, in their own time zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def _head(job: KeptJob, returns: dict[str, TargetReturn]) -> list[str]:
    """The data of the job as lines for people."""
    detail, origin = job.detail, job.detail.get("origin") or {}
    came_from = f", from {origin['from']}" if origin.get("from") else ""
    lines = [
        job.line(),
        f"    by {job.user} on {origin.get('host', 'an unknown host')} in {origin.get('folder', '')}{came_from}",
    ]
    if detail.get("words"):
        lines.append(f"    pushsalt {shlex.join(map(str, detail['words']))}")
    revision = detail.get("git")
    if revision:
        lines.append(f"    project at {revision['revision']}" + (", with changes" if revision.get("dirty") else ""))
    if job.end is not None:
        lines.append(f"    ended {_local(job.end)}, exit code {job.exit_code}")
    missing = [id for id in job.ids if id not in returns]
    if missing:
        lines.append(f"    no return of: {', '.join(missing[:20])}{' …' if len(missing) > 20 else ''}")
    return lines


def _steps(steps: dict[str, dict[str, Any]]) -> list[str]:
    """The jobs of an orchestration's steps, for people."""
    return [
        f"    step {step['name']}: job {jid}, {step['fun']}" + (f" on {step['tgt']}" if step["tgt"] else "")
        for jid, step in steps.items()
    ]


def _wanted(given: Given, client: Client, job: KeptJob, returns: dict[str, TargetReturn]) -> dict[str, TargetReturn]:
    """The returns that the options select."""
    if given.failed:
        returns = {id: ret for id, ret in returns.items() if ret.exit_code}
    if given.changed:
        returns = {id: ret for id, ret in returns.items() if _has_changed(ret)}
    if given.of_target:
        ids = _matching(client, given.of_target, job.ids)
        returns = {id: ret for id, ret in returns.items() if id in ids}
    return returns


def _has_changed(result: TargetReturn) -> bool:
    states = result.ret if result.shape == "states" and isinstance(result.ret, dict) else {}
    return any(isinstance(ret, dict) and ret.get("changes") for ret in states.values())


def _matching(client: Client, expr: str, ids: list[str]) -> set[str]:
    """The ids of a job that an expression matches; a glob also matches ids that are no longer in the inventory."""
    from fnmatch import fnmatchcase

    from pushsalt.api import Selection
    from pushsalt.errors import NoTargetError

    if "@" not in expr and " " not in expr:
        return {id for id in ids if fnmatchcase(id, expr)}
    try:
        return set(client.target(Selection(expr, "compound")))
    except NoTargetError:
        return set()
