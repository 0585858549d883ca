"""The rows of the recorded jobs, and their two common outputs. Imports little, so that listing is fast."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

#: The columns of ``rows``. ``unanswered``: the targets that never returned, unless the job runs.
COLUMNS: Final = (
    "jid, fun, arg, kwarg, tgt, tgt_type, user, start, end, state, exit_code, targets, failed,"
    " iif(state = 'running', unanswered, unanswered + max(0, targets - returned)), size, mark, returned"
)
Row = tuple[Any, ...]
_RUNNING: Final = "running"


def rows(
    connection: sqlite3.Connection,
    *,
    limit: int | None = None,
    since: float | None = None,
    fun: str | None = None,
    target: str | None = None,
    failed: bool = False,
) -> list[Row]:
    """The jobs, newest first, as rows of COLUMNS. Raises sqlite3.Error, and ValueError for damaged data.

    ``since``: seconds since the epoch; ``fun``: a glob; ``target``: an id; ``failed``: those that did not end well.
    """
    at_once = fun is None and target is None and not failed
    query = f"SELECT {COLUMNS} FROM jobs WHERE start >= ? ORDER BY jid DESC LIMIT ?"
    every = connection.execute(query, (since or 0.0, -1 if limit is None or not at_once else limit))
    if at_once:
        return [looked_at(row) if row[9] == _RUNNING else row for row in every]
    entries: list[Row] = []
    for row in every:
        if limit is not None and len(entries) >= limit:
            break
        row = looked_at(row)
        if fun is not None and not _matches(row[1], fun):
            continue
        if failed and not (row[12] or row[13] or row[9] in ("interrupted", "lost")):
            continue
        if target is not None and target not in _ids(connection, row[0]):
            continue
        entries.append(row)
    return entries


def looked_at(row: Row) -> Row:
    """The row; a running job becomes ``lost`` if its process has ended."""
    if row[9] != _RUNNING:
        return row
    from pushsalt.jobs.alive import is_gone

    if not is_gone(row[15]):
        return row
    return (*row[:9], "lost", *row[10:13], row[13] + max(0, row[11] - row[16]), *row[14:])


def _matches(fun: str, glob: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(fun, glob)


def _ids(connection: sqlite3.Connection, jid: str) -> Sequence[str]:
    from pushsalt.jobs.encoding import unpack

    (detail,) = connection.execute("SELECT detail FROM jobs WHERE jid = ?", (jid,)).fetchone()
    ids: list[str] = unpack(detail).get("ids", [])
    return ids


def lines(rows: Iterable[Row]) -> list[str]:
    """A line of text for each job, with local times. Control characters are not removed."""
    texts: list[str] = []
    words: dict[tuple[str, str, str], str] = {}
    second, when = -1, ""
    for jid, fun, arg, kwarg, tgt, _, user, start, _, state, _, targets, failed, unanswered, *_ in rows:
        key = (fun, arg, kwarg)
        if key not in words:
            words[key] = _words(fun, json.loads(arg), json.loads(kwarg))
        if int(start) != second:
            second = int(start)
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
        counts = f"{targets} target{'' if targets == 1 else 's'}"
        if failed or unanswered:
            wrong = [f"{number} {word}" for number, word in ((failed, "failed"), (unanswered, "unanswered")) if number]
            counts += f" ({', '.join(wrong)})"
        texts.append(f"{jid}  {when}  {state:<11}  {user}  {words[key]}  on {tgt}: {counts}")
    return texts


def _words(fun: str, arg: list[Any], kwarg: dict[str, Any]) -> str:
    return " ".join([fun, *map(str, arg), *(f"{key}={value}" for key, value in kwarg.items())])


def as_json(rows: Iterable[Row]) -> str:
    """The jobs as one JSON list of the objects that ``KeptJob.as_row`` returns."""
    texts: dict[str, str] = {}

    def text(value: str) -> str:
        encoded = texts.get(value)
        if encoded is None:
            encoded = texts[value] = _plain(json.dumps(value))
        return encoded

    iso, entries = _iso(), []
    for jid, fun, arg, kwarg, tgt, kind, user, start, end, state, code, targets, failed, unanswered, *_ in rows:
        entries.append(
            f'{{"jid": "{jid}", "fun": {text(fun)}, "arg": {_plain(arg)}, "kwarg": {_plain(kwarg)}, "tgt": {text(tgt)},'
            f' "tgt_type": {text(kind)}, "user": {text(user)}, "start": "{iso(start)}",'
            f' "end": {"null" if end is None else chr(34) + iso(end) + chr(34)}, "state": "{state}",'
            f' "exit_code": {"null" if code is None else code}, "targets": {targets}, "failed": {failed},'
            f' "unanswered": {unanswered}}}'
        )
    return "[" + ",\n ".join(entries) + "]"


def _iso() -> Callable[[float], str]:
    """A function like ``times.iso`` that is much faster for times that are close to each other."""
    last, prefix = -1, ""

    def iso(moment: float) -> str:
        nonlocal last, prefix
        second = int(moment)
        micro = round((moment - second) * 1e6)
        if micro == 1_000_000:
            second, micro = second + 1, 0
        if second != last:
            last, prefix = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{prefix}.{micro // 1000:03d}Z"

    return iso


def _plain(text: str) -> str:
    """JSON without lone surrogates, which command lines that are not UTF-8 contain."""
    if "\\ud" not in text:
        return text
    whole = json.dumps(json.loads(text), ensure_ascii=False)
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
