"""Ways to a target: ``connect(target, options)`` gives a Connection, ``Connection.open(words)`` one Stream of bytes.

One file per transport, with ``connect(target, options) -> Connection``; a transport is loaded when the first target
uses it. Whatever keeps a target from being reached is a TargetError with its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pushsalt.model import Target


class Stream(Protocol):
    """One running command: bytes both ways."""

    #: What came on stderr, its last 64 KiB.
    stderr: bytearray
    #: Exit status once known: negative numbers are signals. None: not ended, or it ended without saying how.
    exit_status: int | None

    async def read(self) -> bytes:
        """The next bytes of stdout, b"" at its end. Raises TargetError connection_lost when the connection broke."""

    def write(self, data: bytes) -> None:
        """Queue bytes for stdin; nothing happens when the command has ended."""

    def write_eof(self) -> None:
        """Nothing more will be written: its stdin ends."""

    async def drain(self) -> None:
        """Wait until little is queued."""

    async def wait_closed(self) -> None:
        """Wait until the command has ended and its exit status is known."""

    def close(self) -> None:
        """End its stdin, so that it stops; nothing more is read."""

    def abort(self) -> None:
        """Let go of it at once, whatever it does."""


class Connection(Protocol):
    """A login on a target. ``user`` is who logged in, None when that is not known."""

    user: str | None

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> Stream:
        """Run a command: its words, or one text for the login's own shell.

        ``on_stderr`` is called with each piece of its stderr as it comes.
        """

    async def close(self) -> None:
        """Give the connection back; bounded in time, never raises."""


@dataclass(frozen=True)
class ConnectOptions:
    """What the command and the configuration say about connecting. Times in seconds.

    ``connect_timeout`` bounds TCP, banner, key exchange and login together; a target's own ``timeout`` comes first.
    ``known_hosts`` and ``ssh_config`` are files to use in place of the user's and the system's; () for none.
    ``known_hosts_file`` stands in place of the user's only, where the host's own ssh_options name no other.
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
    #: What the connections of one command have in common (loaded keys, jump hosts), by transport. Not for others.
    shared: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)


async def connect(target: Target, options: ConnectOptions) -> Connection:
    """Log in on the target. Raises TargetError."""
    transport = import_module(f"pushsalt.transport.{target.transport}")
    connection: Connection = await transport.connect(target, options)
    return connection
