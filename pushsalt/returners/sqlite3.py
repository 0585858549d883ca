"""Tables in an SQLite file. Salt: salt.returners.sqlite3_return.

::

    returner.sqlite3: {database: /var/lib/pushsalt/returns.db, timeout: 5.0}

A file that is not there is made, for its owner alone, with Salt's tables and ``salt_events``. As in Salt, ``full_ret``
has the return.
"""

from __future__ import annotations

import datetime
import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pushsalt.returners import Outside, Trouble
from pushsalt.returners.tables import (
    Dialect,
    as_json,
    ids,
    last_returns,
    loads,
    plain,
    returns_of_job,
    store_events,
    store_load,
    store_return,
)

OPTIONS: Final = {"database": str, "timeout": 5.0}
SECRETS: Final = ()

TABLES: Final = """
CREATE TABLE IF NOT EXISTS jids (jid TEXT PRIMARY KEY, load TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS salt_returns (
  fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT,
  date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS salt_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, data TEXT NOT NULL,
  alter_time TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, master_id TEXT NOT NULL
);
"""


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    store_return(_DIALECT, ret, outside)


def save_load(jid: str, load: Mapping[str, Any], minions: Sequence[str] | None = None, *, outside: Outside) -> None:
    store_load(_DIALECT, jid, load, outside)


def event_return(events: Sequence[Mapping[str, Any]], *, outside: Outside) -> None:
    store_events(_DIALECT, events, outside)


def get_jid(jid: str, *, outside: Outside) -> dict[str, Any]:
    return returns_of_job(_DIALECT, jid, outside)


def get_fun(fun: str, *, outside: Outside) -> dict[str, Any]:
    return last_returns(_DIALECT, fun, outside)


def get_jids(*, outside: Outside) -> dict[str, Any]:
    return loads(_DIALECT, outside)


def get_minions(*, outside: Outside) -> list[str]:
    return ids(_DIALECT, outside)


def _connect(options: Mapping[str, Any], limit: float) -> sqlite3.Connection:
    path = options["database"]
    try:  # SQLite would create it with the permissions of the umask
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
    except OSError as exc:
        hint = "is the folder there, and may you write into it?"
        raise Trouble(f"sqlite3: {path} cannot be opened: {exc.strerror or exc}", hint) from None
    # one thread at a time uses the connection, but not always the same one
    connection = sqlite3.connect(path, timeout=min(options["timeout"], limit), check_same_thread=False)
    try:
        connection.executescript(TABLES)
    except BaseException:
        connection.close()
        raise
    return connection


def _columns(ret: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "fun": plain(ret.get("fun"), 255),
        "jid": plain(ret.get("jid"), 255),
        "id": plain(ret.get("id"), 255),
        "fun_args": as_json(ret["fun_args"]) if ret.get("fun_args") else None,
        "date": str(datetime.datetime.now()),
        "full_ret": as_json(ret.get("return")),
        "success": bool(ret.get("success")),
    }


_DIALECT: Final = Dialect(
    "sqlite3",
    _connect,
    errors=(sqlite3.Error,),
    wrong=(sqlite3.ProgrammingError,),
    columns=_columns,
    mark="?",
)
