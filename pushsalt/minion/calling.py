"""Calls a function by its name, for the command line."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.errors import FunctionError, StateError, TargetError
from pushsalt.minion.callerrors import raised, unknown_function
from pushsalt.minion.salt import exists

if TYPE_CHECKING:
    from pushsalt.minion.wrappers import ControllerFunctions
    from pushsalt.modules.custom import CustomModules

log = logging.getLogger(__name__)


class Callee(Protocol):
    """The part of ``pushsalt.minion.minion.Minion`` that calling needs."""

    @property
    def id(self) -> str: ...
    @property
    def controller(self) -> ControllerFunctions: ...
    @property
    def custom(self) -> CustomModules: ...
    def own(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]: ...
    def shared(self, name: str) -> Callable[..., Any]: ...
    def on_controller(self, name: str) -> bool: ...
    def has_custom(self, name: str) -> bool: ...
    def has_salt(self, name: str) -> bool: ...
    def remote(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any: ...


def call_by_name(minion: Callee, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The value of a function, which is the controller's, shared by controller and target, or the target's.

    Raises StateError, FunctionError and TargetError; any other exception of the function becomes a FunctionError.
    """
    own = minion.controller.named(name)
    if own is not None:
        function = minion.own(name, own)
    elif minion.on_controller(name):
        function = minion.shared(name)
    elif exists(name) or minion.has_custom(name) or minion.has_salt(name):
        return minion.remote(name, list(args), dict(kwargs))
    else:
        raise unknown_function(name, more={*minion.custom.functions("modules"), *minion.controller.own_names()})
    try:
        return function(*args, **kwargs)
    except (StateError, FunctionError, TargetError, MemoryError):
        raise
    except (Exception, SystemExit) as exc:
        log.debug("%s: %s raised", minion.id, name, exc_info=True)
        raise raised(name, exc) from exc
