"""What a command and the keeper of connections say to each other, over a Unix socket for each target.

``kind (1 byte) | number of the stream (4) | length (4) | payload``; payloads of several values are msgpack maps.

========  ==========================================================================================================
command   ``l`` target, options, jumps, about: asks for a connection · ``o`` words, pty: run a command ·
          ``i`` bytes for its stdin · ``z`` end of stdin · ``c`` close · ``a`` abort · ``p`` about: keep the stream
          open, with what the next command needs to know of it · ``r`` take up the one that was kept, as stream 0 ·
          ``d`` the connection is given back
keeper    ``L`` user, about (of the stream that was kept): the connection · ``N`` names: ask again, with these jump
          hosts · ``A`` not here: connect yourself · ``E`` kind, message, hint: it failed, or a command was not
          started · ``O`` it was started · ``o`` bytes of stdout · ``e`` of stderr · ``k`` bytes that were taken ·
          ``z`` end of stdout · ``x`` kind, message, hint: the connection broke · ``s`` status: it has ended ·
          ``g`` level, name, text: a line of the log
control   ``?`` list · ``q`` ids: let go of them, or of all · answers ``!``
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
#: Bytes that a writer may be ahead of those that were taken.
WINDOW: Final = 1024 * 1024
_SECRET: Final = ("passwd", "priv_passwd")
#: Of a target, what a connection is made by.
_NEEDED: Final = tuple(
    each.name
    for each in fields(Target)
    if each.name
    not in ("minion_opts", "grains", "pillar", "groups", "origin", "sudo_password", "python", "thin_dir", "bootstrap")
)
_PATHS: Final = ("known_hosts", "ssh_config")
_PLAIN: Final = ("accept_new_host_keys", "connect_timeout", "keepalive_interval", "keepalive_count")


def frame(kind: bytes, stream: int = 0, data: bytes = b"") -> bytes:
    """A frame."""
    return kind + stream.to_bytes(4, "big") + len(data).to_bytes(4, "big") + data


def said(kind: bytes, stream: int = 0, **values: Any) -> bytes:
    """A frame with several values."""
    packed: bytes = msgpack.packb(values, unicode_errors="surrogateescape")
    return frame(kind, stream, packed)


def values(data: bytes) -> dict[str, Any]:
    """The values in a payload. Raises ValueError."""
    found = msgpack.unpackb(data, unicode_errors="surrogateescape", strict_map_key=True)
    if not isinstance(found, dict):
        raise ValueError("no map")
    return found


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
    """The values of an error."""
    return {"kind": exc.kind, "message": exc.message, "hint": exc.hint}


def raised(found: Mapping[str, Any]) -> TargetError:
    """The error of these values."""
    return TargetError(str(found["kind"]), str(found["message"]), str(found["hint"]))


def of_target(target: Target) -> dict[str, Any]:
    """What a connection with this target is made by."""
    found = {name: getattr(target, name) for name in _NEEDED}
    return {name: str(value) if isinstance(value, Secret) else value for name, value in found.items()}


def to_target(given: Mapping[str, Any]) -> Target:
    """The target of these values."""
    found: dict[str, Any] = {name: given[name] for name in _NEEDED}
    for name, value in found.items():
        if isinstance(value, list):
            found[name] = tuple(value)
        elif name in _SECRET and value is not None:
            found[name] = Secret(value)
    return Target(**found)


def of_options(options: ConnectOptions) -> dict[str, Any]:
    """The options of connecting, without jump hosts and what is shared."""
    found: dict[str, Any] = {name: getattr(options, name) for name in _PLAIN}
    for name in _PATHS:
        paths = getattr(options, name)
        found[name] = None if paths is None else [str(path) for path in paths]
    found["known_hosts_file"] = str(options.known_hosts_file) if options.known_hosts_file is not None else None
    return found


def to_options(given: Mapping[str, Any], jumps: Mapping[str, Target], shared: dict[str, Any]) -> ConnectOptions:
    """The options of these values."""
    found: dict[str, Any] = {name: given[name] for name in _PLAIN}
    for name in _PATHS:
        found[name] = None if given[name] is None else tuple(Path(path) for path in given[name])
    beside = given["known_hosts_file"]
    found["known_hosts_file"] = None if beside is None else Path(beside)
    return ConnectOptions(inventory=jumps, shared=shared, **found)


def environment(env: Mapping[str, str]) -> str:
    """A digest of the environment, without what differs from one shell to the next."""
    import hashlib

    kept = sorted(f"{name}={value}" for name, value in env.items() if name not in _OF_SHELL)
    return hashlib.sha256("\0".join(kept).encode("utf-8", "surrogateescape")).hexdigest()


_OF_SHELL: Final = frozenset(("_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "TERM", "WINDOWID", "NO_COLOR"))
