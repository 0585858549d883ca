"""Values in a SQLite database, in Salt's encoding (msgpack). Salt: salt.sdb.sqlite3.

::

    kept: {driver: sqlite3, database: /srv/secrets.sqlite, table: sdb}       sdb://kept/db_password

With ``create_table: false`` the table is not created, ``create_statements`` replace the default ones; ``get_query``,
``set_query`` and ``delete_query`` are SQL with ``:key`` and ``:value``. A text column is not decoded.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack

from pushsalt.sdb import MAX_BYTES, Trouble, seconds

__func_alias__ = {"set_": "set"}


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any:
    with _connected(profile) as (connection, table, options):
        query = str(options.get("get_query") or f"SELECT value FROM {table} WHERE key=:key")
        row = connection.execute(query, {"key": key}).fetchone()
    if row is None:
        return None
    value = row[0]
    if not isinstance(value, bytes):
        return value
    if len(value) > MAX_BYTES:
        raise Trouble(f"the value of {key} is larger than {MAX_BYTES // 1024} KiB", "keep it elsewhere")
    try:
        return msgpack.unpackb(value, raw=False)
    except (ValueError, msgpack.UnpackException):
        raise Trouble(f"the value of {key} is not packed as Salt does (msgpack)", "set it by sdb.set") from None


def set_(key: str, value: Any, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    with _connected(profile) as (connection, table, options):
        query = str(options.get("set_query") or f"INSERT OR REPLACE INTO {table} VALUES (:key, :value)")
        connection.execute(query, {"key": key, "value": msgpack.packb(value)})
    return True


def delete(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    with _connected(profile) as (connection, table, options):
        query = str(options.get("delete_query") or f"DELETE FROM {table} WHERE key=:key")
        return connection.execute(query, {"key": key}).rowcount > 0


@contextmanager
def _connected(profile: Mapping[str, Any] | None) -> Iterator[tuple[sqlite3.Connection, str, Mapping[str, Any]]]:
    """A context with a connection, which is committed on success. Raises Trouble."""
    options = profile or {}
    if not options.get("database"):
        raise Trouble("the profile names no `database`", "database: /path/to/file.sqlite")
    path = Path(str(options["database"])).expanduser()
    name = str(options.get("table") or "sdb").replace("\0", "")
    table = _quoted(name)
    try:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        connection = sqlite3.connect(path, timeout=seconds(options))
        try:
            with connection:
                for statement in _statements(options, name):
                    try:
                        connection.execute(statement)
                    except sqlite3.OperationalError:  # the table exists already, or the file is read-only
                        break
                yield connection, table, options
        finally:
            connection.close()
    except sqlite3.Error as exc:
        raise Trouble(f"{path}: {exc}", "is it a SQLite database with that table?") from None
    except OSError as exc:
        raise Trouble(f"{path}: {exc.strerror}", "make its folder, or correct `database`") from None


def _statements(options: Mapping[str, Any], name: str) -> list[str]:
    if options.get("create_statements"):
        return [str(each) for each in options["create_statements"]]
    if not options.get("create_table", True):
        return []
    table = _quoted(name)
    return [
        f"CREATE TABLE {table} (key text, value blob)",
        f"CREATE UNIQUE INDEX {_quoted(name + '_idx')} ON {table} (key)",
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
