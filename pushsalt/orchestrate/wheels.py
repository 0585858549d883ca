"""The wheel functions of Salt that are supported: the ids of the inventory are the accepted keys.

There are no keys to accept, reject or delete: such functions are refused with a message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError
from pushsalt.orchestrate.callevents import CallEvents

if TYPE_CHECKING:
    from pushsalt.orchestrate.jobs import Jobs
    from pushsalt.run.project import Project

_ACCEPTED: Final = frozenset({"acc", "accepted", "minions"})
_STATES: Final = {"pre": "minions_pre", "un": "minions_pre", "unaccepted": "minions_pre", "rej": "minions_rejected"}
_ARGUMENTS: Final = {"key.list_all": (), "key.list": ("match",), "minions.connected": ()}
_MORE: Final = {"rejected": "minions_rejected", "den": "minions_denied", "denied": "minions_denied"}


async def answer(client: Jobs, name: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Call a wheel function, with its events: ``return``, ``success``, ``jid``. Raises FunctionError."""
    jid = client.new_jid()
    events = CallEvents(client, "wheel", name, [], kwargs, jid)
    try:
        value = await asyncio.to_thread(call, client.project, name, kwargs)
        events.ends(value, success=True)
        return {"return": value, "success": True, "jid": jid}
    except FunctionError as exc:
        events.ends(f"Exception occurred in wheel {name}: {exc.message}", success=False)
        raise
    finally:
        await events.settled()


def call(project: Project, name: str, kwargs: dict[str, Any]) -> Any:
    """Call a wheel function. Raises FunctionError for all except those of ``_ARGUMENTS``, and for other arguments."""
    ids = list(project.inventory.targets)
    taken = _ARGUMENTS.get(name, kwargs)
    if wrong := [f"{key}={value}" for key, value in kwargs.items() if key not in taken]:
        text = f"The following keyword arguments are not valid: {', '.join(wrong)}"
        raise FunctionError("exception", text, "", "SaltInvocationError")
    if name == "minions.connected":
        return ids
    if name == "key.list_all":
        return {"minions_pre": [], "minions_rejected": [], "minions_denied": [], "minions": ids, "local": []}
    if name == "key.list":
        if "match" not in kwargs:  # a success in Salt, too
            return "\nPassed invalid arguments: list_() missing 1 required positional argument: 'match'"
        match = str(kwargs["match"])
        if match in _ACCEPTED:
            return {"minions": ids}
        if match in _STATES or match in _MORE:
            return {(_STATES | _MORE)[match]: []}
        return call(project, "key.list_all", {}) if match == "all" else {}
    hint = "key.list, key.list_all and minions.connected list the ids of the inventory"
    message = f"'{name}' is not available: targets are reached by ssh and have no keys of Salt; {hint}"
    raise FunctionError("unknown_function", message, hint, "KeyError")
