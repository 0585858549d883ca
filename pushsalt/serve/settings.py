"""The settings of ``pushsalt serve``: Salt's ``rest_cherrypy`` and ``external_auth``, checked."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import ConfigError, UsageError, in_words

if TYPE_CHECKING:
    from pushsalt.config import Config

log = logging.getLogger(__name__)

#: The supported clients of lowstate. Salt: ``salt.netapi.CLIENTS``.
CLIENTS: Final = ("local", "local_async", "local_batch", "local_subset", "runner", "runner_async")
#: Characters that a name of an account must not have: those of globs and of Salt's groups, and control characters.
FORBIDDEN: Final = frozenset("*?[]%^:/\\\"' ") | {chr(code) for code in (*range(32), 127)}
#: Minimum characters of a secret of webhooks.
_SECRET_LENGTH: Final = 16
_HINT: Final = "see docs/serve.md"
_HOST: Final = "127.0.0.1"
_PORT: Final = 8000
#: The supported options of Salt.
_OPTIONS: Final = frozenset(
    (
        "host",
        "port",
        "ssl_crt",
        "ssl_key",
        "ssl_chain",
        "disable_ssl",
        "max_request_body_size",
        "thread_pool",
        "webhook_url",
        "webhook_disable_auth",
        "webhook_secret",
        "authorized_ips",
        "api_acl",
    )
)
_INSECURE: Final = ("webhook_disable_auth", "stats_disable_auth")


@dataclass(frozen=True)
class ServeSettings:
    """``certificate``: files of the certificate, its key and its chain; None for plain HTTP, on loopback only.

    ``body``: maximum bytes of a body; ``parallel``: maximum number of concurrent requests, and of jobs; ``secrets``:
    those of signed webhooks, by globs for their paths; ``addresses``: clients that may connect, all if it is empty;
    ``acl``: addresses by account.
    """

    host: str = _HOST
    port: int = _PORT
    certificate: tuple[Path, Path, Path | None] | None = None
    body: int = 1 << 20
    parallel: int = 100
    hook: str = "hook"
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    addresses: tuple[str, ...] = ()
    acl: Mapping[str, Any] = field(default_factory=dict)
    clients: tuple[str, ...] = CLIENTS
    #: seconds: lifetime of a token, and time limit of a runner function
    expire: int = 43200
    runner: float = 300.0

    @property
    def url(self) -> str:
        """The URL of the service."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}/"


def load(config: Config, listen: str | None = None) -> ServeSettings:
    """The settings of a configuration. ``listen``: the address of the command line. Raises ConfigError, UsageError."""
    given, opts = config.opts["rest_cherrypy"] or {}, config.opts
    folder = config.path.parent if config.path else Path.cwd()
    for name in sorted(set(map(str, given)) - _OPTIONS):
        log.warning("rest_cherrypy: %s has no effect: %s", name, _HINT)
    if any(given.get(name) for name in _INSECURE):
        hint = "programs can sign requests to webhooks: webhook_secret; " + _HINT
        raise ConfigError("rest_cherrypy: requests without a token or a signature cannot be allowed", hint)
    host, port = address(listen) if listen else (str(given.get("host", _HOST)), _number(given, "port", _PORT, 0, 65535))
    certificate = _certificate(given, folder)
    if certificate is None and not is_loopback(host):
        hint = "set ssl_crt and ssl_key of rest_cherrypy, or listen on 127.0.0.1 behind a proxy that has a certificate"
        raise ConfigError(f"{host} is reachable by others, so passwords and tokens need TLS", hint)
    return ServeSettings(
        host=host,
        port=port,
        certificate=certificate,
        body=_number(given, "max_request_body_size", 1 << 20, 1, 1 << 30),
        parallel=_number(given, "thread_pool", 100, 1, 1000),
        hook=str(given.get("webhook_url", "hook")).strip("/") or "hook",
        secrets=_secrets(given.get("webhook_secret")),
        addresses=tuple(map(str, _list(given, "authorized_ips"))),
        acl=_acl(given.get("api_acl")),
        clients=_clients(opts["netapi_enable_clients"]),
        expire=max(1, int(opts["token_expire"])),
        runner=float(opts["rest_timeout"]),
    )


def address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``, or of ``:PORT`` (loopback). Raises UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or "/" in text:
        raise UsageError(f"--listen: {text!r} is not an address", "for example 127.0.0.1:8000, or :8000")
    return host.removeprefix("[").removesuffix("]") or _HOST, int(port)


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _certificate(given: Mapping[str, Any], folder: Path) -> tuple[Path, Path, Path | None] | None:
    if given.get("disable_ssl"):
        return None
    names = [given.get(name) for name in ("ssl_crt", "ssl_key", "ssl_chain")]
    if not names[0] and not names[1]:
        return None
    if not names[0] or not names[1]:
        raise ConfigError("rest_cherrypy: ssl_crt and ssl_key must be set together", _HINT)
    crt, key, chain = (folder / str(name) if name else None for name in names)
    assert crt is not None
    assert key is not None
    return crt, key, chain


def _number(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"rest_cherrypy: {name} must be a number from {least} to {most}, not {value!r:.40}", _HINT)
    return value


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    value = given.get(name) or []
    if not isinstance(value, list):
        raise ConfigError(f"rest_cherrypy: {name} must be a list, not {in_words(value)}", _HINT)
    return value


def _secrets(given: Any) -> dict[str, str]:
    """The secrets of webhooks by globs for paths below the hook; a single secret is for all paths."""
    if not given:
        return {}
    by_glob = given if isinstance(given, dict) else {"*": given}
    for glob, secret in by_glob.items():
        if not isinstance(glob, str) or not isinstance(secret, str):
            raise ConfigError("rest_cherrypy: webhook_secret must be a text, or a map of globs to texts", _HINT)
        if len(secret) < _SECRET_LENGTH:
            raise ConfigError(f"rest_cherrypy: the webhook_secret of {glob!r} is too short", "at least 16 characters")
    return dict(by_glob)


def _acl(given: Any) -> dict[str, Any]:
    """Salt's ``api_acl: {users: {NAME: [ADDRESS]}}``."""
    users = given.get("users", {}) if isinstance(given, dict) else given
    if not users:
        return {}
    if not isinstance(users, dict) or not all(isinstance(addresses, list) for addresses in users.values()):
        raise ConfigError("rest_cherrypy: api_acl must be {users: {NAME: [ADDRESS]}}", _HINT)
    return {str(name): [str(one) for one in addresses] for name, addresses in users.items()}


def _clients(given: list[Any]) -> tuple[str, ...]:
    """The enabled clients: ``netapi_enable_clients``, or all."""
    return tuple(name for name in CLIENTS if name in given) if given else CLIENTS
