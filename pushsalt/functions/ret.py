"""Salt's ``ret``: reads returns that a returner has stored. ``local_cache``, Salt's name, is the record of jobs of this
controller.

Salt: ``salt/modules/ret.py``. Users' returners must have Salt's functions ``get_jid(jid)``, ``get_fun(fun)``,
``get_jids()`` and ``get_minions()``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pushsalt import plugins
from pushsalt.errors import FunctionError, PushsaltError
from pushsalt.modules.controller import for_command

if TYPE_CHECKING:
    from pushsalt.jobs.jobs import Jobs, KeptJob
    from pushsalt.minion.minion import Minion

__reads__ = ("get_jid", "get_fun", "get_jids", "get_minions")

RECORD: Final = "local_cache"
#: Time limit of a returner in seconds.
_LIMIT: Final = 10.0


@for_command
def get_jid(minion: Minion, returner: str, jid: Any) -> Any:
    """The returns of a job: ``{id: {"return", "retcode", "success", "jid", "fun", "id", …}}``."""
    return _called(minion, returner, "get_jid", str(jid))


@for_command
def get_fun(minion: Minion, returner: str, fun: str) -> Any:
    """The last return of a function on each target: ``{id: {"return", …}}``."""
    return _called(minion, returner, "get_fun", str(fun))


@for_command
def get_jids(minion: Minion, returner: str) -> Any:
    """The jobs: ``{jid: {"Function", "Arguments", "Target", "Target-type", "User", "StartTime"}}``."""
    return _called(minion, returner, "get_jids")


@for_command
def get_minions(minion: Minion, returner: str) -> Any:
    """The ids of all targets with a return."""
    return _called(minion, returner, "get_minions")


def _called(minion: Minion, returner: Any, function: str, *args: str) -> Any:
    try:
        if returner == RECORD:
            from pushsalt.jobs.jobs import Jobs

            return _OF_RECORD[function](Jobs(minion.project.config.cache_dir), *args)
        return _of_returner(minion, str(returner), function, args)
    except PushsaltError as exc:
        raise FunctionError("exception", exc.message, exc.hint or "see the message", "CommandExecutionError") from None


def _of_returner(minion: Minion, name: str, function: str, args: tuple[str, ...]) -> Any:
    from pushsalt.returners import Outside, Trouble
    from pushsalt.returners.settings import given, options_of

    opts = minion.project.config.opts
    values = minion.project.command.sdb.resolve(given(name, opts, ""))
    places = plugins.folders("returners", opts)
    dunders = {"__opts__": {**opts, **values}, "__salt__": {}, "__grains__": {}, "__pillar__": {}, "__context__": {}}
    module = plugins.load_virtual("returners", name, places, dunders) or plugins.load("returners", name, places)
    call = getattr(module, function, None)
    if not callable(call):
        text = f"the returner {name} cannot be read, since it has no {function}"
        raise FunctionError(
            "exception", text, f"{RECORD} is the record of jobs on this machine", "CommandExecutionError"
        )
    outside = None
    try:
        if module.__name__ != f"pushsalt.returners.{name}" or "outside" not in inspect.signature(call).parameters:
            return call(*args)
        outside = Outside(options_of(name, values, module.OPTIONS, "")[0], _LIMIT)
        minion.project.redactor.add_secrets(*(outside.options[secret] for secret in module.SECRETS))
        return call(*args, outside=outside)
    except Trouble as exc:
        hint = exc.hint or "see docs/returners.md"
        raise FunctionError("exception", exc.message, hint, "CommandExecutionError") from None
    except (Exception, SystemExit) as exc:  # a user's returner may raise anything
        text = f"the returner {name}: {function} raises {type(exc).__name__}: {exc}{plugins.blamed(exc)}"
        raise FunctionError("exception", text, "see its file", "CommandExecutionError") from None
    finally:
        for value in outside.context.values() if outside is not None else ():
            value.close()


def _returns(kept: Jobs, job: KeptJob) -> dict[str, Any]:
    from pushsalt.jobs.jobs import results

    return results(job, kept.returns(job))


def _last_of(kept: Jobs, fun: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for job in kept.list():
        if job.fun == fun:
            values = {**_returns(kept, kept.get(job.jid)), **values}
    return values


def _jids(kept: Jobs) -> dict[str, Any]:
    from pushsalt.jobs.times import iso

    return {
        job.jid: {
            "Function": job.fun,
            "Arguments": [*job.arg, *([{**job.kwarg, "__kwarg__": True}] if job.kwarg else [])],
            "Target": job.tgt,
            "Target-type": job.tgt_type,
            "User": job.user,
            "StartTime": iso(job.start),
        }
        for job in kept.list()
    }


_OF_RECORD: Final[dict[str, Callable[..., Any]]] = {
    "get_jid": lambda kept, jid: _returns(kept, kept.get(jid)),
    "get_fun": _last_of,
    "get_jids": _jids,
    "get_minions": lambda kept: kept.ids_with_returns(),
}
