"""A job on its targets in batches: how many run at a time, when the next ones begin, which failures stop the rollout.

``settle`` makes a ``Course`` from options and configuration; ``Rollout.returns`` follows it. Salt: ``salt.cli.batch``.

With a single batch size, the next target begins whenever one is done (as in Salt). With several batch sizes, a batch
check or a confirmation, the next batch begins when the previous one is done.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from pushsalt.cliargs import parse_args
from pushsalt.errors import EXIT_FAILED, EXIT_NO_ANSWER, UsageError
from pushsalt.events import BatchDone, Reporter
from pushsalt.job import JobOptions, RolloutOptions
from pushsalt.model import TargetReturn
from pushsalt.run.fanout import RunOne, Tell, failure, fan_out, not_begun
from pushsalt.run.pace import Size, Values, Window, batches, parse_steps
from pushsalt.run.stopping import Stopping

log = logging.getLogger(__name__)

#: Seconds within which a target must pass the batch check.
CHECK_TIMEOUT: Final = 30.0
#: Salt's ``batch_safe_size``
SAFE_SIZE: Final = "8%"
#: Error kinds of targets that were not reached, so that nothing was run there.
UNREACHABLE: Final = frozenset(
    {
        "dns_failure",
        "connection_refused",
        "unreachable",
        "connect_timeout",
        "jump_failed",
        "resource_unreachable",
        "offline",
    }
)
_MAX_FAIL_HINT: Final = "for example --max-fail 1 (at the first) or --max-fail 10%"


class Check(Protocol):
    """Calls a function on targets to check them (``pushsalt.run.batchcheck``)."""

    async def failures(self, ids: Sequence[str]) -> Mapping[str, str]:
        """id -> reason, for the targets that did not pass."""


@dataclass(frozen=True)
class Call:
    """A function with its arguments."""

    fun: str
    args: list[Any]
    kwargs: dict[str, Any]
    text: str


@dataclass
class Course:
    """The course of a rollout. ``batches`` is one list of all ids unless something happens between batches."""

    batches: list[list[str]]
    width: int
    #: values that no two running targets may share
    values: Values | None = None
    #: the batch size; None without batches
    size: int | None = None
    wait: float = 0.0
    #: number of failures that stops the rollout (None: no limit), and the text of the limit
    most: int | None = None
    limit: str = ""
    ignore_unreachable: bool = False
    check: Call | None = None
    check_timeout: float = CHECK_TIMEOUT
    confirm: bool = False

    @property
    def has_ends(self) -> bool:
        """Whether batches are done before the next one begins."""
        return len(self.batches) > 1 or self.check is not None

    @property
    def total(self) -> int:
        return sum(map(len, self.batches))


def check_options(options: RolloutOptions) -> None:
    """Raises UsageError for options that are invalid whatever the targets are."""
    for text, flag in ((options.batch, ""), (options.batch_safe_size, "--batch-safe-size")):
        if text is not None:
            parse_steps(text) if not flag else Size(text, flag, "for example --batch-safe-size 8%")
    if options.max_fail is not None:
        if options.fail_fast:
            raise UsageError("--fail-fast and --max-fail contradict each other", "--fail-fast is --max-fail 1")
        Size(options.max_fail, "--max-fail", _MAX_FAIL_HINT)
    for text in options.batch_by:
        grain_key(text)
    if options.batch_check is not None:
        parse_call(options.batch_check)
    elif options.batch_check_timeout is not None:
        raise UsageError(
            "--batch-check-timeout without --batch-check", "name a function: --batch-check 'FUNCTION ARGS'"
        )


def settle(
    options: JobOptions,
    opts: Mapping[str, Any],
    ids: Sequence[str],
    values_of: Callable[[Sequence[str], Sequence[str]], Values],
) -> Course:
    """The course of a job on these ids; the configuration (``opts``) has the defaults of the options.

    ``values_of``: grain keys, ids -> the values of each id. Raises UsageError.
    """
    check_options(options)
    total = len(ids)
    steps = _steps(options, opts, total)
    wait = options.batch_wait if options.batch_wait is not None else float(opts.get("batch_wait") or 0)
    keys = [grain_key(text) for text in options.batch_by]
    course = Course([list(ids)], options.width, wait=wait, ignore_unreachable=options.ignore_unreachable)
    course.values = values_of(keys, ids) if keys else None
    if options.max_fail is not None:
        course.most = Size(options.max_fail, "--max-fail", _MAX_FAIL_HINT).at_least(total)
        course.limit = f"--max-fail {options.max_fail.strip()}"
    elif options.fail_fast or (steps and opts.get("failhard")):
        course.most, course.limit = 1, "--fail-fast" if options.fail_fast else "failhard"
    if options.batch_check is not None:
        course.check = parse_call(options.batch_check)
        if options.batch_check_timeout is not None:
            course.check_timeout = options.batch_check_timeout
    course.confirm = options.confirm
    sizes = [size.of(total) for size in steps]
    if len(sizes) > 1 or (sizes and (course.check or course.confirm)):
        course.batches = batches(ids, sizes, course.values)
    elif sizes:
        course.size = sizes[0]
        course.width = min(course.width, sizes[0])
    return course


def _steps(options: JobOptions, opts: Mapping[str, Any], total: int) -> list[Size]:
    """The batch sizes; empty without batches. Raises UsageError. Salt: ``batch`` and ``batch_safe_limit``."""
    if options.batch is not None:
        return parse_steps(options.batch)
    configured = opts.get("batch")
    if configured:
        try:
            return parse_steps(str(configured))
        except UsageError as exc:
            raise UsageError(
                f"`batch` of the configuration: {exc.message.removeprefix('--batch: ')}", exc.hint
            ) from None
    least = options.batch_safe_limit if options.batch_safe_limit is not None else int(opts.get("batch_safe_limit") or 0)
    if not least or total < least:
        return []
    size = options.batch_safe_size or str(opts.get("batch_safe_size") or SAFE_SIZE)
    return [Size(size, "batch_safe_size", "a number of targets or a percentage, such as 8%")]


def grain_key(text: str) -> str:
    """The key of ``grain:KEY``. Raises UsageError."""
    kind, colon, key = text.strip().partition(":")
    if kind != "grain" or not colon or not key.strip(" :"):
        raise UsageError(f"--batch-by: {text!r} does not name a grain", hint="for example --batch-by grain:rack")
    return key


def parse_call(text: str) -> Call:
    """The call of ``FUNCTION ARGS``, words as in a shell and read as ``run`` reads them. Raises UsageError."""
    hint = "for example --batch-check 'service.status nginx'"
    try:
        fun, *words = shlex.split(text) or [""]
    except ValueError as exc:
        raise UsageError(f"--batch-check: {text!r} cannot be read: {exc}", hint=hint) from None
    if "." not in fun or not all(part.isidentifier() for part in fun.split(".")):
        raise UsageError(f"--batch-check: {fun!r} is no function", hint=hint)
    return Call(fun, *parse_args(words), text=text.strip())


@dataclass
class Tally:
    """Counts returns and compares them with the course's limit. ``stopped``: why no more targets begin, or ""."""

    course: Course
    failed: int = 0
    unanswered: int = 0
    changed: int = 0
    done: int = 0
    stopped: str = ""
    #: failed and counted targets of the current batch
    _bad: int = 0
    _counted: int = 0
    #: ids of failed and unanswered targets
    bad: list[str] = field(default_factory=list)

    def batch_begins(self) -> None:
        self._bad = self._counted = 0

    def count(self, result: TargetReturn) -> None:
        self.done += 1
        self.changed += has_changes(result)
        if self.course.ignore_unreachable and result.error_kind in UNREACHABLE:
            return
        self._counted += 1
        if not result.exit_code:
            return
        self._bad += 1
        self.bad.append(result.id)
        if result.exit_code == EXIT_FAILED:
            self.failed += 1
        else:
            self.unanswered += 1
        most = self.course.most
        if most is not None and len(self.bad) >= most and not self.stopped:
            self.stopped = f"{self.words()} ({self.course.limit})"

    def batch_ends(self) -> None:
        """Without a limit, stop the rollout after a batch whose targets all failed, as Ansible does."""
        if self.course.most is None and self._counted and self._bad == self._counted and not self.stopped:
            which = f"all {self._counted} targets" if self._counted > 1 else "the only target"
            self.stopped = f"{which} of a batch failed or gave no answer"

    def words(self) -> str:
        """``2 targets failed and 1 gave no answer``."""
        parts = []
        if self.failed:
            parts.append(f"{_targets(self.failed)} failed")
        if self.unanswered:
            parts.append(f"{self.unanswered if parts else _targets(self.unanswered)} gave no answer")
        return " and ".join(parts)


class Rollout:
    """Runs a job on its targets, by a course."""

    def __init__(
        self,
        course: Course,
        run_one: RunOne,
        reporter: Reporter,
        stopping: Stopping,
        check: Check | None = None,
        tell: Tell | None = None,
    ) -> None:
        """``tell`` is awaited with each list of returns before they are yielded and reported."""
        self._course = course
        self._run_one = run_one
        self._reporter = reporter
        self._stopping, self._stop = stopping, stopping.requested
        self._check = check
        self._tell = tell
        self.tally = Tally(course)
        #: the operator has declined to go on
        self._declined = False

    async def returns(self) -> AsyncGenerator[TargetReturn, None]:
        """Yield the return of each target: as the started ones finish, then those that did not begin."""
        course, left = self._course, []
        number = 0
        for number, ids in enumerate(course.batches, 1):
            if self.tally.stopped or self._declined:
                left += ids
                continue
            if course.has_ends:
                self._reporter.batch_started(number, len(course.batches), ids)
            elif course.size:
                self._reporter.run_batched(course.size)
            async with aclosing(self._batch(ids, left)) as batch:
                async for results in batch:
                    for result in await self._reported(results):
                        yield result
            if number < len(course.batches) and not self.tally.stopped and not self._stop.is_set():
                await self._between(number)
        for result in await self._reported(self._left_out(left)):
            yield result

    async def _reported(self, results: list[TargetReturn]) -> list[TargetReturn]:
        """The returns, after ``tell`` and the reporter got them."""
        if self._tell is not None and results:
            await self._tell(results)
        for result in results:
            self._reporter.target_done(result)
        return results

    async def _batch(self, ids: list[str], left: list[str]) -> AsyncGenerator[list[TargetReturn], None]:
        """The returns of a batch; ids that did not begin are added to ``left``."""
        course, tally = self._course, self.tally
        tally.batch_begins()
        window = Window(ids, course.width, course.values)
        wait = 0.0 if course.has_ends else course.wait
        batch_results: list[TargetReturn] = []
        work = fan_out(window, self._run_one, self._stopping, may_begin=lambda: not tally.stopped, wait=wait)
        async with aclosing(work):
            async for results in work:
                done = []
                for result in results:
                    if self._check is not None and not result.exit_code:
                        batch_results.append(result)
                        self._reporter.target_phase(result.id, "check")
                    else:
                        tally.count(result)
                        done.append(result)
                yield done
        left += window.rest()
        checked = await self._checked(batch_results)
        for result in checked:
            tally.count(result)
        yield checked
        if course.has_ends and not self._stop.is_set():
            tally.batch_ends()

    async def _checked(self, results: list[TargetReturn]) -> list[TargetReturn]:
        """The returns; those of targets that do not pass the batch check are failed, with the reason."""
        if not results or self._check is None:
            return results
        wrong = await self._or_stopped(self._check.failures([result.id for result in results]))
        if wrong is None:  # the job is being stopped
            return results
        return [
            replace(result, exit_code=EXIT_FAILED, retcode=result.retcode or 1, check=wrong[result.id])
            if result.id in wrong
            else result
            for result in results
        ]

    async def _between(self, number: int) -> None:
        """Wait, or ask for confirmation, between a batch and the next one."""
        course, tally = self._course, self.tally
        if course.wait:
            self._reporter.batch_waits(course.wait)
            await self._or_stopped(asyncio.sleep(course.wait))
        if course.confirm and not self._stop.is_set():
            done = BatchDone(
                number,
                len(course.batches),
                tally.done,
                course.total,
                tally.changed,
                tally.failed,
                tally.unanswered,
                tuple(course.batches[number]),
            )
            self._declined = not await self._or_stopped(self._reporter.go_on(done))

    async def _or_stopped(self, work: Awaitable[Any]) -> Any:
        """The result of an awaitable, which is cancelled if the job is stopped; then None."""
        task = asyncio.ensure_future(work)
        stopper = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((task, stopper), return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            stopper.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait((task,), timeout=5)

    def _left_out(self, ids: list[str]) -> list[TargetReturn]:
        """The returns of targets that did not begin."""
        tally = self.tally
        if not ids:
            return []
        if self._stop.is_set():
            return [failure(id, asyncio.CancelledError()) for id in ids]
        if tally.stopped:
            why, hint = tally.stopped, "correct the failures, then run it on the remaining targets"
            code = EXIT_FAILED if tally.failed else EXIT_NO_ANSWER
        else:
            why, hint, code = "the operator did not go on", "run it on the remaining targets", EXIT_NO_ANSWER
        were = "was" if len(ids) == 1 else "were"
        self._reporter.warning(None, f"the rollout was stopped: {why}; {_targets(len(ids))} {were} not begun")
        return [not_begun(id, why, hint, code) for id in ids]


def has_changes(result: TargetReturn) -> bool:
    """Whether a state has made changes, or would make some."""
    if result.shape != "states" or not isinstance(result.ret, dict):
        return False
    return any(
        isinstance(ret, dict) and (ret.get("changes") or ret.get("result") is None) for ret in result.ret.values()
    )


def _targets(number: int) -> str:
    return f"{number} target{'' if number == 1 else 's'}"
