"""Secrets from external stores: ``sdb://PROFILE/KEY`` is the value of a key from the driver of a profile.

A profile is an option of the configuration with a ``driver``; profiles cannot be defined elsewhere. ``uri`` has the
grammar, ``store`` calls the drivers, ``drivers/`` has one file for each. Drivers have Salt's functions, so that users'
own, from ``_sdb`` folders, work unchanged::

    get(key, service=None, profile=None)           the value, or None
    set_(key, value, service=None, profile=None)   (``__func_alias__`` calls it ``set``)
    delete(key, service=None, profile=None)

Only ``get`` is required. ``profile`` has the profile's options. A function with a parameter ``outside`` gets an
``Outside``. Drivers run on the controller, in threads, one call of a profile at a time. Their exceptions are errors of
the targets that need the value; shipped drivers raise ``Trouble``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

#: Seconds for a complete answer of a server, unless the profile has ``timeout``.
TIMEOUT = 15.0
#: Bytes of one answer of any driver.
MAX_BYTES = 1024 * 1024


class Trouble(Exception):
    """A driver cannot answer: message and hint.

    ``down``: whether other requests to this profile would fail too.
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
    """The required interface of a driver."""

    def get(self, key: str, service: str | None = None, profile: Mapping[str, Any] | None = None) -> Any: ...


def _no_decryption(data: Any) -> Any:
    raise Trouble("nothing can be decrypted here", "leave `gpg` out of the profile")


@dataclass(frozen=True)
class Outside:
    """The objects that a driver may use.

    ``run`` runs a program; ``decrypt`` returns data with decrypted PGP messages; ``opts`` is the configuration;
    ``salt`` has the functions of ``__salt__`` for users' drivers.
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
    """The profile's ``timeout``. Raises Trouble for anything but a number."""
    given = profile.get("timeout", TIMEOUT)
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise Trouble(f"`timeout` must be a number of seconds, not {given!r}", "correct the profile") from None
    return min(max(number, 0.1), 600.0)
