"""The mine in the cache: a bank by id, ``{alias: value}``; a value with ``allow_tgt`` is wrapped as Salt wraps it."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pushsalt.model import Target
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

_ACL_ID: Final = "__saltmine_acl__"
_ACL_DATA: Final = "__data__"
_writing: Final = threading.Lock()


@dataclass(frozen=True)
class MineFunction:
    """One entry of ``mine_functions``."""

    alias: str
    function: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    allow_tgt: Any = None
    allow_tgt_type: Any = None

    def message(self) -> dict[str, Any]:
        """The call as a session takes it."""
        return {"k": "call", "fun": self.function, "args": self.args, "kwargs": self.kwargs, "cli": False}

    def wrapped(self, value: Any) -> Any:
        """The value as it is kept."""
        if not self.allow_tgt:
            return value
        more = {"allow_tgt_type": self.allow_tgt_type} if self.allow_tgt_type else {}
        return {_ACL_DATA: value, _ACL_ID: 1, "allow_tgt": self.allow_tgt, **more}


def definitions(functions: Any) -> list[MineFunction]:
    """``mine_functions`` understood: a list of names, or ``{alias: arguments}``; ``mine_function`` names another."""
    if isinstance(functions, list):
        functions = {str(name): {} for name in functions}
    if not isinstance(functions, dict):
        return []
    found = []
    for alias, given in functions.items():
        items = given if isinstance(given, list) else [given] if isinstance(given, dict) else []
        kwargs = {str(key): value for item in items if isinstance(item, dict) for key, value in item.items()}
        args = [item for item in items if not isinstance(item, dict)]
        name = kwargs.pop("mine_function", None) or alias
        acl = [kwargs.pop(key, None) for key in ("allow_tgt", "allow_tgt_type")]
        found.append(MineFunction(str(alias), str(name), args, kwargs, *acl))
    return found


def unwrap(kept: Any) -> tuple[Any, tuple[Any, str] | None]:
    """The value, and the expression and type of who may have it; None for everybody."""
    if not isinstance(kept, dict) or _ACL_ID not in kept:
        return kept, None
    allowed = (kept["allow_tgt"], str(kept.get("allow_tgt_type") or "glob")) if "allow_tgt" in kept else None
    return kept.get(_ACL_DATA), allowed


def store(project: Project, id: str, values: dict[str, Any], *, clear: bool = False) -> bool:
    """Keep values of a target, besides or instead of those that are there."""
    with _writing:
        kept = None if clear else project.mine.get(id)
        return project.mine.put(id, {**(kept if isinstance(kept, dict) else {}), **values})


def forget(project: Project, id: str, alias: str) -> bool:
    """Forget one value of a target."""
    with _writing:
        kept = project.mine.get(id)
        if not isinstance(kept, dict):
            return False
        kept.pop(alias, None)
        return project.mine.put(id, kept)


def with_grains(project: Project, target: Target) -> list[MineFunction]:
    """What is collected with a target's grains: of the configuration, the roster, and the pillar as it is known."""
    kept = project.pillar_bank.get(target.id) if project.keeps_pillar else None
    found: dict[str, Any] = {}
    for place in (kept, target.pillar, project.config.opts, target.minion_opts):
        given = place.get("mine_functions") if place else None
        if isinstance(given, list):
            given = {str(name): {} for name in given}
        found.update(given if isinstance(given, dict) else {})
    return definitions(found)


async def collect(
    project: Project, target: Target, functions: Sequence[MineFunction], answers: Sequence[asyncio.Future[Any]]
) -> dict[str, Any]:
    """The values of functions that were called; one that failed is said and left out."""
    values = {}
    for each, answer in zip(functions, answers, strict=True):
        try:
            values[each.alias] = each.wrapped(await answer)
        except FunctionError as exc:
            log.error("%s: the mine function %s is not kept: %s", target.id, each.function, exc.message)
    return values
