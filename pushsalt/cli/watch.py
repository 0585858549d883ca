"""``pushsalt watch``: dry runs at intervals, and the schedule of the configuration, in the foreground."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import DELIMITER, GLOBAL, MATCHERS, SERVICE, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import EXIT_INTERRUPTED, EXIT_OK, CommandError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pushsalt.watch.metrics import Metrics
    from pushsalt.watch.schedule import Entry
    from pushsalt.watch.service import Interval, Service

log = logging.getLogger(__name__)
app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt watch 'web*' --every 10m                 the highstate; events pushsalt/drift/ID
pushsalt watch '*' ssh.hardening --every 1h --apply
pushsalt watch '*' --every 10m --metrics :9650    for Prometheus
pushsalt watch                                    only the schedule of the configuration
"""
SHOWN = (
    Opt("every", ("--every",), "Time from the start of a round to that of the next: 90s, 10m, 1h.", metavar="TIME"),
    Opt("jitter", ("--jitter",), "Delay each round by a random time, up to a tenth of --every.", "flag"),
    Opt("apply", ("--apply",), "Apply the states to targets that have drifted.", "flag"),
    Opt("once", ("--once",), "Run one round, then end.", "flag"),
    Opt(
        "metrics",
        ("--metrics",),
        "Write metrics for Prometheus: HOST:PORT (:9650 is only for this machine), or a file.",
        metavar="ADDRESS",
    ),
    Opt("unit", ("--unit",), "Print a unit file for systemd that runs this command.", "flag"),
)
#: Seconds after the first signal for jobs to end.
_GRACE: Final = 20.0


@app.command(cls=Command, epilog=EXAMPLES)
@takes(SHOWN, MATCHERS, DELIMITER, tuple(opt for opt in STATES if opt.name != "test"), SERVICE, GLOBAL)
def watch(
    given: Given,
    target: Annotated[str, typer.Argument(metavar="[TARGET]", help="Targets to watch; none: only the schedule.")] = "",
    sls: Annotated[
        list[str] | None, typer.Argument(metavar="[SLS ...]", help="SLS files; none: the highstate.")
    ] = None,
) -> int:
    """Detect drift by dry runs at intervals, and run the jobs of the configured schedule."""
    from pushsalt.cli.slsnames import sls_names

    interval = _interval(given, target)
    names = sls_names(sls or [])
    if given.unit:
        from pushsalt.cli.unitfile import unit_file

        TERMINAL.get().stdout.write(unit_file("watch", given, *_flags(given, target, names)))
        return EXIT_OK
    return asyncio.run(_watch(given, target, names, interval))


def _flags(given: Given, target: str, names: list[str]) -> list[str]:
    words = [*given.matcher_flags(), target, *names] if target else []
    for opt in SHOWN:
        value = given.values.get(opt.name)
        if opt.name not in ("once", "unit") and value:
            words += [opt.flags[0]] if opt.kind == "flag" else [opt.flags[0], str(value)]
    return words


def _interval(given: Given, target: str) -> Interval:
    from pushsalt.jobs import times
    from pushsalt.watch.service import Interval

    if not target:
        if given.every or given.apply or given.once:
            raise UsageError("watch has no target", "name one, for example '*', or omit --every, --apply, --once")
        return Interval(0.0)
    if given.every is None:
        if given.once:
            return Interval(0.0)
        raise UsageError("watch needs --every", "for example --every 10m, or --once")
    try:
        seconds = times.seconds(given.every)
    except ValueError:
        seconds = 0.0
    if seconds < 1:
        raise UsageError(f"--every: {given.every!r} is not a time of at least one second", "for example 90s, 10m, 1h")
    return Interval(seconds, bool(given.jitter))


async def _watch(given: Given, target: str, names: list[str], interval: Interval) -> int:
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.log import DEFAULT_LEVEL
    from pushsalt.watch import metrics
    from pushsalt.watch.beacons import Beacons, Evaluation
    from pushsalt.watch.clients import Clients
    from pushsalt.watch.rounds import Rounds, Watch
    from pushsalt.watch.service import Service
    from pushsalt.workers.jobevents import open_journal

    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    selection = given.selection(target)
    client, level = open_client(given, TERMINAL.get(), Watcher())
    options = given.job(level)
    journal = open_journal(client.project)
    clients, figures = Clients(client, options), metrics.Metrics()
    rounds = beacons = None
    if target:
        client.target(selection)  # a wrong expression ends the command
        watched = Watch(selection, names, options, bool(given.apply))
        rounds = Rounds(clients, journal, watched, figures, _say)
        beacons = Beacons(clients, journal, Evaluation(lambda: client.target(selection), _say))
    with ExitStack() as stack:
        schedule = [] if given.once else _schedule(client.project.config.opts, journal.path, stack, alone=not target)
        for entry in schedule:
            client.redactor().add_pillar(entry.kwargs)
        at, written = _metrics(given, figures)
        service = Service(
            clients,
            figures,
            _say,
            rounds=rounds,
            beacons=None if given.once else beacons,
            interval=interval,
            schedule=schedule,
            written=written,
        )
        if TERMINAL.get().stdout.is_terminal and not given.once:
            _say(f"watching {target}; Ctrl-C ends this" if target else "running the schedule; Ctrl-C ends this")
        server = await metrics.serve(*at, figures.text) if at is not None else None
        try:
            await _until_end(service, once=bool(given.once))
        finally:
            if server is not None:
                server.close()
            journal.close()
    return rounds.exit_code if rounds is not None and given.once else EXIT_OK


def _schedule(opts: dict[str, object], journal: Path, stack: ExitStack, *, alone: bool) -> list[Entry]:
    """The jobs of the schedule, if no other process runs them."""
    from pushsalt.reactor.lock import only_one
    from pushsalt.watch.schedule import entries

    schedule, warnings = entries(opts)
    for text in warnings:
        log.warning("%s", text)
    if not schedule:
        if alone:
            raise CommandError("the configuration has no `schedule`", "name a target to watch, or see docs/watch.md")
        return []
    try:
        stack.enter_context(only_one(journal, lambda text: False, "schedule"))
    except CommandError as exc:
        if alone:
            raise
        log.warning("%s: the schedule is not run by this process", exc.message)
        return []
    return schedule


def _metrics(given: Given, figures: Metrics) -> tuple[tuple[str, int] | None, Callable[[], None]]:
    """The address to listen at, or None; and a function that writes the file of metrics."""
    from pushsalt.watch import metrics

    if not given.metrics:
        return None, lambda: None
    at = metrics.address(given.metrics)
    if at is not None:
        return at, lambda: None
    path = Path(given.metrics)
    if ":" in path.name or not path.parent.is_dir():
        raise UsageError(
            f"--metrics: {given.metrics!r} is neither an address nor a file", "for example :9650, or watch.prom"
        )

    def write() -> None:
        try:
            metrics.write(path, figures.text())
        except OSError as exc:
            log.error("--metrics: %s: %s", path, exc.strerror or exc)

    return None, write


async def _until_end(service: Service, *, once: bool) -> None:
    """Run the service until it ends or a signal stops it; a second signal ends it immediately."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    work = asyncio.ensure_future(service.run(once=once))

    def stop() -> None:
        if stopped.is_set():
            work.cancel()
        stopped.set()
        service.stop(EXIT_INTERRUPTED)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not work.done():
        await asyncio.wait({work}, timeout=_GRACE)
        work.cancel()
    try:
        await work
    except asyncio.CancelledError:
        log.warning("running jobs were ended")


def _say(text: str) -> None:
    from pushsalt.display.safe import escape

    when = time.strftime("%Y-%m-%d %H:%M:%S")
    TERMINAL.get().stdout.write(escape(f"{when}  {text}".replace("\n", "\\n")) + "\n")
