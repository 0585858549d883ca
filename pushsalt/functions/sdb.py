"""Salt's ``sdb.get``: what is no ``sdb://`` URI of a known profile is its own answer. There are no drivers here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.functions import for_command

if TYPE_CHECKING:
    from pushsalt.run.minion import Minion

SCHEME = "sdb://"


@for_command
def get(minion: Minion, uri: Any, strict: bool = False) -> Any:
    """The URI as it is. Raises FunctionError for a profile that has a driver, and with ``strict`` always."""
    if not isinstance(uri, str) or not uri.startswith(SCHEME):
        missing = f'SDB uri must start with "{SCHEME}"'
    else:
        profile, _, key = uri[len(SCHEME) :].partition("/")
        driver = _driver(minion, profile)
        if key and driver:
            text = f"sdb profile {profile!r}: there is no driver {driver!r} here"
            raise _refuse(text, "use an ext_pillar for secrets")
        missing = (
            f'SDB profile "{profile}" wasnt found in the minion configuration'
            if key
            else "SDB uri must have a profile name as a first part of the uri before the /"
        )
    if strict:
        raise _refuse(missing, "sdb://profile/key")
    return uri


def _driver(minion: Minion, profile: str) -> Any:
    found = minion.opts.get(profile) or minion.pillar.get(profile)
    return found.get("driver") if isinstance(found, dict) else None


def _refuse(text: str, hint: str) -> FunctionError:
    return FunctionError("exception", text, hint, "SaltInvocationError")
