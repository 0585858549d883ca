"""``pushsalt react``: the reactor, in the foreground, for systemd or a container."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import EVENT_OUTPUT, GLOBAL, SERVICE, Given, takes
from pushsalt.cli.stdio import TERMINAL, print_error
from pushsalt.errors import EXIT_FAILED, EXIT_OK, CommandError, UsageError

if TYPE_CHECKING:
    from pushsalt.reactor.service import Reaction, Service

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt react                    follow the journal of events
pushsalt react --once             react to recorded events, and end
pushsalt react --unit > /etc/systemd/system/pushsalt-react.service
"""
SHOWN = (
    Opt("once", ("--once",), "React to recorded events and to events of these reactions, then end.", "flag"),
    Opt(
        "since",
        ("--since",),
        "Ignore events that are older than this (2h, 30d), or from before a date.",
        metavar="TIME",
    ),
    Opt("unit", ("--unit",), "Print a unit file for systemd that runs this project's reactor.", "flag"),
)
#: Seconds after the first signal for reactions to end; the next start continues those that have not.
_GRACE: Final = 20.0
#: Seconds between two attempts to get the lock that another process holds.
_LOOK: Final = 0.5


@app.command(cls=Command, epilog=EXAMPLES)
@takes(SHOWN, EVENT_OUTPUT, SERVICE, GLOBAL)
def react(given: Given) -> int:
    """React to events of the journal by the reactor SLS of the configuration, each event once."""
    if given.unit:
        from pushsalt.cli.unitfile import unit_file

        TERMINAL.get().stdout.write(unit_file("react", given))
        return EXIT_OK
    if given.out not in (None, "rich", "ndjson"):
        raise UsageError(f"--out {given.out}: reactions are written as ndjson", "omit it, or write --out ndjson")
    return asyncio.run(_react(given))


async def _react(given: Given) -> int:
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.log import DEFAULT_LEVEL
    from pushsalt.orchestrate import reactormap
    from pushsalt.reactor.lock import only_one
    from pushsalt.reactor.service import Service
    from pushsalt.workers.jobevents import only_one as only_one_there
    from pushsalt.workers.jobevents import open_journal

    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    since = _since(given)
    client, level = open_client(given, TERMINAL.get(), Watcher())
    reactor = reactormap.load(client.project.config)
    if not reactor.rows:
        raise CommandError("the configuration has no `reactor`", "see docs/reactor.md")
    journal = open_journal(client.project)
    service = Service(client, journal, reactor, given.job(level), partial(_say, given))
    stopped = asyncio.Event()
    _heed_signals(service, stopped)
    wait = partial(_wait, given)
    with only_one(journal.path, wait), only_one_there(journal, wait, "react"):
        out = TERMINAL.get().stdout
        if out.is_terminal and not given.once and given.out != "ndjson":
            out.write(f"reacting to the events of {journal.place}; Ctrl-C ends this\n")
        work = asyncio.create_task(service.run(once=bool(given.once), since=since))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            await asyncio.wait({work}, timeout=_GRACE)
        if not work.done():
            os._exit(EXIT_OK)  # as after a kill: the next start continues running reactions
        stopping.cancel()
        await work
    return EXIT_FAILED if given.once and service.failed else EXIT_OK


def _since(given: Given) -> float | None:
    from pushsalt.jobs import times

    if given.since is None:
        return None
    try:
        return times.since(given.since)
    except ValueError:
        raise UsageError(f"--since: {given.since!r} is not a time", "for example 2h, 30d, or 2026-11-26") from None


def _wait(given: Given, text: str) -> bool:
    """Report once that another reactor runs, and wait for its end; with ``--once`` return False."""
    if given.once:
        return False
    if "waiting" not in given.values:
        given.values["waiting"] = True
        print_error(f"{text}: waiting for its end")
    time.sleep(_LOOK)
    return True


def _heed_signals(service: Service, stopped: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopped.is_set():
            os._exit(EXIT_OK)
        service.stop()
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)


def _say(given: Given, reaction: Reaction) -> None:
    from pushsalt.display.safe import escape

    out = TERMINAL.get().stdout
    if given.out == "ndjson":
        row = {"tag": reaction.tag, "sls": reaction.sls, "fun": reaction.title, "error": reaction.trouble or None}
        out.write(json.dumps(row) + "\n", utf8=True)
        return
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    how = f"failed: {reaction.trouble}" if reaction.trouble else "done"
    text = f"{when}  {reaction.tag}  {reaction.sls}  {reaction.title}  {how}"
    out.write(escape(text.replace("\n", "\\n")) + "\n")
