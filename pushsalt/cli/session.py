"""``pushsalt session``: connections that are kept for later commands."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from pushsalt.cli import sessions
from pushsalt.cli.answer import write
from pushsalt.cli.app import Actions, Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

EXAMPLES = """
pushsalt session start 'web*'
pushsalt --session 30m run 'web*' test.ping
pushsalt session list
pushsalt session stop web1
"""

app = typer.Typer(cls=Actions, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)
_TARGET = typer.Argument(metavar="[TARGET]", help="Target expression.", autocompletion=complete_targets)


@app.callback()
def session() -> None:
    """Keep connections for later commands: a second command on a target needs only one round trip.

    A broker on this machine keeps them for some time after their last use (--session, `session:`, else 10 minutes).
    """


@app.command("start", cls=Command)
@takes(MATCHERS, JOB, GLOBAL)
def start(given: Given, target: Annotated[str | None, _TARGET] = None) -> int:
    """Begin a session, and connect to these targets."""
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.cli.job import run_job

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    config = client.project.config
    seconds = sessions.configured_seconds(given, config) or sessions.DEFAULT
    where = sessions.Place(config)
    if where.info() is None:
        sessions.keeper(where, seconds, running=False)
        sessions.start(where, seconds)
    info = where.info()
    if info is None:
        raise UsageError(
            "the broker of the session did not start", hint=f"check {where.folder}, and run it with -l debug"
        )
    if target is None:
        write(
            given,
            info,
            [f"broker {info['pid']}: connections are kept for {sessions.spoken(seconds)} after their last use"],
        )
        return 0
    given.values["session"] = f"{seconds:g}"

    def stream(client: Any, selection: Any, options: Any) -> Any:
        client.keeps_jobs = False
        if client.project.keeper is not None and client.project.has_pillar:
            client.project.keeper.start_beacons()  # targets may have some in pillar that was not compiled yet
        return client.stream_run(selection, "test.ping", options=options)

    return run_job(given, TERMINAL.get(), target, stream)


@app.command("list", cls=Command)
@takes(OUTPUT, GLOBAL)
def list_(given: Given) -> int:
    """List brokers, their connections, and the beacons that are evaluated."""
    entries: list[dict[str, Any]] = []
    lines: list[str] = []
    for path in sorted(_folder().glob("*.json")):
        info = sessions.read_info(path)
        reply = sessions.ask(str(path.with_suffix(".keep")), b"?") if info is not None else None
        if info is None or reply is None:
            continue
        rows = sorted(reply["targets"], key=lambda row: str(row["id"]))
        entries.append({**info, "used": reply["used"], "targets": rows})
        what = ", ".join(info["inventories"]) or "no inventory"
        since = time.strftime("%H:%M", time.localtime(info["since"]))
        lines.append(f"broker {info['pid']} since {since}: {info['config'] or 'no configuration'}, {what}")
        lines += [_line(row) for row in rows]
        if reply["used"]:
            lines.append(f"  {reply['used']} in use")
    write(given, entries, lines or ["no session"])
    return 0


def _line(row: dict[str, Any]) -> str:
    """The line of a kept connection."""
    text = f"  {row['id']}  idle {sessions.spoken(row['idle'])}, {sessions.spoken(row['left'])} left"
    if row["beacons"]:
        text += f"  beacons: {', '.join(row['beacons'])}"
    if row["beacon_error"]:
        text += f"  beacons failed: {row['beacon_error']}"
    return text


@app.command("stop", cls=Command)
@takes(MATCHERS, OUTPUT, GLOBAL)
def stop(given: Given, target: Annotated[str | None, _TARGET] = None) -> int:
    """Close connections; without TARGET all of them, and end the broker."""
    from pushsalt.cli.client import Watcher, open_client

    given.values["session"] = "0"
    client, _ = open_client(given, TERMINAL.get(), Watcher())
    ids = None if target is None else client.target(given.selection(target))
    where = sessions.Place(client.project.config)
    reply = sessions.ask(where.path("keep"), b"q", ids=ids)
    closed = [] if reply is None else sorted(str(row["id"]) for row in reply["targets"])
    line = "no session" if reply is None else f"closed: {', '.join(closed) or 'no connections'}"
    write(given, closed, [line])
    return 0


def _folder() -> Path:
    from pushsalt.broker import place

    return Path(place.folder(os.environ))
