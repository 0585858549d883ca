"""Secrets from where they live: ``sdb://PROFILE/KEY`` means what the driver of a profile has for that key.

A profile is an option of the configuration with a ``driver``; no other place names one. ``uri`` has the grammar,
``store`` asks the drivers, ``drivers/`` has one file for each. A driver has Salt's functions, so that users' own, from
``_sdb`` folders, work unchanged::

    get(key, service=None, profile=None)           the value, None where there is none
    set_(key, value, service=None, profile=None)   (``__func_alias__`` calls it ``set``)
    delete(key, service=None, profile=None)

Of these only ``get`` must be there. ``profile`` are the profile's options. A function that has a parameter ``outside``
gets an ``Outside`` by it. Drivers run on the controller, in worker threads, one call of a profile at a time. Whatever
they raise is an error of the targets that need the value; our own raise ``Trouble``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

#: Seconds that a server may take for one answer, all of it, unless the profile has ``timeout``.
TIMEOUT = 15.0
#: Bytes of one answer, of whatever driver.
MAX_BYTES = 1024 * 1024


class Trouble(Exception):
    """A driver that cannot answer: what went wrong, and what to do.

    ``down``: nothing else of this profile would work now.
    """

    def __init__(self, message: str, hint: str, *, down: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.down = down


class Completed(Protocol):
    """How a program ended."""

    @property
    def code(self) -> int: ...

    @property
    def out(self) -> bytes: ...

    @property
    def err(self) -> bytes: ...


class RunProgram(Protocol):
    """Runs a program of the controller. Raises OSError when it cannot be started, TimeoutError when it does not end."""

    def __call__(self, argv: Sequence[str], *, input: bytes = b"") -> Completed: ...


class Driver(Protocol):
    """What a driver must have at least."""

    def get(self, key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any: ...


def _no_decryption(data: Any) -> Any:
    raise Trouble("nothing can be decrypted here", "leave `gpg` out of the profile")


@dataclass(frozen=True)
class Outside:
    """What a driver may use of this machine.

    ``run`` runs a program; ``decrypt`` gives data with the PGP messages in it in plain; ``opts`` is the configuration;
    ``salt`` has the functions that users' own drivers find as ``__salt__``.
    """

    run: RunProgram
    decrypt: Callable[[Any], Any] = _no_decryption
    opts: Mapping[str, Any] = field(default_factory=dict)
    salt: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


class Asked(NamedTuple):
    """A key as its driver reads it: ``path?name=value&other=…``."""

    path: str
    fields: dict[str, str]


def seconds(profile: Mapping[str, Any]) -> float:
    """The profile's ``timeout``. Raises Trouble for what is no number."""
    given = profile.get("timeout", TIMEOUT)
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise Trouble(f"`timeout` must be a number of seconds, not {given!r}", "correct the profile") from None
    return min(max(found, 0.1), 600.0)
