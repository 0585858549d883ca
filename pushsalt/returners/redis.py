"""Keys of a Redis server. Salt: salt.returners.redis_return. Needs redis: ``pip install 'pushsalt[redis]'``.

::

    returner.redis: {host: redis.internal, port: 6379, db: 0, password: sdb://vault/redis}

The keys are Salt's: ``ret:JID`` (a hash, id -> return), ``load:JID``, ``ID:FUNCTION`` (the last JID), the set
``minions``; the first two expire after ``ttl`` seconds (``keep_jobs_seconds``, a day). ``unix_socket_path`` is the path
of a socket; ``ssl: true`` checks the server's certificate, by the authorities in ``ssl_ca_certs``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pushsalt.returners import Outside, Trouble
from pushsalt.returners.tables import as_json, plain

OPTIONS: Final = {
    "host": "salt",
    "port": 6379,
    "db": 0,
    "username": "",
    "password": "",
    "unix_socket_path": "",
    "ssl": False,
    "ssl_ca_certs": "",
    "ttl": 86400,
}
SECRETS: Final = ("password",)

_EVENTS: Final = "salt_events"
#: maximum number of events in the list
_MOST_EVENTS: Final = 100_000


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    jid, id = plain(ret.get("jid"), 255), plain(ret.get("id"), 255)

    def words(pipeline: Any) -> None:
        pipeline.hset(f"ret:{jid}", id, as_json(ret))
        pipeline.expire(f"ret:{jid}", outside.options["ttl"])
        pipeline.set(f"{id}:{plain(ret.get('fun'), 255)}", jid)
        pipeline.sadd("minions", id)

    _send(outside, words)


def save_load(jid: str, load: Mapping[str, Any], minions: Sequence[str] | None = None, *, outside: Outside) -> None:
    _send(outside, lambda pipeline: pipeline.set(f"load:{plain(jid, 255)}", as_json(load), ex=outside.options["ttl"]))


def event_return(events: Sequence[Mapping[str, Any]], *, outside: Outside) -> None:
    """Add events to the list ``salt_events``, the newest first."""

    rows = [as_json(event) for event in events]

    def words(pipeline: Any) -> None:
        for row in rows if outside.again else ():
            pipeline.lrem(_EVENTS, 0, row)
        pipeline.lpush(_EVENTS, *rows)
        pipeline.ltrim(_EVENTS, 0, _MOST_EVENTS - 1)

    if events:
        _send(outside, words)


def _send(outside: Outside, words: Any) -> None:
    try:
        import redis
    except ImportError as exc:
        raise Trouble(f"redis needs the library redis: {exc}", "pip install 'pushsalt[redis]'") from None
    client = outside.context.get("client")
    if client is None:
        client = outside.context["client"] = _client(redis, outside)
    try:
        pipeline = client.pipeline(transaction=True)
        words(pipeline)
        pipeline.execute()
    except (redis.RedisError, OSError) as exc:
        text = " ".join(str(exc).split()) or type(exc).__name__
        hint = "is it up, and are host, port and password of the configuration right?"
        raise Trouble(f"redis: {text}", hint) from None


def _client(redis: Any, outside: Outside) -> Any:
    options = outside.options
    common = {
        "db": options["db"],
        "username": options["username"] or None,
        "password": options["password"] or None,
        "socket_timeout": outside.limit,
        "socket_connect_timeout": outside.limit,
    }
    if options["unix_socket_path"]:
        return redis.Redis(unix_socket_path=options["unix_socket_path"], **common)
    if options["ssl"]:
        common |= {"ssl": True, "ssl_cert_reqs": "required", "ssl_check_hostname": True}
        common |= {"ssl_ca_certs": options["ssl_ca_certs"] or None}
    return redis.Redis(host=options["host"], port=options["port"], **common)
