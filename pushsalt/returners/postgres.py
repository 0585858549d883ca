"""Salt's tables on a PostgreSQL server. Salt: salt.returners.postgres. Needs psycopg: ``pip install
'pushsalt[postgres]'``.

::

    returner.postgres: {host: db.internal, user: salt, passwd: sdb://vault/db/salt, db: salt, port: 5432}

``host`` may be the folder of a Unix socket. ``sslmode`` and ``sslrootcert`` are libpq's: ``verify-full`` checks the
server's certificate. docs/returners.md has the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from pushsalt.returners import Outside, Trouble
from pushsalt.returners.tables import (
    Dialect,
    ids,
    last_returns,
    loads,
    returns_of_job,
    salt_columns,
    store_events,
    store_load,
    store_return,
)

OPTIONS: Final = {
    "host": "localhost",
    "user": "salt",
    "passwd": "salt",
    "db": "salt",
    "port": 5432,
    "sslmode": "prefer",
    "sslrootcert": "",
}
SECRETS: Final = ("passwd",)


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    store_return(_dialect(), ret, outside)


def save_load(jid: str, load: Mapping[str, Any], minions: Sequence[str] | None = None, *, outside: Outside) -> None:
    store_load(_dialect(), jid, load, outside)


def event_return(events: Sequence[Mapping[str, Any]], *, outside: Outside) -> None:
    store_events(_dialect(), events, outside)


def get_jid(jid: str, *, outside: Outside) -> dict[str, Any]:
    return returns_of_job(_dialect(), jid, outside)


def get_fun(fun: str, *, outside: Outside) -> dict[str, Any]:
    return last_returns(_dialect(), fun, outside)


def get_jids(*, outside: Outside) -> dict[str, Any]:
    return loads(_dialect(), outside)


def get_minions(*, outside: Outside) -> list[str]:
    return ids(_dialect(), outside)


@cache
def _dialect() -> Dialect:
    try:
        import psycopg
    except ImportError as exc:
        raise Trouble(f"postgres needs the library psycopg: {exc}", "pip install 'pushsalt[postgres]'") from None

    def connect(options: Mapping[str, Any], limit: float) -> Any:
        more = {"sslrootcert": options["sslrootcert"]} if options["sslrootcert"] else {}
        return psycopg.connect(
            host=options["host"],
            port=options["port"],
            user=options["user"],
            password=options["passwd"],
            dbname=options["db"],
            sslmode=options["sslmode"],
            connect_timeout=max(2, int(limit)),
            application_name="pushsalt",
            **more,
        )

    return Dialect(
        "postgres",
        connect,
        errors=(psycopg.Error,),
        wrong=(psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError),
        columns=lambda ret: {**salt_columns(ret), "success": str(bool(ret.get("success"))).lower()},
    )
