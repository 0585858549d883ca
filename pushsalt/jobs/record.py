"""Writes a job into the record as it happens, in a thread of its own.

What ``committed`` was waited for is kept, whatever becomes of this process. If the record cannot be written, that is
said once, and the job goes on.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pushsalt.jobs import database, encoding
from pushsalt.jobs.alive import mark_of
from pushsalt.jobs.model import JobEnd, JobStart, retcode_of
from pushsalt.jobs.prune import Bounds, prune_when_due
from pushsalt.model import Explained, TargetReturn

Step = Callable[[sqlite3.Connection], None]


class JobRecord:
    """The recorder of one job. Methods are called in the thread of the event loop, and never raise."""

    def __init__(self, path: Path, warn: Callable[[str], None], bounds: Bounds, *, resumes: bool = False) -> None:
        """``path``: the data base; ``warn`` is called with a text, in the thread of the event loop.

        ``resumes``: the job is there, and gets more returns (``Jobs.claim``).
        """
        self._path = path
        self._warn = warn
        self._bounds = bounds
        self._steps: queue.SimpleQueue[Step | _Mark | None] = queue.SimpleQueue()
        self._writer: _Writer | None = None
        self._jid = ""
        self._resumes = resumes
        self._said: JobStart | None = None
        self._has_ended = False

    def job_begins(self, job: JobStart) -> None:
        self._jid = job.jid
        self._said = job
        self._writer = _Writer(self._path, self._steps, self._bounds)
        self._writer.start()
        if not self._resumes:
            self._steps.put(lambda to: _begin(to, job))

    def restated(self, job: JobStart) -> None:
        """The words of the job, of which more are secret than was known when it began."""
        if self._said is not None and not self._resumes and job.words_only() != self._said.words_only():
            self._steps.put(lambda to: _restate(to, job))

    def about(self, facts: dict[str, Any]) -> None:
        """What is known of the project of the job, once it is known."""
        jid = self._jid
        if self._resumes:
            return  # those of its begin stay
        self._steps.put(lambda to: _about(to, jid, facts))

    def target_returned(self, ret: TargetReturn) -> None:
        jid = self._jid
        self._steps.put(lambda to: _returned(to, jid, ret))

    def job_ends(self, end: JobEnd) -> None:
        jid = self._jid
        self._steps.put(lambda to: _ended(to, jid, end))
        self._has_ended = True

    async def committed(self) -> None:
        """Waits until all that was told is kept, or cannot be kept."""
        if self._writer is None:
            return
        loop = asyncio.get_running_loop()
        mark = _Mark(loop, loop.create_future())
        self._steps.put(mark)
        if self._has_ended:
            self._steps.put(None)
        await mark.done
        for text in self._writer.take_troubles():
            self._warn(text)


class _Mark:
    """Somebody waits for all steps before it."""

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
    """Takes steps, as many as there are at a time, and commits them together."""

    def __init__(self, path: Path, steps: queue.SimpleQueue[Step | _Mark | None], bounds: Bounds) -> None:
        super().__init__(name="pushsalt-record", daemon=True)
        self._path = path
        self._steps = steps
        self._bounds = bounds
        self._connection: sqlite3.Connection | None = None
        self._broken = False
        self._troubles: list[str] = []
        #: what the job has told so far, for a new file in place of a damaged one
        self._first: Step | None = None

    def take_troubles(self) -> list[str]:
        found, self._troubles = self._troubles, []
        return found

    def run(self) -> None:
        ended = False
        while not ended:
            batch = [self._steps.get()]
            while not self._steps.empty():
                batch.append(self._steps.get())
            steps = [each for each in batch if each is not None and not isinstance(each, _Mark)]
            self._first = self._first or next(iter(steps), None)
            self._write(steps)
            ended = None in batch
            for each in batch:
                if isinstance(each, _Mark):
                    each.reached()
        self._prune()

    def _write(self, steps: list[Step]) -> None:
        if self._broken or not steps:
            return
        try:
            try:
                self._commit(steps)
            except database.DamagedError as exc:
                self._put_aside(exc)
                first = [self._first] if self._first is not None and self._first not in steps else []
                self._commit([*first, *steps])
        except database.NotUsableError as exc:
            self._broken = True
            self._troubles.append(f"the job is not kept: {exc}")

    def _put_aside(self, exc: database.DamagedError) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        aside = database.put_aside(self._path)
        if aside is not None:
            self._troubles.append(f"the record of jobs begins anew: {exc}; it is now {aside.name} in the same folder")

    def _commit(self, steps: list[Step]) -> None:
        """Raises NotUsableError; then nothing of these is kept."""
        if self._connection is None:
            self._connection = database.open_database(self._path)
        connection = self._connection
        try:
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
            pass  # another command is at it, or the next one will say what is wrong
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


def _about(to: sqlite3.Connection, jid: str, facts: dict[str, Any]) -> None:
    row = to.execute("SELECT detail FROM jobs WHERE jid = ?", (jid,)).fetchone()
    if row is not None:
        data = encoding.pack({**encoding.unpack(row[0]), **facts})
        to.execute("UPDATE jobs SET detail = ?, size = size + ? WHERE jid = ?", (data, len(data) - len(row[0]), jid))


def _restate(to: sqlite3.Connection, job: JobStart) -> None:
    values = (encoding.text_of(job.arg), encoding.text_of(job.kwarg), job.tgt, job.jid)
    to.execute("UPDATE jobs SET arg = ?, kwarg = ?, tgt = ? WHERE jid = ?", values)
    _about(to, job.jid, {"options": job.options, "words": job.words})


def _returned(to: sqlite3.Connection, jid: str, result: TargetReturn) -> None:
    put_return(to, jid, result)


def put_return(to: sqlite3.Connection, jid: str, result: TargetReturn) -> None:
    """Keep a return, in place of an earlier one of the same target; the caller commits. Raises sqlite3.Error."""
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


def _ended(to: sqlite3.Connection, jid: str, end: JobEnd) -> None:
    """The end of the job; of one that was resumed, other returns may be worse, or missing."""
    to.execute(
        "UPDATE jobs SET end = :end, state = iif(returned < targets, 'interrupted', :state), exit_code ="
        " max(:code, (SELECT coalesce(max(exit_code), 0) FROM returns WHERE returns.jid = jobs.jid)) WHERE jid = :jid",
        {"end": end.end, "state": end.state, "code": end.exit_code, "jid": jid},
    )
