"""Writes a job into the record while it runs.

When ``committed`` has returned, everything before it is stored, also if this process is killed. If the record cannot be
written, there is one warning, and the job continues.

A separate thread opens the database, waits for other commands that write, and stores large returns. A few small returns
are written directly if no other command writes: waking the thread and waiting for it takes three times as long.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pushsalt.jobs import database, encoding
from pushsalt.jobs.alive import LEFT, mark_of
from pushsalt.jobs.model import JobEnd, JobStart, retcode_of
from pushsalt.jobs.prune import Bounds, prune_when_due
from pushsalt.model import Explained, TargetReturn

Step = Callable[[sqlite3.Connection], None]

#: Maximum number of steps, and of values of a return, that are written directly, without the thread.
_FEW: Final = 8
_SMALL: Final = 60
_LONG: Final = 2000
#: Pages of the journal, as SQLite has it.
_PAGES: Final = 1000
#: After so many direct commits the thread writes once, which moves them from the journal to the file.
_TURN: Final = 200


class JobRecord:
    """The recorder of one job. Methods are called in the thread of the event loop, and never raise."""

    def __init__(
        self,
        path: Path,
        warn: Callable[[str], None],
        bounds: Bounds,
        *,
        resumes: bool = False,
        collects: bool = False,
    ) -> None:
        """``path``: the database; ``warn`` is called with a text, in the thread of the event loop.

        ``resumes``: the job is already recorded, and gets more returns (``Jobs.claim``). ``collects``: the returns are
        those of some of its targets, and the job ends when it has all returns.
        """
        self._path = path
        self._warn = warn
        self._bounds = bounds
        self._queue: queue.SimpleQueue[Step | _Mark | None] = queue.SimpleQueue()
        self._steps: list[Step] = []
        self._is_large = False
        self._writer: _Writer | None = None
        self._jid = ""
        self._resumes = resumes
        self._collects = collects
        self._said: JobStart | None = None
        self._has_ended = False

    def job_begins(self, job: JobStart) -> None:
        self._jid = job.jid
        self._said = job
        self._writer = _Writer(self._path, self._queue, self._bounds)
        self._writer.start()
        if not self._resumes:
            self._steps.append(lambda to: _begin(to, job))

    def restated(self, job: JobStart) -> None:
        """Replace the recorded data of the job's begin, since more secrets are known now."""
        if self._said is not None and not self._resumes and job.words_only() != self._said.words_only():
            self._steps.append(lambda to: _restate(to, job))

    def about(self, detail: dict[str, Any]) -> None:
        """Store data about the project of the job."""
        jid = self._jid
        if self._resumes:
            return  # the data from its start is kept
        self._steps.append(lambda to: _about(to, jid, detail))

    def target_returned(self, ret: TargetReturn) -> None:
        jid = self._jid
        self._steps.append(lambda to: put_return(to, jid, ret))
        self._is_large = self._is_large or not _is_small(ret.ret, _SMALL)

    def step_begins(self, step: JobStart, name: str) -> None:
        """Store the job of a step with the name ``name`` in the orchestration."""
        jid, value = self._jid, {"name": name, "fun": step.fun, "tgt": step.tgt}
        self._keep(lambda to: _put_part(to, jid, "job", step.jid, value))

    def state_returned(self, tag: str, ret: Any) -> None:
        """Store the return of one state of an orchestration, before the orchestration ends."""
        jid = self._jid
        self._keep(lambda to: _put_part(to, jid, "state", tag, ret))

    def _keep(self, step: Step) -> None:
        """Give a step, and those before it, to the thread, since no caller waits for it with ``committed``."""
        steps, self._steps = [*self._steps, step], []
        for each in steps:
            self._queue.put(each)

    def job_ends(self, end: JobEnd) -> None:
        jid = self._jid
        if end.state == "running":
            if not self._resumes:  # for a resumed job, ``Jobs.release`` restores its state
                self._steps.append(lambda to: _left(to, jid))
        else:
            self._steps.append(lambda to: _ended(to, jid, end, only_whole=self._collects))
        self._has_ended = True

    async def committed(self) -> None:
        """Wait until everything is stored so far, or storing has failed."""
        if self._writer is None:
            return
        steps, self._steps = self._steps, []
        is_large, self._is_large = self._is_large or len(steps) > _FEW, False
        if not self._has_ended and not is_large and self._writer.write_now(steps):
            return
        loop = asyncio.get_running_loop()
        mark = _Mark(loop, loop.create_future())
        for step in steps:
            self._queue.put(step)
        self._queue.put(mark)
        if self._has_ended:
            self._queue.put(None)
        await mark.done
        for text in self._writer.take_troubles():
            self._warn(text)


class _Mark:
    """An entry of the queue: a caller waits for all steps before it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
        self._loop = loop
        self.done = done

    def reached(self) -> None:
        def settle() -> None:
            if not self.done.done():
                self.done.set_result(None)

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(settle)


class _Writer(threading.Thread):
    """Takes all waiting steps at once and commits them in one transaction."""

    def __init__(self, path: Path, steps: queue.SimpleQueue[Step | _Mark | None], bounds: Bounds) -> None:
        super().__init__(name="pushsalt-record", daemon=True)
        self._path = path
        self._steps = steps
        self._bounds = bounds
        self._connection: sqlite3.Connection | None = None
        #: held by whoever uses the connection
        self._lock = threading.Lock()
        self._commits = 0
        self._broken = False
        self._troubles: list[str] = []
        #: all steps of the job so far, for a new file if the file is damaged
        self._first: Step | None = None

    def take_troubles(self) -> list[str]:
        troubles, self._troubles = self._troubles, []
        return troubles

    def run(self) -> None:
        ended = False
        while not ended:
            batch = [self._steps.get()]
            while not self._steps.empty():
                batch.append(self._steps.get())
            steps = [each for each in batch if each is not None and not isinstance(each, _Mark)]
            with self._lock:
                self._first = self._first or next(iter(steps), None)
                self._write(steps)
                self._commits = 0
            ended = None in batch
            for each in batch:
                if isinstance(each, _Mark):
                    each.reached()
        with self._lock:
            self._prune()

    def write_now(self, steps: list[Step]) -> bool:
        """Write a few steps without the thread; False if the thread or another command writes, or if it fails."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._connection is None or self._broken or self._commits >= _TURN:
                return False
            self._commits += 1
            with contextlib.suppress(database.NotUsableError):
                self._commit(steps)
                return True
            return False
        finally:
            self._lock.release()

    def _write(self, steps: list[Step]) -> None:
        if self._broken or not steps:
            return
        try:
            try:
                self._commit(steps, waits=True)
            except database.DamagedError as exc:
                self._put_aside(exc)
                first = [self._first] if self._first is not None and self._first not in steps else []
                self._commit([*first, *steps], waits=True)
        except database.NotUsableError as exc:
            self._broken = True
            self._troubles.append(f"the job is not kept: {exc}")

    def _put_aside(self, exc: database.DamagedError) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        aside = database.put_aside(self._path)
        if aside is not None:
            why = f"a new record of jobs was started, since the old one is unusable: {exc}"
            self._troubles.append(f"{why}; it is now {aside.name} in the same folder")

    def _commit(self, steps: list[Step], *, waits: bool = False) -> None:
        """``waits`` for other commands. Raises NotUsableError; then nothing of these is kept."""
        if self._connection is None:
            self._connection = database.open_database(self._path)
        connection = self._connection
        try:
            connection.execute(f"PRAGMA busy_timeout = {int(database.PATIENCE * 1000) if waits else 0}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES if waits else 0}")
            connection.execute("BEGIN IMMEDIATE")
            for step in steps:
                step(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as exc:
            if connection.in_transaction:
                connection.rollback()
            raise database.trouble(exc, self._path) from None

    def _prune(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if not self._broken:
                prune_when_due(connection, self._bounds)
        except sqlite3.Error:
            pass  # another command is writing, or the next write reports the error
        finally:
            connection.close()


def _begin(to: sqlite3.Connection, job: JobStart) -> None:
    detail = {
        "kind": job.kind,
        "ids": list(job.ids),
        "options": job.options,
        "words": job.words,
        "origin": job.origin,
    }
    data = encoding.pack(detail)
    to.execute(
        "INSERT INTO jobs (jid, fun, arg, kwarg, tgt, tgt_type, user, start, state, targets, size, mark, detail)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?)",
        (
            job.jid,
            job.fun,
            encoding.text_of(job.arg),
            encoding.text_of(job.kwarg),
            job.tgt,
            job.tgt_type,
            job.user,
            job.start,
            len(job.ids),
            len(data),
            mark_of(os.getpid()),
            data,
        ),
    )


def _about(to: sqlite3.Connection, jid: str, detail: dict[str, Any]) -> None:
    row = to.execute("SELECT detail FROM jobs WHERE jid = ?", (jid,)).fetchone()
    if row is not None:
        data = encoding.pack({**encoding.unpack(row[0]), **detail})
        to.execute("UPDATE jobs SET detail = ?, size = size + ? WHERE jid = ?", (data, len(data) - len(row[0]), jid))


def _restate(to: sqlite3.Connection, job: JobStart) -> None:
    values = (encoding.text_of(job.arg), encoding.text_of(job.kwarg), job.tgt, job.jid)
    to.execute("UPDATE jobs SET arg = ?, kwarg = ?, tgt = ? WHERE jid = ?", values)
    _about(to, job.jid, {"options": job.options, "words": job.words})


def _is_small(value: Any, left: int) -> bool:
    """Whether a return has at most ``left`` values, and no long text."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        left -= 1
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, str | bytes) and len(item) > _LONG:
            return False
        if len(waiting) > left:
            return False
    return True


def put_return(to: sqlite3.Connection, jid: str, result: TargetReturn) -> None:
    """Store a return; it replaces an earlier one of the same target. The caller commits. Raises sqlite3.Error."""
    more = {
        "phases": result.phases,
        "warnings": result.warnings,
        "round_trips": result.round_trips,
        "salt": result.salt,
        "changes": result.changes,
        "check": result.check,
        "events": result.events,
    }
    if result.shape == "errors":
        more["explained"] = [text.explanation if isinstance(text, Explained) else str(text) for text in result.ret]
    ret, rest = encoding.pack(result.ret), encoding.pack(more)
    size = len(ret) + len(rest)
    kind = str(result.ret["error"].get("kind", "")) if result.shape == "error" else ""
    before = to.execute("SELECT exit_code, size FROM returns WHERE jid = ? AND id = ?", (jid, result.id)).fetchone()
    old_code, old_size = before if before is not None else (0, 0)
    to.execute(
        "INSERT OR REPLACE INTO returns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            jid,
            result.id,
            ret,
            retcode_of(result),
            result.exit_code,
            result.shape,
            kind,
            rest,
            size,
            time.time(),
        ),
    )
    to.execute(
        "UPDATE jobs SET returned = returned + ?, failed = failed + ?, unanswered = unanswered + ?, size = size + ?"
        " WHERE jid = ?",
        (
            before is None,
            (result.exit_code == 2) - (old_code == 2),
            (result.exit_code == 3) - (old_code == 3),
            size - old_size,
            jid,
        ),
    )


def _put_part(to: sqlite3.Connection, jid: str, kind: str, key: str, value: Any) -> None:
    data = encoding.pack(value)
    to.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?)", (jid, kind, key, data))
    to.execute("UPDATE jobs SET size = size + ? WHERE jid = ?", (len(data), jid))


def _left(to: sqlite3.Connection, jid: str) -> None:
    to.execute("UPDATE jobs SET mark = ? WHERE jid = ?", (LEFT, jid))


def _ended(to: sqlite3.Connection, jid: str, end: JobEnd, only_whole: bool) -> None:
    """Store the end of the job. The other returns of a resumed job may be failures, or missing. ``only_whole``: store
    no end if returns are missing."""
    to.execute(
        "UPDATE jobs SET end = :end, state = iif(returned < targets, 'interrupted', :state), exit_code ="
        " max(:code, (SELECT coalesce(max(exit_code), 0) FROM returns WHERE returns.jid = jobs.jid)) WHERE jid = :jid"
        " AND (NOT :only_whole OR returned >= targets)",
        {"end": end.end, "state": end.state, "code": end.exit_code, "jid": jid, "only_whole": only_whole},
    )
    to.execute("DELETE FROM parts WHERE jid = ? AND kind = 'state'", (jid,))
