"""Calls runner functions: plug-ins of the kind ``runners``, one file per Salt module.

A runner's functions are called in a thread, with Salt's dunders: ``__opts__``, ``__salt__`` (runner functions),
``__context__``, ``__jid_event__``. Shipped ones get a ``Run`` as first argument in place of dunders.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pushsalt import plugins
from pushsalt.errors import FunctionError, PushsaltError
from pushsalt.jobs.model import JobStart
from pushsalt.nearest import nearest
from pushsalt.run.jobstart import user_name
from pushsalt.workers.jobevents import open_events, settle_events
from thin.utils.orchestration import succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import ModuleType

    from pushsalt.job import JobOptions
    from pushsalt.journal.jobevents import RunEvents
    from pushsalt.orchestrate.jobs import Jobs


log = logging.getLogger(__name__)

#: Runner functions that are orchestrations.
ORCHESTRATIONS: Final = frozenset({"state.orchestrate", "state.orch", "state.sls"})


@dataclass(frozen=True)
class Run:
    """The objects for a shipped runner function: the client, the options of the command, the event loop."""

    client: Jobs
    options: JobOptions
    loop: asyncio.AbstractEventLoop
    #: the JID of the call
    jid: str = ""

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the command's event loop, from the thread of the function."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


async def call(
    client: Jobs, options: JobOptions, name: str, args: list[Any], kwargs: dict[str, Any], jid: str = ""
) -> dict[str, Any]:
    """Call a runner function; returns ``return`` and ``success``. Raises FunctionError if it is missing or fails.

    ``jid``: the JID of the call, if it was told before.
    """
    return await _called(client, options, _runner_named(client, name, args, kwargs), name, args, kwargs, jid)


async def answer(
    client: Jobs, options: JobOptions, name: str, args: list[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """As ``call``, but the ``return`` of a function that fails is the error's text, as for the states of Salt.

    Raises FunctionError if the function does not exist, or does not take the arguments.
    """
    runner = _runner_named(client, name, args, kwargs)
    try:
        return await _called(client, options, runner, name, args, kwargs)
    except PushsaltError as exc:
        text = exc.message.removeprefix(f"{name}: ")
        return {"return": f"Exception occurred in runner {name}: {text}", "success": False}


def _runner_named(client: Jobs, name: str, args: list[Any], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """The function; raises FunctionError if it does not exist, or does not take the arguments."""
    runner = function(client, name)
    if runner is None:
        raise FunctionError(
            "unknown_function", f"there is no runner function '{name}'", _hint(client, name), "KeyError"
        )
    _check_keywords(runner, kwargs)
    if _is_shipped(runner):
        _bind(runner, name, args, kwargs)
    return runner


async def _called(
    client: Jobs,
    options: JobOptions,
    runner: Callable[..., Any],
    name: str,
    args: list[Any],
    kwargs: dict[str, Any],
    jid: str = "",
) -> dict[str, Any]:
    run, shipped = Run(client, options, asyncio.get_running_loop(), jid), _is_shipped(runner)
    events = RunnerEvents(client, name, args, kwargs, jid)
    try:
        runner.__globals__["__jid_event__"] = events
        value = await asyncio.to_thread(lambda: runner(run, *args, **kwargs) if shipped else runner(*args, **kwargs))
        success = _succeeded(value, runner)
        events.ends(value, success=success)
        return {"return": value, "success": success}
    except PushsaltError as exc:
        events.ends(f"Exception occurred in runner {name}: {exc.message}", success=False)
        raise
    except Exception as exc:
        text = f"{type(exc).__name__}: {exc}"
        events.ends(f"Exception occurred in runner {name}: {text}", success=False)
        log.debug("the runner %s failed", name, exc_info=True)
        raise FunctionError("exception", f"{name}: {text}{plugins.blamed(exc)}", "", type(exc).__name__) from exc
    finally:
        await settle_events(events.events, client.project)


def _succeeded(value: Any, runner: Callable[..., Any]) -> bool:
    """Whether a call was successful: by the states in ``data`` of the return, or ``__context__['retcode']``.

    Salt: ``salt.client.mixins``.
    """
    if isinstance(value, dict) and "data" in value:
        return succeeded(value["data"], recurse=False)
    return not runner.__globals__.get("__context__", {}).get("retcode")


def _hint(client: Jobs, name: str) -> str:
    """The nearest modules, or functions of the module, for a name that does not exist."""
    module, _, attribute = name.partition(".")
    folders = plugins.folders("runners", client.project.config.opts)
    modules = plugins.names("runners", folders)
    if module in modules:
        loaded = plugins.load("runners", module, folders, {"__salt__": Runners(client)})
        near = [f"{module}.{each}" for each in nearest(attribute, _public(loaded))]
    else:
        near = [f"{each}.{attribute}" for each in nearest(module, modules)]
    rule = "runner functions are MODULE.FUNCTION; those of yours are in _runners of the file roots"
    return f"did you mean {' or '.join(near)}? {rule}" if near else rule


def _public(loaded: ModuleType) -> list[str]:
    """The names of a module's functions."""
    aliases = getattr(loaded, "__func_alias__", {})
    names = [name for name, value in vars(loaded).items() if inspect.isfunction(value) and not name.startswith("_")]
    return [aliases.get(name, name) for name in names if getattr(loaded, name).__module__ == loaded.__name__]


class RunnerEvents:
    """The events of one call of a runner function: ``salt/run/JID/new`` and ``…/ret``.

    The object is also ``__jid_event__`` of the function. Orchestrations send their events themselves.
    """

    def __init__(self, client: Jobs, name: str, args: list[Any], kwargs: dict[str, Any], jid: str = "") -> None:
        self.events = open_events(client.project) if client.keeps_jobs and name not in ORCHESTRATIONS else None
        self._redactor = client.redactor()
        self._jid = jid or client.new_jid()
        for value in (kwargs, *args):
            if isinstance(value, dict):
                self._redactor.add_pillar(value)
        self._run: RunEvents | None = None
        if self.events is not None:
            shown = self._redactor.data([list(args), dict(kwargs)])
            fun, user = f"runner.{name}", user_name()
            self._run = self.events.run_begins(JobStart(self._jid, fun, arg=shown[0], kwarg=shown[1], user=user))
            self._run.begins()

    def fire_event(self, data: dict[str, Any], tag: str) -> bool:
        """Send an event whose tag begins with that of the call, as Salt's ``__jid_event__`` does."""
        if self.events is not None:
            self.events.put(f"salt/run/{self._jid}/{tag}", self._redactor.data(data))
        return True

    def ends(self, value: Any, *, success: bool) -> None:
        """The function has returned."""
        if self._run is not None:
            self._run.ends(self._redactor.data(value), success=success)


def _is_shipped(function: Any) -> bool:
    name = function.__name__ if inspect.ismodule(function) else function.__module__
    return str(name).startswith("pushsalt.runners.")


def function(client: Jobs, name: str) -> Callable[..., Any] | None:
    """The function of this name, or None. Users' runners override shipped ones, as in Salt."""
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
    candidate: Callable[..., Any] | None = getattr(loaded, aliases.get(attribute, attribute), None)
    if not callable(candidate) or inspect.isclass(candidate):
        return None
    # an imported function is not part of the runner
    if _is_shipped(loaded) and candidate.__module__ != loaded.__name__:
        return None
    return candidate


class Runners(dict[str, Any]):
    """``__salt__`` of users' runners: the runner functions by name."""

    def __init__(self, client: Jobs) -> None:
        super().__init__()
        self._client = client

    def __missing__(self, name: str) -> Any:
        runner = function(self._client, name)
        if runner is None:
            raise KeyError(name)
        return runner


def _check_keywords(function: Callable[..., Any], kwargs: dict[str, Any]) -> None:
    """Raises FunctionError for keyword arguments that the function does not have."""
    parameters = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return
    if wrong := [f"{name}={value}" for name, value in kwargs.items() if name not in parameters]:
        text = f"The following keyword arguments are not valid: {', '.join(wrong)}"
        raise FunctionError("exception", text, _its_arguments(function), "SaltInvocationError")


def _its_arguments(function: Callable[..., Any]) -> str:
    parameters = list(inspect.signature(function).parameters.values())[1 if _is_shipped(function) else 0 :]
    names = [str(each.replace(annotation=each.empty)) for each in parameters]
    return f"its arguments: {', '.join(names)}" if names else "it has no arguments"


def _bind(function: Callable[..., Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raises FunctionError for arguments that the function does not take."""
    signature = inspect.signature(function)
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError as exc:
        text = f"Passed invalid arguments to {name}: {exc}"
        raise FunctionError("exception", text, _its_arguments(function), "SaltInvocationError") from exc
