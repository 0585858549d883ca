"""``pushsalt demo``: demonstrates pushsalt on temporary targets of this machine, which are removed afterwards."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import positive
from pushsalt.cli.options import Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.demo.tour import IDS, SITE, Scene, StoppedError, Tour
from pushsalt.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt demo                a tour of a few seconds, on SSH servers made for it
pushsalt demo --keep         the same, then the targets are yours until Ctrl-C
pushsalt demo --machines     on booted Debian machines; needs root
pushsalt demo --workers 3    a NATS server, workers and thirty targets; one worker is killed in mid-run
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes()
def demo(
    given: Given,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the targets until Ctrl-C.")] = False,
    machines: Annotated[
        bool, typer.Option("--machines", help="Boot Debian machines instead of starting SSH servers.")
    ] = False,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N", help="Start N workers on NATS and thirty targets.")
    ] = None,
) -> int:
    """Start the targets web1, web2 and db1, apply a formula to web*, and remove the targets."""
    count = positive("--workers", workers)
    if count == 1:
        raise UsageError("--workers must be at least 2, since one of them is killed", hint="pushsalt demo --workers 3")
    if count is not None and (keep or machines):
        raise UsageError("--workers cannot be used together with --keep or --machines", hint="pushsalt demo --help")
    if machines:
        from pushsalt.demo.on_machines import start
    else:
        from pushsalt.demo.on_servers import start
    terminal = TERMINAL.get()
    with _signals(), ExitStack() as stack:
        try:
            folder = Path(tempfile.mkdtemp(prefix="pushsalt-demo-")).resolve()
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            tour = Tour(folder / "site", terminal.stdout.write, terminal.color)
            if count is not None:
                from pushsalt.demo import on_workers

                scene = Scene("", "")
                on_workers.run(folder, tour, stack, count)
            else:
                scene = start(folder, tour, stack)
                _walk(tour, scene)
            if keep and not tour.failed:
                _hold(tour)
        except StoppedError as exc:
            terminal.stdout.write(f"\nStopped by {exc}. Removing the targets and all their files.\n")
            return EXIT_INTERRUPTED if exc.number == signal.SIGINT else EXIT_TERMINATED
    if tour.failed:
        tour.say(f"\nFailed: {tour.failed[0]}", "1;31")
        return EXIT_FAILED
    _farewell(tour, scene)
    return 0


def _walk(tour: Tour, scene: Scene) -> None:
    tour.say(f"{', '.join(IDS)} are running: {scene.words}.\nTheir project is {tour.project}")
    tour.show("Which targets are there? inventory.yaml lists them.", "target", "*")
    tour.show("Do they answer, and which systems are they?", "run", "*", "grains.get", "osfinger")
    tour.show("What would the apache formula change? A dry run changes nothing.", "apply", "web*", "apache", "--test")
    tour.show("Apply it.", "apply", "web*", "apache")
    look = f"cat {scene.apache}/sites-enabled/{SITE}.conf"
    tour.show("A file that it wrote on the target, from a template and pillar.", "run", "web1", "cmd.run", look)
    if scene.check:
        scene.check()
    tour.show("Apply it again: no state has changes.", "apply", "web*", "apache")
    drift = f"echo Listen 9090 > {scene.apache}/ports.conf"
    tour.show("Somebody changes a file by hand ...", "run", "web1", "cmd.run", drift)
    tour.show("... and apply shows the difference, and corrects it.", "apply", "web*", "apache")


def _path() -> list[str]:
    """The PATH setting that a shell needs to find `pushsalt`, if any."""
    own = Path(sys.executable).with_name("pushsalt")
    return [] if shutil.which("pushsalt") or not own.exists() else [f"PATH={shlex.quote(str(own.parent))}:$PATH"]


def _hold(tour: Tour) -> None:
    """Wait for a signal, after a text about the targets."""
    tour.say("\nThe targets run until Ctrl-C. Try in another terminal:\n", "1")
    commands = ("pushsalt apply 'web*'", "pushsalt run '*' cmd.run uptime")
    for line in (*_path(), f"cd {shlex.quote(str(tour.project))}", *commands):
        tour.say(f"  {line}")
    tour.say("\nChange files in salt/ or pillar/ there, and apply again.")
    while True:
        signal.pause()


def _farewell(tour: Tour, scene: Scene) -> None:
    tour.say("\nThe targets and all their files have been removed.", "1")
    tour.say(scene.stays + "\n" * bool(scene.stays) + "Next:\n")
    for line in _path():
        tour.say(f"  {line}")
    for command, why in (
        ("pushsalt demo --keep", "keeps the targets running, for your own commands"),
        ("pushsalt init site", "creates a project folder for your own machines"),
        ("pushsalt --help", "all commands"),
    ):
        tour.say(f"  {command:<22}{why}")


@contextmanager
def _signals() -> Iterator[None]:
    """A context in which the first signal to end raises StoppedError. Further signals wait until everything is
    removed.
    """
    stopped = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            raise StoppedError(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
