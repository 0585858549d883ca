"""Calls runner functions: plug-ins of the kind ``runners``, one file per Salt module.

A runner's functions are called in a thread, with Salt's dunders: ``__opts__``, ``__salt__`` (runner functions),
``__context__``, ``__jid_event__``. Shipped ones get a ``Run`` as first argument in place of dunders.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt import plugins
from pushsalt.errors import FunctionError, PushsaltError
from pushsalt.nearest import nearest
from pushsalt.orchestrate.callevents import CallEvents
from pushsalt.orchestrate.names import ORCHESTRATIONS
from thin.utils.orchestration import succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import ModuleType

    from pushsalt.job import JobOptions
    from pushsalt.orchestrate.jobs import Jobs


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """The objects for a shipped runner function: the client, the options of the command, the event loop."""

    client: Jobs
    options: JobOptions
    loop: asyncio.AbstractEventLoop
    #: the JID of the call
    jid: str = ""
    events: CallEvents | None = None

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the command's event loop, from the thread of the function."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def progress(self, message: str) -> None:
        """Send an event about the progress of the call, ``salt/run/JID/progress``."""
        if self.events is not None:
            self.events.fire_event({"message": message}, "progress")


#: the objects for shipped functions that a user's runner calls by ``__salt__``
_running: Final[ContextVar[Run | None]] = ContextVar("pushsalt_runner", default=None)


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

    As in Salt, a call with too few or too many arguments is a success, whose return says so. Raises FunctionError if
    the function does not exist, or does not have the keyword arguments.
    """
    runner = _runner_named(client, name, args, kwargs, bind=False)
    try:
        _bind(runner, name, args, kwargs)
    except FunctionError as exc:
        text = exc.message.removeprefix(f"Passed invalid arguments to {name}: ")
        return {"return": f"\nPassed invalid arguments: {text}\n\nUsage:\n{runner.__doc__}", "success": True}
    try:
        return await _called(client, options, runner, name, args, kwargs)
    except PushsaltError as exc:
        text = exc.message.removeprefix(f"{name}: ")
        if isinstance(exc, FunctionError) and exc.exception == "SaltInvocationError" and _is_shipped(runner):
            return {"return": f"\nPassed invalid arguments: {text}\n\nUsage:\n{runner.__doc__}", "success": True}
        return {"return": f"Exception occurred in runner {name}: {text}", "success": False}


def _runner_named(
    client: Jobs, name: str, args: list[Any], kwargs: dict[str, Any], *, bind: bool = True
) -> Callable[..., Any]:
    """The function; raises FunctionError if it does not exist, or does not take the arguments.

    ``bind``: whether the number of arguments is checked, too.
    """
    runner = function(client, name)
    if runner is None:
        raise FunctionError(
            "unknown_function", f"there is no runner function '{name}'", _hint(client, name), "KeyError"
        )
    _check_keywords(runner, kwargs)
    if bind and _is_shipped(runner):
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
    jid, shipped = jid or client.new_jid(), _is_shipped(runner)
    # orchestrations send their events themselves
    events = CallEvents(client, "runner", name, args, kwargs, jid, silent=name in ORCHESTRATIONS)
    run = Run(client, options, asyncio.get_running_loop(), jid, events)
    token = _running.set(replace(run, jid=""))
    try:
        runner.__globals__["__jid_event__"] = events
        value = await asyncio.to_thread(lambda: runner(run, *args, **kwargs) if shipped else runner(*args, **kwargs))
        success = _succeeded(value, runner)
        events.ends(value, success=success)
        return {"return": value, "success": success, "jid": jid}
    except PushsaltError as exc:
        events.ends(f"Exception occurred in runner {name}: {exc.message}", success=False)
        raise
    except (Exception, SystemExit) as exc:
        text = f"{type(exc).__name__}: {exc}"
        events.ends(f"Exception occurred in runner {name}: {text}", success=False)
        log.debug("the runner %s failed", name, exc_info=True)
        raise FunctionError("exception", f"{name}: {text}{plugins.blamed(exc)}", "", type(exc).__name__) from exc
    finally:
        _running.reset(token)
        await events.settled()


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

    def functions(name: str) -> list[str]:
        return _public(plugins.load("runners", name, folders, {"__salt__": Runners(client)}))

    if module in modules:
        near = [f"{module}.{each}" for each in nearest(attribute, functions(module))]
    else:
        near = [f"{each}.{attribute}" for each in nearest(module, modules) if attribute in functions(each)]
    rule = "runner functions are MODULE.FUNCTION; those of yours are in _runners of the file roots"
    return f"did you mean {' or '.join(near)}? {rule}" if near else rule


def _public(loaded: ModuleType) -> list[str]:
    """The names of a module's functions."""
    aliases = getattr(loaded, "__func_alias__", {})
    names = [name for name, value in vars(loaded).items() if inspect.isfunction(value) and not name.startswith("_")]
    return [aliases.get(name, name) for name in names if getattr(loaded, name).__module__ == loaded.__name__]


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


def takes(client: Jobs, name: str, parameter: str) -> bool:
    """Whether the runner function exists and has this parameter."""
    runner = function(client, name)
    return runner is not None and parameter in inspect.signature(runner).parameters


class Runners(dict[str, Any]):
    """``__salt__`` of users' runners: the runner functions by name."""

    def __init__(self, client: Jobs) -> None:
        super().__init__()
        self._client = client

    def __missing__(self, name: str) -> Any:
        runner = function(self._client, name)
        if runner is None:
            raise KeyError(name)
        run = _running.get()
        return partial(runner, run) if run is not None and _is_shipped(runner) else runner


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
    """Raises FunctionError, with Python's text, for arguments that the function does not take."""
    own = [None] if _is_shipped(function) else []
    try:
        inspect.signature(function).bind(*own, *args, **kwargs)
    except TypeError as exc:
        text = f"Passed invalid arguments to {name}: {_misfit(function, name, args, kwargs) or exc}"
        raise FunctionError("exception", text, _its_arguments(function), "SaltInvocationError") from exc


def _misfit(function: Callable[..., Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """What Python says of arguments that are missing, or given twice; empty for others."""
    call = f"{name.rpartition('.')[2]}()"
    parameters = list(inspect.signature(function).parameters.values())[1 if _is_shipped(function) else 0 :]
    plain = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    if twice := [each.name for each in plain[: len(args)] if each.name in kwargs]:
        return f"{call} got multiple values for argument {twice[0]!r}"
    missing = [repr(each.name) for each in plain[len(args) :] if each.default is each.empty and each.name not in kwargs]
    if not missing and len(args) > len(plain) and not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        least = sum(each.default is each.empty for each in plain)
        most = f"from {least} to {len(plain)}" if least < len(plain) else str(len(plain))
        words = "argument" if most == "1" else "arguments"
        return f"{call} takes {most} positional {words} but {len(args)} {'was' if len(args) == 1 else 'were'} given"
    if not missing:
        return ""
    names = missing[0] if len(missing) == 1 else ", ".join(missing[:-1]) + ("," if missing[2:] else "")
    names += f" and {missing[-1]}" if missing[1:] else ""
    return f"{call} missing {len(missing)} required positional argument{'s' if missing[1:] else ''}: {names}"
