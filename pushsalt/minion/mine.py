"""Writing to the mine: a bank, key -> ``{alias: value}``; a value with ``allow_tgt`` is wrapped as in Salt.

``mine_functions`` are called when grains are collected (``pushsalt grains``, ``--refresh``), by ``mine.update``, and
after a run of states if their values are older than ``mine_interval``: there is no agent that could call them every
hour.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError, TargetError
from thin.utils import minevalues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pushsalt.minion.trees import Trees
    from pushsalt.model import Target

log = logging.getLogger(__name__)

#: Limit in seconds for the delay of a return by mine functions.
PATIENCE: Final = 60.0
#: Limit for the values of one target in the mine.
NAMES: Final = 1000


@dataclass(frozen=True)
class MineFunction:
    """One entry of ``mine_functions``."""

    alias: str
    function: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    allow_tgt: Any = None
    allow_tgt_type: Any = None
    given: Any = None

    def message(self) -> dict[str, Any]:
        """The call, as a message of a session."""
        return {"k": "call", "fun": self.function, "args": self.args, "kwargs": self.kwargs, "cli": False}

    def wrapped(self, value: Any) -> Any:
        """The value in the form in which it is stored."""
        return minevalues.wrapped(value, self.allow_tgt, self.allow_tgt_type)


def definitions(functions: Any) -> list[MineFunction]:
    """Parse ``mine_functions``: a list of names, or ``{alias: arguments}`` where ``mine_function`` is the function."""
    if isinstance(functions, list):
        functions = {str(name): {} for name in functions}
    if not isinstance(functions, dict):
        return []
    entries = []
    for alias, given in functions.items():
        name, args, kwargs, whom, how = minevalues.parse(given)
        entries.append(MineFunction(str(alias), str(name or alias), args, kwargs, whom, how, given))
    return entries


def unwrap(kept: Any) -> tuple[Any, tuple[Any, str] | None]:
    """The value, and (target expression, type) of the targets that may read it; None for all."""
    if not isinstance(kept, dict) or minevalues.ACL_ID not in kept:
        return kept, None
    allowed = (kept["allow_tgt"], str(kept.get("allow_tgt_type") or "glob")) if "allow_tgt" in kept else None
    return kept.get(minevalues.ACL_DATA), allowed


def keeps(project: Trees) -> bool:
    """Whether the configuration allows storing mine values. Salt: the master's ``_mine``."""
    opts = project.config.opts
    return bool(opts["minion_data_cache"] or opts.get("enforce_mine_cache"))


def store(project: Trees, target: Target, values: Mapping[str, Any], *, clear: bool = False) -> bool:
    """Store values of a target; with ``clear``, its other values are removed. Returns whether that succeeded."""
    if not project.is_command:
        return project.store_in_mine(values, clear=clear)
    if not keeps(project):
        return True
    names = len(values) if clear else len({*(project.command.mine.get(target.key) or ()), *values})
    if names > NAMES:
        log.error("%s: not stored: the mine has at most %d values; mine.delete removes one", target.id, NAMES)
        return False
    return project.command.mine.put(target.key, values) if clear else project.command.mine.update(target.key, values)


def forget(project: Trees, target: Target, alias: str) -> bool:
    """Remove one value of a target."""
    if project.command.mine.get(target.key) is None:
        return True
    return project.command.mine.update(target.key, {}, without=[alias])


def configured(project: Trees, target: Target, pillar: Mapping[str, Any]) -> list[MineFunction]:
    """The ``mine_functions`` of a target: of its pillar, the configuration and the roster; the last one wins."""
    functions: dict[str, Any] = {}
    for place in (pillar, project.config.opts, target.minion_opts):
        given = place.get("mine_functions")
        if isinstance(given, list):
            given = {str(name): {} for name in given}
        functions.update(given if isinstance(given, dict) else {})
    return definitions(functions)


def with_grains(project: Trees, target: Target) -> list[MineFunction]:
    """The mine functions to call when grains are collected, by the cached pillar."""
    if not _setting(project, target, "mine_enabled", True):
        return []
    kept = project.command.pillar_bank.get(target.key) if project.command.keeps_pillar else None
    return configured(project, target, {**(kept if isinstance(kept, dict) else {}), **target.pillar})


def with_states(project: Trees, target: Target, in_pillar: Any) -> list[MineFunction]:
    """The mine functions to call after a run of states: those without a value younger than ``mine_interval`` minutes.

    ``in_pillar`` is the value of ``mine_functions`` in the pillar.
    """
    if not _setting(project, target, "mine_enabled", True) or not keeps(project):
        return []
    functions = configured(project, target, {"mine_functions": in_pillar})
    if not functions:
        return []
    _, seen = project.command.mine.with_times(target.key)
    minutes = _setting(project, target, "mine_interval", 60)
    if not isinstance(minutes, int | float):  # minion_opts of an inventory may have any type
        log.warning("%s: mine_interval is no number of minutes: %.40r", target.id, minutes)
        minutes = 60
    now, life = time.time(), 60 * minutes
    return [each for each in functions if not 0 <= now - seen.get(each.alias, -1.0) < life]


def _setting(project: Trees, target: Target, name: str, default: Any) -> Any:
    return target.minion_opts.get(name, project.config.opts.get(name, default))


async def collect(
    target: Target, functions: Sequence[MineFunction], answers: Sequence[asyncio.Future[Any]]
) -> dict[str, Any]:
    """The values of the called functions; those that failed or take too long are logged and left out."""
    from pushsalt.session.intake import returned_grains

    if answers:
        await asyncio.wait(answers, timeout=PATIENCE)
    values = {}
    for each, answer in zip(functions, answers, strict=True):
        if not answer.done():
            log.warning("%s: the mine function %s took over %g s: not stored", target.id, each.function, PATIENCE)
            continue
        try:
            value = returned_grains(target, each.function, each.args, answer.result())
            values[each.alias] = each.wrapped(value)
        except (FunctionError, TargetError) as exc:
            is_expected = (
                target.resource and exc.kind == "unknown_function"
            )  # a type may lack a function of all targets
            log.log(
                logging.DEBUG if is_expected else logging.ERROR,
                "%s: the mine function %s failed: not stored: %s",
                target.id,
                each.function,
                exc.message,
            )
    return values
