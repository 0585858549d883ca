"""Calls runner functions: plug-ins of the kind ``runners``, one file per Salt module.

A runner's functions are called in a thread, with Salt's dunders: ``__opts__``, ``__salt__`` (runner functions),
``__context__``, ``__jid_event__``. Shipped ones get a ``Run`` as first argument in place of dunders.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pushsalt import plugins
from pushsalt.errors import FunctionError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pushsalt.job import JobOptions
    from pushsalt.orchestrate.jobs import Jobs


@dataclass(frozen=True)
class Run:
    """What a shipped runner function works with: the client, the options of the command, the event loop."""

    client: Jobs
    options: JobOptions
    loop: asyncio.AbstractEventLoop

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the command's event loop, from the thread of the function."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


async def call(client: Jobs, options: JobOptions, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """``return`` and ``success`` of a runner function. Raises FunctionError for one that does not exist or fails."""
    run = Run(client, options, asyncio.get_running_loop())
    found = function(client, name)
    if found is None:
        hint = "runner functions are MODULE.FUNCTION; those of yours are in _runners of the file roots"
        raise FunctionError("unknown_function", f"there is no runner function '{name}'", hint, "KeyError")
    shipped = found.__module__.startswith("pushsalt.runners.")
    if shipped:
        _bind(found, name, args, kwargs)
    value = await asyncio.to_thread(lambda: found(run, *args, **kwargs) if shipped else found(*args, **kwargs))
    return {"return": value, "success": not (isinstance(value, dict) and value.get("success") is False)}


def function(client: Jobs, name: str) -> Callable[..., Any] | None:
    """The function of this name, or None. Users' runners override ours, as in Salt."""
    module, _, attribute = name.partition(".")
    if not attribute or attribute.startswith("_"):
        return None
    opts = client.project.config.opts
    folders = plugins.folders("runners", opts)
    if module not in plugins.names("runners", folders):
        return None
    dunders = {"__opts__": dict(opts), "__salt__": Runners(client), "__context__": {}}
    loaded = plugins.load("runners", module, folders, dunders)
    aliases = {public: own for own, public in getattr(loaded, "__func_alias__", {}).items()}
    found = getattr(loaded, aliases.get(attribute, attribute), None)
    return found if callable(found) and not inspect.isclass(found) else None


class Runners(dict[str, Any]):
    """``__salt__`` of users' runners: the runner functions by name."""

    def __init__(self, client: Jobs) -> None:
        super().__init__()
        self._client = client

    def __missing__(self, name: str) -> Any:
        found = function(self._client, name)
        if found is None:
            raise KeyError(name)
        return found


def _bind(found: Callable[..., Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raises FunctionError for arguments that the function does not take."""
    try:
        inspect.signature(found).bind(None, *args, **kwargs)
    except TypeError as exc:
        raise FunctionError(
            "exception",
            f"Passed invalid arguments to {name}: {exc}",
            "see its arguments in docs/orchestrate.md",
            "SaltInvocationError",
        ) from exc
