"""The list that the root signs: which authorities an environment has, until when, and by which rules.

JSON, whose bytes are signed (``ssh-keygen -Y sign``, namespace ``manifest.ca@pushsalt``)::

    {"format": "pushsalt-ca 1", "name": "example", "serial": 3, "issued": S, "expires": S, "environments": {
        "prod": {"user_authorities": ["ssh-ed25519 AAAA"], "host_authorities": [...], "roles": ["web"],
                 "hosts": ["*.prod.example.com"], "user_max": 86400, "host_max": 7776000}}}

Times are seconds since the epoch, durations seconds. The first authority signs; the others are still trusted. Empty
``roles`` and ``hosts`` allow any.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt.ca import CaError, names, program
from pushsalt.ca.wire import PublicKey, WireError, parse_public
from pushsalt.errors import UsageError

FORMAT: Final = "pushsalt-ca 1"
NAMESPACE: Final = "manifest.ca@pushsalt"
SIGNER: Final = "root"
USER_MAX: Final = 86400
HOST_MAX: Final = 90 * 86400
MAX_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True)
class Environment:
    user_authorities: tuple[PublicKey, ...]
    host_authorities: tuple[PublicKey, ...]
    roles: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    user_max: int = USER_MAX
    host_max: int = HOST_MAX

    def authorities(self, host: bool) -> tuple[PublicKey, ...]:
        return self.host_authorities if host else self.user_authorities

    def as_data(self) -> dict[str, Any]:
        return {
            "user_authorities": [key.line for key in self.user_authorities],
            "host_authorities": [key.line for key in self.host_authorities],
            "roles": list(self.roles),
            "hosts": list(self.hosts),
            "user_max": self.user_max,
            "host_max": self.host_max,
        }


@dataclass(frozen=True)
class Manifest:
    name: str
    serial: int
    issued: int
    expires: int
    environments: dict[str, Environment] = field(default_factory=dict)

    def encode(self) -> bytes:
        data = {
            "format": FORMAT,
            "name": self.name,
            "serial": self.serial,
            "issued": self.issued,
            "expires": self.expires,
            "environments": {name: env.as_data() for name, env in sorted(self.environments.items())},
        }
        return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()

    def environment(self, name: str) -> Environment:
        """Raises UsageError."""
        environment = self.environments.get(name)
        if environment is None:
            names = ", ".join(sorted(self.environments)) or "none yet"
            raise UsageError(
                f"there is no environment {name!r}", hint=f"there are: {names}; `pushsalt ca init {name}` makes it"
            )
        return environment

    def authorities(self) -> list[PublicKey]:
        """Every authority of every environment."""
        return [key for env in self.environments.values() for key in (*env.user_authorities, *env.host_authorities)]


def decode(data: bytes, root: PublicKey, where: str) -> Manifest:
    """The manifest in these bytes. Raises CaError if it is incomplete or uses a key twice."""
    try:
        fields = json.loads(data)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        manifest = Manifest(
            name=_text(fields["name"]),
            serial=_integer(fields["serial"]),
            issued=_integer(fields["issued"]),
            expires=_integer(fields["expires"]),
            environments={names.environment(name): _environment(env) for name, env in fields["environments"].items()},
        )
        keys = [root.blob, *(key.blob for key in manifest.authorities())]
        if len(set(keys)) != len(keys):
            raise ValueError("a key is used twice: each authority must have a separate key")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UsageError) as exc:
        raise CaError(
            f"{where} is not a manifest: {exc}", hint="restore it from a backup, or sign it again with the root"
        ) from exc
    return manifest


def verify(data: bytes, signature: bytes, root: PublicKey, where: str) -> None:
    """Raises CaError unless the root signed these bytes as a manifest. ``ssh-keygen -Y verify`` decides."""
    with tempfile.TemporaryDirectory(prefix="pushsalt-ca.") as folder:
        signers, given = Path(folder) / "signers", Path(folder) / "signature"
        signers.write_text(f'{SIGNER} namespaces="{NAMESPACE}" {root.line}\n')
        given.write_bytes(signature)
        argv = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", SIGNER, "-n", NAMESPACE, "-s", str(given)]
        done = program.run(argv, stdin=data, patience=30)
    if done.code:
        raise CaError(
            f"{where} does not have a signature of the root {root.fingerprint}, and is not used",
            hint="restore both files from a backup, or sign it with the root (`pushsalt ca init --sign`)",
        )


def _environment(data: Any) -> Environment:
    users = tuple(_key(line) for line in data["user_authorities"])
    hosts = tuple(_key(line) for line in data["host_authorities"])
    if not users or not hosts:
        raise ValueError("an environment has no authority")
    return Environment(
        users,
        hosts,
        tuple(names.role(name) for name in data["roles"]),
        tuple(names.host_pattern(text) for text in data["hosts"]),
        _integer(data["user_max"]),
        _integer(data["host_max"]),
    )


def _key(line: Any) -> PublicKey:
    try:
        return parse_public(_text(line))
    except WireError as exc:
        raise ValueError(f"an authority's key: {exc}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a text")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise ValueError(f"{value!r} is not a number")
    return value
