"""Reads the jobs of the record, for ``pushsalt jobs`` and ``client.jobs``."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pushsalt.errors import CommandError
from pushsalt.jobs import database, encoding, listing, prune
from pushsalt.jobs.alive import LEFT, is_gone, mark_of
from pushsalt.jobs.difference import difference
from pushsalt.jobs.jid import DIGITS
from pushsalt.jobs.times import iso
from pushsalt.model import Explained, TargetReturn

#: Minimum number of digits of a shortened JID.
SHORTEST: Final = 4


class JobError(CommandError):
    """A job that cannot be found, read or resumed."""


class KeptJob(NamedTuple):
    """A job of the record. ``start`` and ``end``: seconds since the epoch; ``detail`` is read by ``Jobs.get`` only.

    ``mark``: the mark of the process that runs it (``pushsalt.jobs.alive``); ``returned``: number of its returns.
    """

    jid: str
    fun: str
    arg: list[Any]
    kwarg: dict[str, Any]
    tgt: str
    tgt_type: str
    user: str
    start: float
    end: float | None
    state: str
    exit_code: int | None
    targets: int
    failed: int
    unanswered: int
    size: int
    detail: dict[str, Any]
    mark: str = ""
    returned: int = 0

    @property
    def is_left(self) -> bool:
        """Whether its runs were detached, and their returns are not collected yet."""
        return self.state == "running" and self.mark == LEFT

    @property
    def elapsed(self) -> float:
        """Seconds from its start to its end, 0 without an end."""
        return (self.end or self.start) - self.start

    @property
    def ids(self) -> list[str]:
        return list(self.detail.get("ids", ()))

    def line(self) -> str:
        """The line of ``jobs list``."""
        return listing.lines([(*self[:2], *map(encoding.text_of, self[2:4]), *self[4:15])])[0]

    def as_row(self) -> dict[str, Any]:
        """The object of ``jobs list --out json``."""
        return {
            "jid": self.jid,
            "fun": self.fun,
            "arg": self.arg,
            "kwarg": self.kwarg,
            "tgt": self.tgt,
            "tgt_type": self.tgt_type,
            "user": self.user,
            "start": iso(self.start),
            "end": None if self.end is None else iso(self.end),
            "state": self.state,
            "exit_code": self.exit_code,
            "targets": self.targets,
            "failed": self.failed,
            "unanswered": self.unanswered,
        }


#: In ``Jobs``, ``list`` is a method.
Jids = list[str]


class Jobs:
    """The record of jobs below a cache folder. Methods raise JobError for a record that cannot be used."""

    def __init__(self, cache_dir: Path) -> None:
        self.path = database.path_of(cache_dir)

    def list(
        self,
        *,
        limit: int | None = None,
        since: float | None = None,
        fun: str | None = None,
        target: str | None = None,
        failed: bool = False,
    ) -> list[KeptJob]:
        """The jobs, newest first. ``since``: seconds since the epoch; ``fun``: a glob; ``target``: an id; ``failed``:
        only those that did not end well on all targets."""
        with self._reading() as connection:
            if connection is None:
                return []
            rows = listing.rows(connection, limit=limit, since=since, fun=fun, target=target, failed=failed)
        return [_job(row) for row in rows]

    def lines(self, **filters: Any) -> Jids:
        """The jobs of ``list`` as lines for people."""
        with self._reading() as connection:
            return [] if connection is None else listing.lines(listing.rows(connection, **filters))

    def as_json(self, **filters: Any) -> str:
        """The jobs of ``list`` as one JSON list."""
        with self._reading() as connection:
            return "[]" if connection is None else listing.as_json(listing.rows(connection, **filters))

    def find(self, word: str) -> str:
        """The JID that a word stands for: itself, ``last``, or its beginning. Raises JobError."""
        word = str(word).strip()
        with self._reading() as connection:
            if word == "last":
                row = connection.execute("SELECT max(jid) FROM jobs").fetchone() if connection is not None else None
                if row is None or row[0] is None:
                    raise JobError("no job is kept here yet", "jobs are kept in the folder that --cache-dir names")
                return str(row[0])
            if not re.fullmatch(r"[0-9]{1,20}", word):
                raise JobError(f"{word!r} is no JID", "a JID has twenty digits; `last` and its beginning stand for one")
            if len(word) < SHORTEST:
                raise JobError(f"{word!r} is too short for a JID", f"write at least {SHORTEST} of its first digits")
            query = "SELECT jid FROM jobs WHERE jid >= ? AND jid < ? ORDER BY jid DESC LIMIT 4"
            end = f"{word}:"  # the character after 9
            rows = [row[0] for row in connection.execute(query, (word, end))] if connection is not None else []
        if not rows:
            what = "no kept job has the JID" if len(word) == DIGITS else "no kept job has a JID that begins with"
            raise JobError(f"{what} {word}", "pushsalt jobs list shows what is kept; the job may be of another cache")
        if len(rows) > 1:
            more = " …" if len(rows) > 3 else ""
            raise JobError(f"{word} is the beginning of several JIDs: {', '.join(rows[:3])}{more}", "write more digits")
        return str(rows[0])

    def get(self, word: str) -> KeptJob:
        """One job, with all recorded data. Raises JobError."""
        jid = self.find(word)
        with self._reading() as connection:
            query = f"SELECT {listing.COLUMNS}, detail FROM jobs WHERE jid = ?"
            row = connection.execute(query, (jid,)).fetchone() if connection is not None else None
            if row is None:
                raise JobError(f"the job {jid} was just removed", "pushsalt jobs list shows what is kept")
            return _job(listing.looked_at(row[:-1]), encoding.unpack(row[-1]))

    def returns(self, job: KeptJob) -> dict[str, TargetReturn]:
        """The recorded returns, in the order of the job's ids."""
        with self._reading() as connection:
            assert connection is not None
            query = "SELECT id, ret, exit_code, shape, more, retcode FROM returns WHERE jid = ?"
            returns = {row[0]: _return(row) for row in connection.execute(query, (job.jid,))}
        order = {id: number for number, id in enumerate(job.ids)}
        return dict(sorted(returns.items(), key=lambda item: order.get(item[0], len(order))))

    def returned_ids(self, job: KeptJob) -> Jids:
        """The ids of a job's returns, which are not read."""
        with self._reading() as connection:
            assert connection is not None
            return [
                row[0] for row in connection.execute("SELECT id FROM returns WHERE jid = ? ORDER BY id", (job.jid,))
            ]

    def ids_with_returns(self) -> Jids:
        """The ids of all recorded returns."""
        with self._reading() as connection:
            query = "SELECT DISTINCT id FROM returns ORDER BY id"
            return [] if connection is None else [row[0] for row in connection.execute(query)]

    def parts(self, job: KeptJob, kind: str) -> dict[str, Any]:
        """Of an orchestration: the jobs of its steps by JID (``job``: name, fun, tgt), or until its end the returns of
        its states by tag (``state``)."""
        with self._reading() as connection:
            assert connection is not None
            query = "SELECT key, value FROM parts WHERE jid = ? AND kind = ? ORDER BY key"
            return {key: encoding.unpack(value) for key, value in connection.execute(query, (job.jid, kind))}

    def document(self, word: str) -> dict[str, Any]:
        """The object of ``jobs show --out json``. Raises JobError."""
        job = self.get(word)
        return document(job, self.returns(job))

    def diff(self, first: str, second: str) -> dict[str, dict[str, Any]]:
        """What differs between two jobs: see ``pushsalt.jobs.difference``."""
        return difference(*(self.returns(self.get(word)) for word in (first, second)))

    def prune(self, bounds: prune.Bounds) -> Jids:
        """Remove jobs beyond the limits; returns their JIDs."""
        with self._writing() as connection:
            return prune.prune(connection, bounds)

    def prune_beyond(self, *, seconds: float | None = None, number: int | None = None) -> Jids:
        """Remove jobs that are older, and all but the newest ``number``; returns their JIDs."""
        return self.prune(prune.Bounds(seconds=seconds, number=number))

    def claim(self, job: KeptJob) -> None:
        """Make this process the one that resumes a job. Raises JobError if another process runs it."""
        with self._writing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            state, mark = connection.execute("SELECT state, mark FROM jobs WHERE jid = ?", (job.jid,)).fetchone()
            if state == "running" and mark != LEFT and not is_gone(mark):
                connection.execute("ROLLBACK")
                raise JobError(
                    f"the job {job.jid} is still running, in process {mark.split(' ')[2]} on {mark.split(' ')[0]}",
                    "wait for its end",
                )
            connection.execute(
                "UPDATE jobs SET state = 'running', mark = ?, end = NULL, exit_code = NULL WHERE jid = ?",
                (mark_of(os.getpid()), job.jid),
            )
            connection.execute("COMMIT")

    def release(self, job: KeptJob) -> None:
        """Restore the former state of a claimed job, unless it has ended since."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE jobs SET state = ?, mark = ?, end = ?, exit_code = ? WHERE jid = ? AND state = 'running'",
                ("running" if job.state == "lost" else job.state, job.mark, job.end, job.exit_code, job.jid),
            )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with _explained(self.path):
            connection = database.open_to_read(self.path)
            try:
                yield connection
            finally:
                if connection is not None:
                    connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _explained(self.path):
            connection = database.open_database(self.path)
            try:
                yield connection
            finally:
                connection.close()


def document(job: KeptJob, returns: dict[str, TargetReturn]) -> dict[str, Any]:
    """A job with these returns as a mapping, by Salt's names."""
    return {**job.as_row(), "Minions": job.ids, "Result": results(job, returns)}


def results(job: KeptJob, returns: dict[str, TargetReturn]) -> dict[str, dict[str, Any]]:
    """Recorded returns as mappings, by Salt's names."""
    return {
        id: {
            "return": ret.ret,
            "retcode": ret.retcode,
            "success": ret.exit_code == 0,
            "jid": job.jid,
            "fun": job.fun,
            "id": id,
            "phases": ret.phases,
        }
        for id, ret in returns.items()
    }


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except database.DamagedError as exc:
        raise JobError(str(exc), "the next command that does something puts it aside and begins a new one") from None
    except database.NotUsableError as exc:
        raise JobError(str(exc), exc.hint or "check the cache folder") from None
    except (sqlite3.Error, ValueError) as exc:
        raise JobError(f"{path}: {exc}", "move it away: a new one is made") from None


def _job(row: listing.Row, detail: dict[str, Any] | None = None) -> KeptJob:
    jid, fun, arg, kwarg, *middle = row[:15]
    return KeptJob._make((jid, fun, _value(arg), _value(kwarg), *middle, detail or {}, *row[15:17]))


@lru_cache(maxsize=1024)
def _value(text: str) -> Any:
    """The value of a JSON text; cached, since many jobs have the same arguments."""
    return json.loads(text)


def _return(row: tuple[Any, ...]) -> TargetReturn:
    id, data, exit_code, shape, rest, retcode = row
    ret, more = encoding.unpack(data), encoding.unpack(rest)
    if shape == "errors" and isinstance(more.get("explained"), list):
        ret = [Explained(text, why) for text, why in zip(ret, more["explained"], strict=False)]
    return TargetReturn(
        *(id, ret, shape, exit_code),
        phases=more.get("phases") or {},
        round_trips=more.get("round_trips") or 0,
        warnings=more.get("warnings") or [],
        events=more.get("events") or [],
        salt=more.get("salt") or "",
        retcode=retcode,
        changes=bool(more.get("changes")),
        check=more.get("check") or "",
    )
