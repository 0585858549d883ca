"""Runs a job: the event loop, signals, messages, and the output of returns.

The first SIGINT, SIGTERM or SIGHUP stops the work: returns so far are written, and the exit code tells the signal. A
second one ends the process at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pushsalt import outputters
from pushsalt.cli import stdio
from pushsalt.cli.client import Watcher, open_client
from pushsalt.cli.options import state_output
from pushsalt.cli.ownvalues import own_values
from pushsalt.errors import EXIT_INTERRUPTED, EXIT_TERMINATED, TargetError
from pushsalt.log import DEFAULT_LEVEL
from pushsalt.model import TargetReturn

if TYPE_CHECKING:
    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.cli.options import Given
    from pushsalt.cli.progress import Progress, ProgressLog

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
) -> int:
    """Runs a job and writes its returns; returns the exit code. Raises CommandError for an invalid command.

    ``words``: the command and the words after its target, to print a command line that repeats it; or a function that
    returns all words for given ids. ``unmask``: an unmasked value was requested, so secrets are not redacted in the
    output (but in logs). ``hint`` is printed once if something was masked.
    """
    selection = given.selection(target)
    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    mode = state_output(given.state_output)
    watcher = Watcher()
    client, level = open_client(given, terminal, watcher)
    options = given.job(level)
    outputter = _outputter(given.out, client)
    redactor = client.redactor()
    masked = False

    def write(results: dict[str, TargetReturn], elapsed: float) -> None:
        from pushsalt.redact import has_mask

        nonlocal masked
        data = {id: result.ret if unmask else redactor.data(result.ret) for id, result in results.items()}
        masked = masked or (bool(hint) and has_mask(data))
        pieces = outputters.pieces(
            outputter,
            data,
            returns=results,
            color=terminal.color,
            terminal=terminal.stdout.is_terminal,
            verbose=options.verbose,
            elapsed=elapsed,
            test=options.test,
            opts={**client.project.config.opts, **({"state_output": mode} if mode else {})},
            state_output=mode or _configured_mode(client),
            full_diff=bool(given.full_diff),
            again=(lambda ids: _again(given, words, ids, redactor.text)) if words else None,
            own=lambda id: own_values(client.project, id),
        )
        for piece in pieces:
            terminal.stdout.write(piece, utf8=given.out not in (None, "rich"))

    started = time.monotonic()
    at_once = outputters.streams(outputter)
    view: AbstractContextManager[Any] = nullcontext()
    if _view_wanted(given.out, shared_terminal=at_once and terminal.stdout.is_terminal):
        from pushsalt.cli.progress import Progress

        view = watcher.view = Progress(terminal.log, redactor)
    elif given.out != "quiet":
        from pushsalt.cli.progress import ProgressLog

        view = watcher.view = ProgressLog(terminal.log.write, redactor)
    with view:
        work = _Work(client, watcher, on_result=(lambda result: write({result.id: result}, 0.0)) if at_once else None)
        work.run(lambda: stream(client, selection, options))
    results = work.results
    if not at_once:
        write({id: results[id] for id in watcher.ids if id in results}, time.monotonic() - started)
    if masked and given.out != "quiet":
        stdio.print_error("", hint)
    if given.out == "quiet":
        _say_failures(results, redactor.text)
    elif given.out not in (None, "rich"):
        _explain(results)
    code = max((result.exit_code for result in results.values()), default=0)
    return EXIT_OF_SIGNAL[work.signal] if work.signal else code


def _again(
    given: Given,
    words: Sequence[str] | Callable[[str], Sequence[str]],
    ids: Sequence[str],
    redact: Callable[[str], str],
) -> str:
    """The command line that repeats the job on these targets; only the target words if it may contain a secret."""
    from pushsalt.targeting.names import key_of

    chosen = ",".join(key_of(id) or id for id in ids)  # a bare id may be that of others, too
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


def _configured_mode(client: Client) -> str:
    """``state_output`` of the configuration, if it is there: its default is not that of the usual outputter."""
    config = client.project.config
    return str(config.opts["state_output"]) if "state_output" in config.given else ""


def _view_wanted(out: str | None, *, shared_terminal: bool) -> bool:
    """Whether a live view is shown: stderr is a terminal, and nothing else writes to it."""
    return (
        stdio.stderr_is_terminal() and out != "quiet" and not shared_terminal and os.environ.get("TERM", "") != "dumb"
    )


def _outputter(name: str | None, client: Client) -> outputters.Outputter:
    if name is None or name in outputters.CHOICES:
        return outputters.load(name or outputters.CHOICES[0])
    from pushsalt.plugins import folders

    return outputters.load(name, folders("outputters", client.project.config.opts))


class _Work:
    """The stream of a job, read to its end or to a signal. Every id has a result then."""

    def __init__(self, client: Client, watcher: Watcher, on_result: Callable[[TargetReturn], None] | None) -> None:
        self.client = client
        self.watcher = watcher
        self.on_result = on_result
        self.results: dict[str, TargetReturn] = {}
        self.signal: signal.Signals | None = None

    def run(self, make: Callable[[], AsyncIterator[TargetReturn]]) -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._supervised(make))
        finally:
            if self.signal is None:
                _close(loop)
        if self.signal is not None:
            self._fill_in()

    async def _supervised(self, make: Callable[[], AsyncIterator[TargetReturn]]) -> None:
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for number in EXIT_OF_SIGNAL:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job of a script in the background
                loop.add_signal_handler(number, self._on_signal, number, stopped)
        task = loop.create_task(self._read(make()))
        stop = loop.create_task(stopped.wait())
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not task.done():
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
        if self.signal is not None:
            leave(EXIT_OF_SIGNAL[number], self.watcher.view)
        self.signal = number
        if self.watcher.view:
            self.watcher.view.stopping()
        self.client.stop()
        stopped.set()

    def _fill_in(self) -> None:
        """Targets that never came back after a signal: their outcome is unknown, and that is their return."""
        for id in self.watcher.ids:
            if id not in self.results:
                name = self.signal.name if self.signal else "a signal"
                error = TargetError(
                    "interrupted",
                    f"{id}: stopped by {name}; what was done there is unknown",
                    f"run it again, or look at the target: pushsalt apply --test {id}",
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
    """Ends the process now, the terminal in order."""
    if view:
        view.abandon()
    os._exit(code)


def _explain(results: dict[str, TargetReturn]) -> None:
    """Write places and hints of errors, which formats for programs leave out. Equal errors of targets share a line."""
    said: dict[str, list[str]] = {}
    for result in results.values():
        for text in result.ret if result.shape == "errors" else ():
            explanation = getattr(text, "explanation", text)
            if explanation != text:
                said.setdefault(explanation, []).append(result.id)
    for explanation, ids in said.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        log.error("%s%s: %s", ", ".join(ids[:3]), more, explanation)


def _say_failures(results: dict[str, TargetReturn], redact: Callable[[str], str]) -> None:
    """If stdout gets no output, write the failures to stderr, one line per target."""
    from pushsalt.cli.progress import failure_text

    for result in results.values():
        if result.exit_code:
            stdio.print_error(redact(f"{result.id}: {failure_text(result)}"))
