"""Salt's ``sdb.get``: what is no ``sdb://`` URI of a known profile is its own answer. There are no drivers here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError

if TYPE_CHECKING:
    from pushsalt.run.minion import Minion

SCHEME = "sdb://"


def get(minion: Minion, uri: Any, strict: bool = False) -> Any:
    """The URI as it is. Raises FunctionError for a profile that has a driver, and with ``strict`` always."""
    profile, _, key = uri[len(SCHEME) :].partition("/") if isinstance(uri, str) and uri.startswith(SCHEME) else [""] * 3
    if key and _driver(minion, profile):
        driver = _driver(minion, profile)
        raise _refuse(f"sdb profile {profile!r}: there is no driver {driver!r} here", "use an ext_pillar for secrets")
    if strict:
        raise _refuse(f"{uri!r} is no sdb:// URI of a profile with a driver", "sdb://profile/key")
    return uri


def _driver(minion: Minion, profile: str) -> Any:
    found = minion.opts.get(profile) or minion.pillar.get(profile)
    return found.get("driver") if isinstance(found, dict) else None


def _refuse(text: str, hint: str) -> FunctionError:
    return FunctionError("exception", text, hint, "SaltInvocationError")
