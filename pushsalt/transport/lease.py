"""The messages between a command and the keeper, over one connection to a Unix socket for each target.

``kind (1 byte) | number of the stream (4) | length (4) | payload``; payloads of several values are msgpack maps.

========  ==========================================================================================================
command   ``l`` target, options, jumps, about: request a connection, with ``guest`` one that the keeper has and that
          others use, too · ``o`` words, pty: run a command ·
          ``i`` bytes for its stdin · ``z`` end of stdin · ``c`` close · ``a`` abort · ``p`` about: keep the stream
          open, with this data for the next command · ``b`` last, stop, about: write the last bytes of a session,
          and keep the stream once the session is over; if it is not over in time, write ``stop`` and end it ·
          ``r`` continue the kept stream, as stream 0 · ``d`` give the connection back
keeper    ``w`` the request has come · ``L`` user, about (of the kept stream): the connection · ``N`` names: request
          again, with these jump hosts · ``A`` the keeper cannot make it: connect without the keeper · ``E`` kind,
          message, hint: connecting failed, or a command was not started · ``O`` the command was started ·
          ``o`` bytes of stdout · ``e`` bytes of stderr · ``k`` number of bytes of stdin that were passed on ·
          ``z`` end of stdout · ``x`` kind, message, hint: the connection is broken · ``s`` status: the command has
          ended · ``g`` level, name, text: a log message
control   ``?`` list connections · ``q`` ids: close these connections, or all · the answer is ``!`` ·
          ``f`` follow the connections: ``!`` targets, now and after each change · ``b`` id, names, error: the
          beacons of a target that are evaluated, for lists
========  ==========================================================================================================
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import msgpack

from pushsalt.errors import TargetError
from pushsalt.model import Secret, Target
from pushsalt.transport import ConnectOptions

HEAD: Final = 9
LIMIT: Final = 64 * 1024 * 1024
#: Maximum number of bytes that were written and not yet acknowledged.
WINDOW: Final = 1024 * 1024
_SECRET: Final = ("passwd", "priv_passwd")
_NOT_NEEDED: Final = (
    *(
        "minion_opts",
        "grains",
        "pillar",
        "groups",
        "origin",
        "sudo_password",
        "python",
        "thin_dir",
        "bootstrap",
        "site",
    ),
)
#: Fields of a target that a connection depends on.
_NEEDED: Final = tuple(each.name for each in fields(Target) if each.name not in _NOT_NEEDED)
_PATHS: Final = ("known_hosts", "ssh_config")
_PLAIN: Final = ("accept_new_host_keys", "connect_timeout", "keepalive_interval", "keepalive_count")


def frame(kind: bytes, stream: int = 0, data: bytes = b"") -> bytes:
    """The bytes of a frame."""
    return kind + stream.to_bytes(4, "big") + len(data).to_bytes(4, "big") + data


def message(kind: bytes, stream: int = 0, /, **values: Any) -> bytes:
    """The bytes of a frame with several values."""
    packed: bytes = msgpack.packb(values, unicode_errors="surrogateescape")
    return frame(kind, stream, packed)


def values(data: bytes) -> dict[str, Any]:
    """The values in a payload. Raises ValueError."""
    values = msgpack.unpackb(data, unicode_errors="surrogateescape", strict_map_key=True)
    if not isinstance(values, dict):
        raise ValueError("no map")
    return values


async def read(reader: asyncio.StreamReader) -> tuple[bytes, int, bytes] | None:
    """The next frame as kind, stream and payload; None at the end."""
    try:
        head = await reader.readexactly(HEAD)
        size = int.from_bytes(head[5:], "big")
        if size > LIMIT:
            return None
        return head[:1], int.from_bytes(head[1:5], "big"), await reader.readexactly(size) if size else b""
    except (asyncio.IncompleteReadError, OSError):
        return None


def error(exc: TargetError) -> dict[str, str]:
    """An error as the values of a frame."""
    return {"kind": exc.kind, "message": exc.message, "hint": exc.hint}


def raised(fields: Mapping[str, Any]) -> TargetError:
    """The error that these values describe."""
    return TargetError(str(fields["kind"]), str(fields["message"]), str(fields["hint"]))


def of_target(target: Target) -> dict[str, Any]:
    """The fields of a target that a connection depends on."""
    fields = {name: getattr(target, name) for name in _NEEDED}
    return {name: str(value) if isinstance(value, Secret) else value for name, value in fields.items()}


def to_target(given: Mapping[str, Any]) -> Target:
    """The target that these values describe."""
    fields: dict[str, Any] = {name: given[name] for name in _NEEDED}
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = tuple(value)
        elif name in _SECRET and value is not None:
            fields[name] = Secret(value)
    return Target(**fields)


def of_options(options: ConnectOptions) -> dict[str, Any]:
    """The options for connecting, without jump hosts and shared objects."""
    fields: dict[str, Any] = {name: getattr(options, name) for name in _PLAIN}
    for name in _PATHS:
        paths = getattr(options, name)
        fields[name] = None if paths is None else [str(path) for path in paths]
    fields["known_hosts_file"] = str(options.known_hosts_file) if options.known_hosts_file is not None else None
    return fields


def to_options(given: Mapping[str, Any], jumps: Mapping[str, Target], shared: dict[str, Any]) -> ConnectOptions:
    """The options that these values describe."""
    fields: dict[str, Any] = {name: given[name] for name in _PLAIN}
    for name in _PATHS:
        fields[name] = None if given[name] is None else tuple(Path(path) for path in given[name])
    known_hosts = given["known_hosts_file"]
    fields["known_hosts_file"] = None if known_hosts is None else Path(known_hosts)
    return ConnectOptions(inventory=jumps, shared=shared, **fields)


def digest(asked: Mapping[str, Any]) -> bytes:
    """A digest of the values in a request that a connection depends on."""
    import hashlib

    values = [asked["target"], asked["options"], asked["jumps"]]
    return hashlib.sha256(msgpack.packb(values, unicode_errors="surrogateescape")).digest()


def environment(env: Mapping[str, str]) -> str:
    """A digest of the environment, without the variables that differ between shells."""
    import hashlib

    kept = sorted(f"{name}={value}" for name, value in env.items() if name not in _OF_SHELL)
    return hashlib.sha256("\0".join(kept).encode("utf-8", "surrogateescape")).hexdigest()


_OF_SHELL: Final = frozenset(("_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "TERM", "WINDOWID", "NO_COLOR"))
