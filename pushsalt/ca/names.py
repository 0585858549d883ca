"""Checks names that are used in certificates, file names and arguments.

An environment's name has no ``-``, so ``ENV-ROLE`` is one principal of one environment only.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from pushsalt.errors import UsageError

_ENVIRONMENT: Final = re.compile(r"[a-z0-9][a-z0-9_]{0,31}")
_ROLE: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")
_WHO: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,95}")
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_PATTERN: Final = re.compile(r"[a-z0-9_.:*?-]{1,253}")
_DURATION: Final = re.compile(r"(\d{1,9})([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
#: permissions of user certificates, by ssh-keygen's names
PERMITS: Final = ("pty", "port-forwarding", "agent-forwarding", "X11-forwarding", "user-rc")


def environment(name: str) -> str:
    if not _ENVIRONMENT.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name of an environment",
            hint="small letters, digits and `_`, for example prod (no `-`)",
        )
    return name


def role(name: str) -> str:
    if not _ROLE.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name of a role", hint="small letters, digits, `_`, `.` and `-`: for example web"
        )
    return name


def principal(env: str, name: str) -> str:
    """The principal of this environment and role."""
    return f"{environment(env)}-{role(name)}"


def who(name: str, hint: str) -> str:
    """Check the name of a certificate's owner, which is a part of its key id. Raises UsageError with ``hint``."""
    if not _WHO.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name of an owner", hint=hint)
    return name


def host(name: str) -> str:
    """A host name or an address, as clients name the host."""
    text = name.lower().rstrip(".")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        pass
    if not _HOST.fullmatch(text):
        raise UsageError(
            f"{name!r} is neither a host name nor an address",
            hint="a certificate has full names, without wildcards",
        )
    return text


def host_pattern(text: str) -> str:
    if not _PATTERN.fullmatch(text):
        raise UsageError(f"{text!r} is not a pattern of host names", hint="for example *.prod.example.com or 10.1.*")
    return text


def fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def addresses(text: str) -> str:
    """Check networks, separated by commas, for the certificate option ``source-address``."""
    try:
        return ",".join(str(ipaddress.ip_network(word.strip(), strict=False)) for word in text.split(","))
    except ValueError as exc:
        raise UsageError(f"--source-address: {exc}", hint="for example 10.0.0.0/8,192.0.2.7") from None


def duration(flag: str, text: str) -> int:
    """Seconds of ``8h``, ``1h30m``, ``90d``. Raises UsageError."""
    words = _DURATION.findall(text)
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in words)
    if "".join(number + unit for number, unit in words) != text or not 0 < seconds < 100 * 366 * 86400:
        raise UsageError(f"{flag}: {text!r} is not a duration", hint="for example 30m, 8h or 90d")
    return seconds


def spoken(seconds: int) -> str:
    """A duration in the form that ``duration`` parses."""
    words, sign = [], "-" if seconds < 0 else ""
    seconds = abs(seconds)
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, _SECONDS[unit])
        if count:
            words.append(f"{count}{unit}")
    return sign + ("".join(words[:2]) or "0s")


def number(text: str) -> int:
    """A serial number."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 2**64 and len(text) <= 20):
        raise UsageError(f"{text!r} is not a serial number", hint="`pushsalt ca show ENV` lists signed certificates")
    return int(text)
