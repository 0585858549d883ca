"""The live view on a terminal: the number of completed targets, the running state of each other target, and failures.

It is drawn on stderr, below the log lines, and removed before the output. It only appears if a job takes longer than a
moment; until then, the drawing library is not loaded.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from pushsalt.cli.sitelines import Sites
from pushsalt.cli.stdio import color_wanted
from pushsalt.display import forecast
from pushsalt.display import states as highstate
from pushsalt.display.durations import seconds
from pushsalt.display.safe import escape, one_line
from pushsalt.display.style import STYLES, Line, Span, line
from pushsalt.events import BatchDone, Reporter
from pushsalt.model import TargetReturn

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from pushsalt.log import Handler
    from pushsalt.redact import Redactor

DELAY = 0.4
FRAMES_PER_SECOND = 8
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_SPINNER = "|/-\\"
#: Number of failures that are stored, and the minimum of lines for them; they may use a third of all lines.
FAILURES_KEPT, FAILURES_SHOWN = 50, 4
#: Seconds between lines without a terminal, and the number of running targets that a line names.
EVERY = 30.0
NAMED = 5
#: SGR parameters -> rich's names of styles
_RICH_STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan", "1;31": "bold red"}


@dataclass
class Working:
    """A target on which work is in progress."""

    phase: str = "connect"
    total: int = 0
    done: int = 0
    now: str = ""

    def words(self) -> str:
        if self.phase != "run" or not self.now:
            return self.phase
        return f"{min(self.done + 1, self.total)}/{self.total}  {self.now}" if self.total else self.now


class Board(Reporter):
    """The content of the view as lines, independent of a terminal."""

    def __init__(self) -> None:
        self.title = ""
        self.total = 0
        self.working: dict[str, Working] = {}
        self.remotes: dict[str, str] = {}
        self.sites = Sites()
        self.finished = self.failed = 0
        #: outcome of states -> the number of targets with such a state
        self.outcomes: Counter[str] = Counter()
        self.failures: deque[tuple[str, str]] = deque(maxlen=FAILURES_KEPT)
        self.batch = 0
        #: number of the batch and of all batches, in a rollout that completes each batch before the next
        self.numbers = (0, 0)
        #: begin of the next batch, by the monotonic clock
        self.waits_until = 0.0
        self.stopped = ""

    def run_started(self, ids: list[str], title: str) -> None:
        self.title, self.total = title, len(ids)

    def run_batched(self, size: int) -> None:
        self.batch = size

    def run_sited(self, sites: Mapping[str, str]) -> None:
        self.sites.begin(sites)

    def sites_manned(self, workers: Mapping[str, int]) -> None:
        self.sites.workers = dict(workers)

    def batch_started(self, number: int, batches: int, ids: list[str]) -> None:
        self.numbers, self.waits_until = (number, batches), 0.0

    def batch_waits(self, seconds: float) -> None:
        self.waits_until = time.monotonic() + seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A context in which another program uses the terminal."""
        yield

    def remote_progress(self, name: str, words: str) -> None:
        if words:
            self.remotes[name] = words
        else:
            self.remotes.pop(name, None)

    def target_phase(self, id: str, phase: str) -> None:
        if phase == "done":
            self.working.pop(id, None)
        elif phase != "waiting":
            self.working.setdefault(id, Working()).phase = phase

    def target_chunks(self, id: str, total: int) -> None:
        self.working.setdefault(id, Working()).total = total

    def chunk_started(self, id: str, tag: str) -> None:
        target = self.working.setdefault(id, Working())
        module, _, rest = tag.partition("_|-")
        rest, _, function = rest.rpartition("_|-")
        target.phase, target.now = "run", f"{module}.{function} {rest.partition('_|-')[2]}"

    def chunk_done(self, id: str, tag: str, ret: dict[str, Any]) -> None:
        self.working.setdefault(id, Working()).done += 1
        if highstate.outcome_of(ret) == "failed":
            self.failures += [(id, _state_failure(item)) for item in highstate.parse({tag: ret})]

    def target_done(self, result: TargetReturn) -> None:
        self.working.pop(result.id, None)
        self.sites.done(result.id)
        self.finished += 1
        self.outcomes.update(highstate.outcomes(result))
        if result.exit_code and result.error_kind != "not_begun":
            self.failed += 1
            if result.check:
                self.failures.append((result.id, result.check))
            elif result.shape not in ("states", "plan"):  # failures were shown when they happened
                self.failures.append((result.id, failure_text(result)))

    def lines(self, elapsed: float, height: int, spinner: str = SPINNER) -> list[Line]:
        """At most ``height`` lines."""
        busy = spinner[int(elapsed * FRAMES_PER_SECOND) % len(spinner)]
        spans = [Span(f"{busy} ", "key"), Span(self.title or "starting", "title")]
        if self.total:
            spans.append(Span(f"  {self.finished}/{self.total} {'target' if self.total == 1 else 'targets'} done"))
        if self.numbers[1] > 1:
            spans.append(Span(f"  batch {self.numbers[0]} of {self.numbers[1]}"))
            left = self.waits_until - time.monotonic()
            if left > 0:
                spans.append(Span(f", the next one in {seconds(ceil(left))}"))
        elif self.batch and self.total > self.batch:
            batches = -(-self.total // self.batch)
            spans.append(Span(f"  batch {min(self.finished // self.batch + 1, batches)} of {batches}"))
        changed = [(self.outcomes[one], *highstate.OUTCOMES[one]) for one in ("changed", "pending")]
        for number, word, style in ((self.failed, "failed", "bad"), *changed):  # the start is read in a narrow terminal
            if number:
                spans += [Span("  "), Span(f"{number} {word}", style)]
        spans.append(Span(f"  {seconds(round(elapsed))}", "dim"))
        rows: list[Line] = [tuple(spans), *self.sites.lines(height // 4)]
        most = min(height - 2 - len(rows), max(FAILURES_SHOWN, height // 3))
        failures = list(self.failures)[-most:] if most > 0 else []
        rows += [line((id, "bad_title"), "  ", (text, "bad"), indent=2) for id, text in failures]
        room = height - len(rows)
        remotes = list(self.remotes.items())[: max(0, room - 1)]
        rows += [line(f"{escape(name)}  ", (words, "dim"), indent=2) for name, words in remotes]
        room -= len(remotes)
        working = list(self.working.items())
        shown = working if len(working) <= room else working[: max(0, room - 1)]
        width = max((len(escape(id)) for id, _ in shown), default=0)
        rows += [line(f"{escape(id):<{width}}  ", (target.words(), "dim"), indent=2) for id, target in shown]
        if len(shown) < len(working):
            rows.append(line((f"and {len(working) - len(shown)} more", "dim"), indent=2))
        if self.stopped:
            rows[0] = (*rows[0], Span(f"  {self.stopped} ... (repeat to stop immediately)", "changed"))
        return rows

    def in_a_line(self, elapsed: float) -> str:
        """The content as one line of text."""
        first, *_ = self.lines(elapsed, 1, spinner=" ")
        head = "".join(span.text for span in first).strip()
        working = [f"{id} ({target.words()})" for id, target in list(self.working.items())[:NAMED]]
        more = len(self.working) - len(working)
        at_work = f"; running: {', '.join(working)}" + (f" and {more} more" if more else "") if working else ""
        return head + self.sites.in_a_line() + at_work


class ProgressLog(Board):
    """Writes a line every half minute, if stderr is not a terminal. A context manager; ``write`` takes a line."""

    def __init__(self, write: Callable[[str], None], redactor: Redactor) -> None:
        super().__init__()
        self._write, self._redactor = write, redactor
        self._started = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)

    def __enter__(self) -> ProgressLog:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def stopping(self, ends: bool = False) -> None:
        """Report that the work is being stopped; ``ends``: running states are completed first."""
        self.stopped = "stopping after the running states" if ends else "stopping"

    def abandon(self) -> None:
        """Do nothing: there is no terminal to restore."""

    def _tell(self) -> None:
        while not self._over.wait(EVERY):
            text = self._redactor.text(self.in_a_line(time.monotonic() - self._started))
            self._write(f"pushsalt: {one_line(text)}\n")


class Progress(Board):
    """Draws the board on the terminal that is stderr. A context manager; ``abandon`` leaves it without waiting."""

    def __init__(self, handler: Handler, redactor: Redactor) -> None:
        super().__init__()
        self._handler, self._redactor = handler, redactor
        self._started = time.monotonic()
        self._live: Live | None = None
        self._lock = threading.Lock()
        self._over = False
        self._timer = self._delayed()
        self._write = handler.write

    def __enter__(self) -> Progress:
        self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._hide()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self._hide()
        try:
            yield
        finally:
            with self._lock:
                self._over = False
                self._timer = self._delayed()
            self._timer.start()

    def _delayed(self) -> threading.Timer:
        timer = threading.Timer(DELAY, self._begin)
        timer.daemon = True
        return timer

    def _hide(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            self._handler.write = self._write
            live, self._live = self._live, None
        if live:
            live.stop()

    def stopping(self, ends: bool = False) -> None:
        """Report that the work is being stopped; ``ends``: running states are completed first."""
        self.stopped = "stopping after the running states" if ends else "stopping"

    def abandon(self) -> None:
        """Restore the cursor, without waiting for threads."""
        if self._live and sys.stderr:
            sys.stderr.write("\x1b[?25h\n")
            sys.stderr.flush()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        plain = not color_wanted(True)
        console = Console(
            file=sys.stderr, markup=False, highlight=False, emoji=False, soft_wrap=True, no_color=plain or None
        )
        with self._lock:
            if self._over:
                return
            spinner = SPINNER if (console.encoding or "").lower().startswith("utf") else ASCII_SPINNER

            def view() -> Text:
                rows = self.lines(time.monotonic() - self._started, max(3, console.height - 2), spinner)
                return self._text(rows)

            self._live = Live(
                console=console,
                get_renderable=view,
                refresh_per_second=FRAMES_PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._handler.write = lambda text: console.out(text, end="", highlight=False)
            self._live.start()

    def _text(self, rows: list[Line]) -> Text:
        from rich.text import Text

        text = Text(no_wrap=True, overflow="ellipsis", end="")
        for number, spans in enumerate(rows):
            text.append("\n" if number else "")
            for span in spans:
                shown = escape(self._redactor.text(span.text)).replace("\n", " ").replace("\t", " ")
                text.append(shown, _RICH_STYLES.get(STYLES[span.style]))
        return text


#: Number of ids of the next batch that a question names.
_NEXT = 8


def question(done: BatchDone) -> str:
    """The question between batches, with the progress so far."""
    counts = [f"{done.done} of {done.targets} targets are done"]
    counts += [f"{number} {word}" for number, word in ((done.changed, "changed"), (done.failed, "failed")) if number]
    counts += [f"{done.unanswered} gave no answer"] if done.unanswered else []
    more = f" and {len(done.next_ids) - _NEXT} more" if len(done.next_ids) > _NEXT else ""
    names = ", ".join(escape(id) for id in done.next_ids[:_NEXT]) + more
    lines = (
        f"batch {done.number} of {done.batches}: {', '.join(counts)}",
        f"next: {names}",
        "continue? [y/N] ",
    )
    return "\n".join(lines)


def failure_text(result: TargetReturn) -> str:
    """The reason for the failure of a target, in one line."""
    ret = result.ret
    if result.check:
        return _first_line(f"batch check: {result.check}")
    if result.shape == "states" and isinstance(ret, dict):
        failures = {tag: state for tag, state in ret.items() if highstate.outcome_of(state) == "failed"}
        failed = highstate.parse(failures)
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return _state_failure(failed[0]) + more if failed else "failed"
    if result.shape == "plan" and isinstance(ret, dict):
        failing = [state for state in ret.get("states") or () if forecast.fails(state)]
        return _first_line(f"{len(failing)} states would fail, the first: {failing[0]['comment']}") if failing else ""
    if result.shape == "errors" and isinstance(ret, list) and ret:
        return _first_line(str(ret[0]))
    if result.shape == "error" and isinstance(ret, dict) and isinstance(ret.get("error"), dict):
        error = ret["error"]
        return _first_line(f"{error.get('kind')}: {error.get('message')}")
    return "failed"


def _state_failure(item: highstate.StateResult) -> str:
    return _first_line(f"{item.function} {item.name}: {item.comment}")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
