"""Runs a job: the event loop, signals, messages, and the output of returns.

After the first SIGINT, SIGTERM or SIGHUP, running states are completed, and no others begin. A second signal stops
them; if no states run, the first does. Then the returns are written, and the exit code is that of the signal. A further
signal ends the process immediately.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.cli import stdio
from pushsalt.cli.client import Watcher, open_client
from pushsalt.cli.options import state_output, state_verbose
from pushsalt.cli.reports import reports
from pushsalt.cli.returns import Document, Hides, Returns
from pushsalt.errors import EXIT_CHANGES, EXIT_INTERRUPTED, EXIT_OK, EXIT_TERMINATED, TargetError, UsageError
from pushsalt.log import DEFAULT_LEVEL
from pushsalt.model import TargetReturn
from pushsalt.programs import end_running, forget_interruption, interrupt

if TYPE_CHECKING:
    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.cli.options import Given
    from pushsalt.cli.progress import Progress, ProgressLog
    from pushsalt.redact import Redactor

log = logging.getLogger(__name__)


#: Seconds after the first signal for stopping targets and receiving their returns.
GRACE = 8.0
EXIT_OF_SIGNAL = {
    signal.SIGINT: EXIT_INTERRUPTED,
    signal.SIGTERM: EXIT_TERMINATED,
    signal.SIGHUP: EXIT_TERMINATED,
}

Stream = Callable[["Client", "Selection", "JobOptions"], AsyncIterator[TargetReturn]]


def run_job(
    given: Given,
    terminal: stdio.Terminal,
    target: str,
    stream: Stream,
    *,
    unmask: bool = False,
    hint: str = "",
    words: Sequence[str] | Callable[[str], Sequence[str]] = (),
    hiding: Callable[[Redactor], Hides] | None = None,
    document: Document | None = None,
) -> int:
    """Run a job and write its returns; returns the exit code. Raises CommandError for an invalid command.

    ``words``: the command and the words after its target, to print a command line that repeats it; or a function that
    returns all words for given ids. ``unmask``: an unmasked value was requested, so secrets are not redacted in the
    output, only in logs. ``hint`` is printed once if something was masked. ``hiding``: a function that converts the
    redactor to one that hides secrets in the output. ``document``: a function that returns the data to write for the
    returns.
    """
    selection = given.selection(target)
    client, watcher, options = opened(given, terminal)
    again = partial(_again, given, words, redact=client.redactor().text) if words else None
    returns = Returns(
        *(client, given, terminal),
        unmask=unmask,
        test=options.test,
        again=again,
        looks=bool(hint),
        document=document,
        hides=hiding(client.redactor()) if hiding else None,
    )
    work = watched(given, terminal, client, watcher, returns, lambda: stream(client, selection, options))
    if returns.masked and hint and given.out != "quiet":
        stdio.print_error("", hint)
    returns.explain(work.results)
    return exit_code(work, given)


def opened(given: Given, terminal: stdio.Terminal) -> tuple[Client, Watcher, JobOptions]:
    """A client that writes the requested reports, and the options of its job. Raises CommandError for invalid ones."""
    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    state_output(given.state_output)
    state_verbose(given.state_verbose)
    observers = reports(given.values)
    watcher = Watcher()
    client, level = open_client(given, terminal, watcher)
    client.words = sys.argv[1:]
    if given.verbose or given.jid_file:
        client.on_begin = partial(say_jid, given)
    client.observers += observers
    return client, watcher, given.job(level)


def watched(
    given: Given,
    terminal: stdio.Terminal,
    client: Client,
    watcher: Watcher,
    returns: Returns,
    make: Callable[[], AsyncIterator[TargetReturn]],
    before: dict[str, TargetReturn] | None = None,
) -> Work:
    """Run the stream of a job to its end or to a signal, show its progress, and write its returns.

    ``before``: earlier returns that are written too; all are in the order of ids.
    """
    started = time.monotonic()
    terminal.stdout.keep_to_itself()
    at_once = returns.at_once
    view = _view(given.out, terminal, client.redactor(), watcher, shared=at_once and terminal.stdout.is_terminal)
    with view:
        write = (lambda result: returns.write({result.id: result})) if at_once else None
        work = Work(client, watcher, on_result=write)
        work.run(make)
    if not at_once:
        order = dict.fromkeys((*(before or ()), *watcher.ids))
        results = {**(before or {}), **work.results}
        returns.write({id: results[id] for id in order if id in results}, time.monotonic() - started)
    return work


def say_jid(given: Given, jid: str) -> None:
    """Report the JID before the first target is contacted: with ``-v`` on stderr, with ``--jid-file`` in a file."""
    if given.verbose:
        stdio.print_error(f"job {jid}")
    if given.jid_file:
        from pushsalt.reports.files import write_whole

        path = Path(given.jid_file)
        try:
            write_whole(path, [f"{jid}\n"])
        except OSError as exc:
            hint = "name a file that can be written"
            raise UsageError(f"--jid-file: {path}: {exc.strerror or exc}", hint=hint) from None


def exit_code(work: Work, given: Given) -> int:
    """The exit code of a job; with ``--detailed-exitcode`` EXIT_CHANGES if something changed and nothing failed."""
    changed = given.detailed_exitcode and any(each.changes for each in work.results.values())
    return work.exit_code or (EXIT_CHANGES if changed else EXIT_OK)


def _again(
    given: Given,
    words: Sequence[str] | Callable[[str], Sequence[str]],
    ids: Sequence[str],
    redact: Callable[[str], str],
) -> str:
    """The command line that repeats the job on these targets; only the target words if it may contain a secret."""
    from pushsalt.targeting.names import key_of

    chosen = ",".join(key_of(id) or id for id in ids)  # a bare id may also be the id of other targets
    command, *rest = words(chosen) if callable(words) else words
    if command == "run" and any(word.startswith("--") for word in rest):
        rest.insert(1, "--")
    target = ["-L"] if callable(words) else ["-L", chosen]  # the function adds the ids itself
    all_words = ["pushsalt", command, *given.flags(), *target, *rest]
    line = shlex.join(all_words)
    pillar = [given.pillar_data or "@", *(word for word in rest if word.startswith("pillar="))]
    is_elsewhere = all(text.startswith("@") and text != "@-" for text in pillar)  # stdin cannot be read again
    if not is_elsewhere or any(redact(text) != text for text in (line, *all_words)):
        return f"the same command with -L {shlex.quote(chosen)}"
    return line


def _view(
    out: str | None, terminal: stdio.Terminal, redactor: Redactor, watcher: Watcher, *, shared: bool
) -> AbstractContextManager[Any]:
    """The live view, or periodic lines without a terminal; none for ``--out quiet``. The watcher passes events to
    it.
    """
    if _view_wanted(out, shared_terminal=shared):
        from pushsalt.cli.progress import Progress

        watcher.view = Progress(terminal.log, redactor)
    elif out != "quiet":
        from pushsalt.cli.progress import ProgressLog

        watcher.view = ProgressLog(terminal.log.write, redactor)
    return watcher.view or nullcontext()


def _view_wanted(out: str | None, *, shared_terminal: bool) -> bool:
    """Whether a live view is shown: stderr is a terminal that no other output uses."""
    return (
        stdio.stderr_is_terminal() and out != "quiet" and not shared_terminal and os.environ.get("TERM", "") != "dumb"
    )


class Work:
    """The stream of a job, read to its end or to a signal. Then every id has a result."""

    def __init__(self, client: Client, watcher: Watcher, on_result: Callable[[TargetReturn], None] | None) -> None:
        self.client = client
        self.watcher = watcher
        self.on_result = on_result
        self.results: dict[str, TargetReturn] = {}
        self.signal: signal.Signals | None = None
        self._at_once = False
        self._again: asyncio.Future[None]

    @property
    def exit_code(self) -> int:
        """The exit code of the contract: the highest of the returns; after a signal, that of the signal."""
        if self.signal:
            return EXIT_OF_SIGNAL[self.signal]
        return max((result.exit_code for result in self.results.values()), default=0)

    def run(self, make: Callable[[], AsyncIterator[TargetReturn]]) -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._supervised(make))
        finally:
            if self.signal is None:
                _close(loop)
            else:
                end_running()
        if self.signal is not None:
            self._fill_in()

    async def _supervised(self, make: Callable[[], AsyncIterator[TargetReturn]]) -> None:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        self._again = loop.create_future()
        for number in EXIT_OF_SIGNAL:
            if signal.getsignal(number) is not signal.SIG_IGN:  # with nohup, or as a background job of a script
                loop.add_signal_handler(number, self._on_signal, number, stopped)
                signal.signal(number, self._while_loop_waits)  # the loop handles the signal nevertheless
        task = loop.create_task(self._read(make()))
        stop = loop.create_task(stopped.wait())
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        while not task.done() and not self._at_once:
            await asyncio.wait({task, self._again}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
            if not self.client.is_ending:
                break
        if not task.done() and self._at_once:
            await asyncio.wait({task}, timeout=GRACE)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)
        if task.done() and not task.cancelled() and (trouble := task.exception()):
            if self.signal is None:
                raise trouble
            log.debug("after the signal", exc_info=trouble)

    async def _read(self, stream: AsyncIterator[TargetReturn]) -> None:
        async for result in stream:
            self._take(result)

    def _take(self, result: TargetReturn) -> None:
        self.results[result.id] = result
        for text in result.warnings:
            self.watcher.warning(result.id, text)
        if self.on_result:
            self.on_result(result)

    def _on_signal(self, number: signal.Signals, stopped: asyncio.Event) -> None:
        forget_interruption()
        if self.signal is None:
            self.signal = number
            self.client.stop(EXIT_OF_SIGNAL[number], gently=True)
            stopped.set()
            asyncio.get_running_loop().call_later(0.1, self._say_stopping)  # the running states are not known earlier
        elif self.client.is_ending:
            self._at_once = True
            self.client.stop(EXIT_OF_SIGNAL[number])
            if not self._again.done():
                self._again.set_result(None)
        else:
            leave(EXIT_OF_SIGNAL[number], self.watcher.view)

    def _while_loop_waits(self, number: int, frame: object) -> None:
        """Signal handler: exit immediately if an inventory program blocks the event loop. No target has been contacted
        yet.
        """

        def leave_now() -> None:
            self.signal = signal.Signals(number)
            stdio.print_error(f"stopped by {self.signal.name} while a program of the inventory ran")
            raise SystemExit(EXIT_OF_SIGNAL[self.signal])

        interrupt(leave_now)

    def _say_stopping(self) -> None:
        if self.watcher.view:
            self.watcher.view.stopping(ends=self.client.is_ending)

    def _fill_in(self) -> None:
        """Add returns for targets without an answer after a signal: their outcome is unknown."""
        for id in self.watcher.ids:
            if id not in self.results:
                name = self.signal.name if self.signal else "a signal"
                error = TargetError(
                    "interrupted",
                    f"{id}: stopped by {name}; it is unknown what was done there",
                    f"run it again, or check the target: pushsalt apply --test {id}",
                )
                self._take(TargetReturn(id, error.as_return(), "error", error.exit_code))


def _close(loop: asyncio.AbstractEventLoop) -> None:
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


def leave(code: int, view: Progress | ProgressLog | None = None) -> None:
    """End the process immediately, after restoring the terminal."""
    if view:
        view.abandon()
    end_running()
    os._exit(code)
