"""Keys of a Redis server, by its own protocol: no client need be installed. Salt: salt.sdb.redis_sdb.

::

    cache: {driver: redis, host: redis.internal, port: 6379, db: 1, password: sdb://osenv/REDIS_PASSWORD}
    sdb://cache/db_password

``username`` for servers with accounts; ``ssl: true`` for TLS, with ``ssl_ca_certs``; a path as ``host`` is a Unix
socket.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from pushsalt.sdb import MAX_BYTES, Trouble, seconds
from pushsalt.sdb.bounded import within
from thin.utils.programs import resp

__func_alias__ = {"set_": "set"}


def get(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any:
    return _called(profile, "GET", key)


def set_(key: str, value: Any, service: str | None = None, profile: Mapping[str, Any] | None = None) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Trouble("a key of Redis has text or a number", "set it to text")
    return bool(_called(profile, "SET", key, str(value)) == "OK")


def delete(key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any:
    """Delete a key; returns the number of deleted keys, 0 or 1."""
    return _called(profile, "DEL", key)


def _called(profile: Mapping[str, Any] | None, *words: str) -> Any:
    options = profile or {}
    limit = seconds(options)

    def call() -> Any:
        with resp.Client(
            options.get("host") or "localhost",
            options.get("port") or 6379,
            options.get("db"),
            options.get("password"),
            user=options.get("username"),
            timeout=limit,
            max_size=MAX_BYTES,
            tls=_tls(options),
        ) as server:
            return server(*words)

    place = f"Redis at {options.get('host') or 'localhost'}"
    hint = "is the server up, and are host, port and password of the profile right?"
    try:
        return within(limit, call, place, hint)
    except resp.ConnectionError as exc:
        raise Trouble(str(exc), hint, down=True) from None
    except resp.ResponseError as exc:
        down = any(word in str(exc) for word in ("NOAUTH", "WRONGPASS", "LOADING", "invalid password"))
        raise Trouble(str(exc), hint, down=down) from None


def _tls(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    if not options.get("ssl"):
        return None
    try:
        return ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
    except (OSError, ssl.SSLError) as exc:
        place = options.get("ssl_ca_certs")
        raise Trouble(f"the authorities in {place} cannot be read: {exc}", "correct `ssl_ca_certs`") from None
