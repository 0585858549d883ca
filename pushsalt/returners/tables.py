"""Salt's tables ``jids``, ``salt_returns`` and ``salt_events``, by any DB-API connection.

All values are parameters of statements; only this module has the names of tables and columns. A return that may have
arrived before is searched for first, so that there is only one row for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pushsalt.returners import Outside, Trouble


@dataclass(frozen=True)
class Dialect:
    """The SQL of a database. ``quote``: for names; ``mark``: for a parameter; ``ignore``: if a jid already exists.

    ``errors``: exceptions of the library. ``columns``: makes a row of ``salt_returns``, by column.
    """

    name: str
    connect: Callable[[Mapping[str, Any], float], Any]
    errors: tuple[type[BaseException], ...]
    #: exceptions that mean that a statement is wrong, not the connection
    wrong: tuple[type[BaseException], ...]
    columns: Callable[[Mapping[str, Any]], dict[str, Any]]
    quote: str = '"'
    mark: str = "%s"
    ignore: str = "ON CONFLICT DO NOTHING"


def as_json(value: Any) -> str:
    """JSON in ASCII: databases refuse lone surrogates and zero bytes."""
    return json.dumps(value, default=str)


def salt_columns(ret: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``salt_returns`` as Salt's returners for servers write it; names are cut to the column."""
    return {
        "fun": plain(ret.get("fun"), 50),
        "jid": plain(ret.get("jid"), 255),
        "return": as_json(ret.get("return")),
        "id": plain(ret.get("id"), 255),
        "success": bool(ret.get("success")),
        "full_ret": as_json(ret),
    }


def plain(value: Any, length: int) -> str:
    """The text, changed so that any database accepts it in a column of this length."""
    text = str(value or "").encode("utf-8", "replace").decode()
    return text.replace("\0", " ")[:length]


def store_return(dialect: Dialect, ret: Mapping[str, Any], outside: Outside) -> None:
    """Insert a row into ``salt_returns``. Raises Trouble."""
    row = dialect.columns(ret)

    def work(cursor: Any) -> None:
        if outside.again and _has_row(dialect, cursor, "salt_returns", {key: row[key] for key in ("jid", "id", "fun")}):
            return
        cursor.execute(_insert(dialect, "salt_returns", row), list(row.values()))

    _transaction(dialect, outside, work)


def store_load(dialect: Dialect, jid: str, load: Mapping[str, Any], outside: Outside) -> None:
    """Insert a row into ``jids``, unless the jid exists. Raises Trouble."""
    row = {"jid": plain(jid, 20), "load": as_json(load)}
    statement = f"{_insert(dialect, 'jids', row)} {dialect.ignore}"
    _transaction(dialect, outside, lambda cursor: cursor.execute(statement, list(row.values())))


def store_events(dialect: Dialect, events: Sequence[Mapping[str, Any]], outside: Outside) -> None:
    """Insert a row into ``salt_events`` for each event. Raises Trouble."""
    rows = [
        {
            "tag": plain(event.get("tag"), 255),
            "data": as_json(event.get("data")),
            "master_id": plain(outside.master_id, 255),
        }
        for event in events
    ]

    def work(cursor: Any) -> None:
        for row in rows:
            if not (outside.again and _has_row(dialect, cursor, "salt_events", row)):
                cursor.execute(_insert(dialect, "salt_events", row), list(row.values()))

    _transaction(dialect, outside, work)


def returns_of_job(dialect: Dialect, jid: str, outside: Outside) -> dict[str, Any]:
    """Id -> its stored return. Raises Trouble."""
    return _returns(dialect, "jid", jid, outside)


def last_returns(dialect: Dialect, fun: str, outside: Outside) -> dict[str, Any]:
    """Id -> its stored last return of a function. Raises Trouble."""
    return _returns(dialect, "fun", fun, outside)


def loads(dialect: Dialect, outside: Outside) -> dict[str, Any]:
    """Jid -> the stored job. Raises Trouble."""
    quoted = f"{dialect.quote}load{dialect.quote}"
    return {jid: _loaded(load) for jid, load in _rows(dialect, f"SELECT jid, {quoted} FROM jids", [], outside)}


def ids(dialect: Dialect, outside: Outside) -> list[str]:
    """The ids of all returns. Raises Trouble."""
    return [row[0] for row in _rows(dialect, "SELECT DISTINCT id FROM salt_returns ORDER BY id", [], outside)]


def _returns(dialect: Dialect, column: str, value: str, outside: Outside) -> dict[str, Any]:
    query = f"SELECT id, full_ret FROM salt_returns WHERE {column} = {dialect.mark} ORDER BY jid"
    return {id: _loaded(ret) for id, ret in _rows(dialect, query, [value], outside)}


def _rows(dialect: Dialect, query: str, values: list[str], outside: Outside) -> list[Any]:
    rows: list[Any] = []

    def work(cursor: Any) -> None:
        cursor.execute(query, values)
        rows.extend(cursor.fetchall())

    _transaction(dialect, outside, work)
    return rows


def _loaded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):  # another tool wrote it, or the column has the type JSON
        return text


def _insert(dialect: Dialect, table: str, row: Mapping[str, Any]) -> str:
    names = ", ".join(f"{dialect.quote}{name}{dialect.quote}" for name in row)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join([dialect.mark] * len(row))})"


def _has_row(dialect: Dialect, cursor: Any, table: str, row: Mapping[str, Any]) -> bool:
    wanted = " AND ".join(f"{dialect.quote}{name}{dialect.quote} = {dialect.mark}" for name in row)
    cursor.execute(f"SELECT 1 FROM {table} WHERE {wanted}", list(row.values()))
    return cursor.fetchone() is not None


def _transaction(dialect: Dialect, outside: Outside, work: Callable[[Any], Any]) -> None:
    try:
        connection = outside.context.get("connection")
        if connection is None:
            connection = dialect.connect(outside.options, outside.limit)
            outside.context["connection"] = connection
        cursor = connection.cursor()
        try:
            work(cursor)
        finally:
            cursor.close()
        connection.commit()
    except dialect.errors as exc:
        _drop(dialect, outside)
        text = " ".join(str(exc.args[-1] if exc.args else exc).split()) or type(exc).__name__
        if isinstance(exc, dialect.wrong):
            hint = "docs/returners.md has the tables; the database's own log may say more"
        else:
            hint = "is it up, and are host, port, user, password and database of the configuration right?"
        raise Trouble(f"{dialect.name}: {text}", hint) from None


def _drop(dialect: Dialect, outside: Outside) -> None:
    connection = outside.context.pop("connection", None)
    if connection is not None:
        try:
            connection.close()
        except dialect.errors:
            pass
