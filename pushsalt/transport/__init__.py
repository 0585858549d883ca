"""Transports: ``connect(target, options)`` returns a Connection, ``Connection.open(words)`` a Stream of bytes.

There is one file per transport, with ``async connect(target, options) -> Connection``, which is loaded on first use. A
user's transport may also have ``async close(options)``, to close objects in ``options.shared``, and may use a shipped
one (``pushsalt.transport.local``). If a target cannot be reached, TargetError with a kind is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from pushsalt import plugins
from pushsalt.errors import ConfigError, PushsaltError, TargetError
from pushsalt.model import Target

log = logging.getLogger(__name__)

#: Seconds that a user's transport has to close a connection, and its shared objects.
CLOSE_TIMEOUT = 10.0


class Stream(Protocol):
    """One running command, with its stdin and stdout."""

    #: The last 64 KiB of stderr.
    stderr: bytearray
    #: Exit status; a negative number is a signal. None: the command still runs, or it ended without a status.
    exit_status: int | None

    async def read(self) -> bytes:
        """The next bytes of stdout, b"" at its end. Raises TargetError connection_lost if the connection is broken."""

    def write(self, data: bytes) -> None:
        """Queue bytes for stdin; they are dropped if the command has ended."""

    def write_eof(self) -> None:
        """Close stdin: nothing more will be written."""

    async def drain(self) -> None:
        """Wait until few bytes are queued."""

    async def wait_closed(self) -> None:
        """Wait until the command has ended and its exit status is known."""

    def close(self) -> None:
        """Close stdin, so that the command stops; its output is not read any more."""

    def abort(self) -> None:
        """Close the stream at once."""


class Keeper(Protocol):
    """A process that holds connections (``transport.brokered``). ``seconds``: how long it keeps an idle one open."""

    seconds: float

    async def connect(self, target: Target, options: ConnectOptions) -> Connection | None:
        """A connection that the process holds; None if it cannot make this one. Raises TargetError."""

    def start_beacons(self) -> None:
        """Start the process that evaluates the beacons of the session's targets, if it does not run."""


class Connection(Protocol):
    """A login on a target. ``user``: the login's name, None if unknown."""

    user: str | None

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> Stream:
        """Run a command: a list of words, or a text for the login shell.

        ``on_stderr`` is called with each received piece of stderr.
        """

    async def close(self) -> None:
        """Give the connection back. Takes a limited time and never raises."""


@dataclass(frozen=True)
class ConnectOptions:
    """Options of the command and the configuration for connecting. Times in seconds.

    ``connect_timeout`` limits TCP, banner, key exchange and login together; a target's own ``timeout`` wins.
    ``known_hosts`` and ``ssh_config`` are files that replace the user's and the system's; () for none.
    ``known_hosts_file`` replaces only the user's, unless the host's ssh_options name another.
    ``inventory`` resolves the ids that ``jump`` names.
    """

    accept_new_host_keys: bool = False
    connect_timeout: float = 15.0
    keepalive_interval: float = 15.0
    keepalive_count: int = 4
    known_hosts: tuple[Path, ...] | None = None
    known_hosts_file: Path | None = None
    ssh_config: tuple[Path, ...] | None = None
    inventory: Mapping[str, Target] = field(default_factory=dict)
    #: Private objects of each transport that its connections share (loaded keys, jump hosts), by transport.
    shared: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    #: Folders of users' transports, and those that were used, by name.
    plugin_folders: tuple[Path, ...] = ()
    loaded: dict[str, ModuleType] = field(default_factory=dict, compare=False, repr=False)
    #: the keeper of a kept session; None without one
    keeper: Keeper | None = field(default=None, compare=False, repr=False)


async def connect(target: Target, options: ConnectOptions) -> Connection:
    """Log in on the target. Raises TargetError, also for all exceptions of a user's transport, and for a time-out."""
    import asyncio  # an import at the top would delay every command

    if target.transport == "ssh" and options.keeper is not None:
        kept = await options.keeper.connect(target, options)
        if kept is not None:
            return kept
    transport = _loaded(target, options)
    bound = None if transport.__name__.startswith(__name__) else target.timeout or options.connect_timeout
    try:
        begun = transport.connect(target, options)
        connection: Connection = await (asyncio.wait_for(begun, bound) if bound else begun)
    except PushsaltError:
        raise
    except asyncio.TimeoutError as exc:
        if bound is None:
            raise
        text = f"{target.id}: the transport {target.transport} has not connected in {bound:g} s"
        hint = f"raise `timeout` of the target, or find out what {transport.__file__} waits for"
        raise TargetError("connect_timeout", text, hint) from exc
    except (Exception, SystemExit) as exc:  # a user's transport may raise anything
        where = plugins.place_of(transport, exc)
        if where is None and transport.__name__.startswith(__name__):
            raise
        text = f"the transport {target.transport} fails: {where or transport.__file__}: {type(exc).__name__}: {exc}"
        raise TargetError("unreachable", f"{target.id}: {text}", "correct the transport's file") from exc
    return connection


async def disconnect(connection: Connection) -> None:
    """Close a connection, within a time limit for users' transports."""
    if type(connection).__module__.startswith(__name__):
        await connection.close()
    else:
        await _ended(connection.close, f"a connection of {type(connection).__module__.rpartition('.')[2]}")


async def close_all(options: ConnectOptions) -> None:
    """Close the shared objects of a command: calls ``close(options)`` of each transport that was used."""
    for transport in list(options.loaded.values()):
        close = getattr(transport, "close", None)
        if close is not None and not transport.__name__.startswith(__name__):
            await _ended(partial(close, options), f"the transport {transport.__file__}")


async def _ended(close: Callable[[], Awaitable[None]], what: str) -> None:
    import asyncio  # an import at the top would delay every command

    try:
        await asyncio.wait_for(close(), CLOSE_TIMEOUT)
    except asyncio.TimeoutError:
        log.warning("%s did not close in %g s", what, CLOSE_TIMEOUT)
    except (Exception, SystemExit) as exc:  # a user's transport may raise anything; all returns have arrived
        log.warning("%s cannot be closed: %s: %s", what, type(exc).__name__, exc)


def _loaded(target: Target, options: ConnectOptions) -> ModuleType:
    name = target.transport
    if name not in options.loaded:
        try:
            options.loaded[name] = plugins.load("transport", name, options.plugin_folders)
        except ConfigError as exc:
            text = f"{target.id}: the transport {name} cannot be used: {exc}"
            raise TargetError("unreachable", text, exc.hint or "correct the transport's file") from exc
    return options.loaded[name]
