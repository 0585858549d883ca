"""Salt's tables on a MySQL or MariaDB server. Salt: salt.returners.mysql. Needs PyMySQL: ``pip install
'pushsalt[mysql]'``.

::

    returner.mysql: {host: db.internal, user: salt, pass: sdb://vault/db/salt, db: salt, port: 3306}

``unix_socket`` is the path of a socket, ``ssl_ca`` a file of authorities: then the connection is encrypted and the
server's certificate checked, with ``ssl_cert`` and ``ssl_key`` of the client. docs/returners.md has the tables.
"""

from __future__ import annotations

import ssl
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
    "host": "salt",
    "user": "salt",
    "pass": "salt",
    "db": "salt",
    "port": 3306,
    "unix_socket": "",
    "ssl_ca": "",
    "ssl_cert": "",
    "ssl_key": "",
}
SECRETS: Final = ("pass",)


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
        import pymysql
    except ImportError as exc:
        raise Trouble(f"mysql needs the library PyMySQL: {exc}", "pip install 'pushsalt[mysql]'") from None

    def connect(options: Mapping[str, Any], limit: float) -> Any:
        return pymysql.connect(
            host=options["host"],
            port=options["port"],
            user=options["user"],
            password=options["pass"],
            database=options["db"],
            unix_socket=options["unix_socket"] or None,
            ssl=_tls(options),
            charset="utf8mb4",
            connect_timeout=max(1, int(limit)),
            read_timeout=max(1, int(limit)),
            write_timeout=max(1, int(limit)),
            program_name="pushsalt",
            local_infile=False,
        )

    return Dialect(
        "mysql",
        connect,
        errors=(pymysql.err.Error, OSError),
        wrong=(pymysql.err.ProgrammingError, pymysql.err.DataError, pymysql.err.IntegrityError),
        columns=salt_columns,
        quote="`",
        ignore="ON DUPLICATE KEY UPDATE `jid` = `jid`",
    )


def _tls(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    if not options["ssl_ca"]:
        return None
    try:
        context = ssl.create_default_context(cafile=options["ssl_ca"])
        if options["ssl_cert"]:
            context.load_cert_chain(options["ssl_cert"], options["ssl_key"] or None, password="")
    except (OSError, ssl.SSLError) as exc:
        raise Trouble(
            f"mysql: the certificates cannot be read: {exc}", "correct `ssl_ca`, `ssl_cert`, `ssl_key`"
        ) from None
    return context
