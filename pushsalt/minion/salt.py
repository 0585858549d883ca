"""``salt`` of a target's templates. Each function is called on the controller if possible, else on the target.

On the controller are ``pushsalt/functions/`` (compiling, pillar, files) and the modules of ``thin/modules/`` that are
marked ``__controller__`` (they read grains, pillar and options, or compute). All others are called on the target.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final, Protocol

from pushsalt.memo.reads import ReadSource, ask, current
from pushsalt.minion.settings import callable_from_outside
from pushsalt.minion.wrappers import ControllerFunctions
from pushsalt.modules import declared
from pushsalt.modules.controller import is_recorded
from pushsalt.modules.effects import Effect
from thin import runtime


class Answering(Protocol):
    """The target whose templates call functions: ``pushsalt.minion.minion.Minion``."""

    @property
    def opts(self) -> Mapping[str, Any]: ...

    @property
    def offline(self) -> bool: ...

    @property
    def inputs(self) -> ReadSource: ...

    @property
    def controller(self) -> ControllerFunctions: ...

    def has_custom(self, name: str) -> bool: ...

    def has_salt(self, name: str) -> bool: ...

    def effect(self, name: str) -> Effect: ...

    def warn(self, text: str) -> None: ...

    def on_controller(self, name: str) -> bool: ...

    def shared(self, name: str) -> Callable[..., Any]: ...

    def own(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]: ...

    def remote(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any: ...


def _is_silent(name: str) -> bool:
    """Whether a function does nothing but log, at a level that is not enabled."""
    module, _, level = name.partition(".")
    if module != "log":
        return False
    number = logging.getLevelName("ERROR" if level == "exception" else level.upper())
    return isinstance(number, int) and not logging.getLogger("thin.modules.logmod").isEnabledFor(number)


@cache
def shared() -> declared.ControllerFunctions:
    """The functions that controller and target both have."""
    return declared.ControllerFunctions()


@cache
def _defined(module: str) -> frozenset[str]:
    """The names of the functions in the files of this (virtual) execution module, which are not imported."""
    names: set[str] = set()
    for name in runtime.virtual_index("modules").get(module, ()):
        names.update(runtime.code(f"thin.modules.{name}").co_names)
    return frozenset(names)


def exists(name: str) -> bool:
    """Whether one of our execution modules defines this function, so that some targets may have it."""
    module, _, function = name.partition(".")
    return (
        bool(function) and not function.startswith("_") and not _defined(module).isdisjoint((function, f"{function}_"))
    )


#: Salt's execution modules that pushsalt lacks, and that Salt has on most machines or with a client program.
_SALT_ONLY: Final = """
beacons cloud data devinfo devmap disk dnsutil ethtool event extfs incron ip kernelpkg key keyboard kmod locale locate
logrotate mount npm out pam postgres ps publish pyenv restartcheck ret saltcheck schedule scsi seed sqlite3 ssh_pki
supervisord sysfs syslog_ng temp virtualenv x509 xfs xml
"""
SALT_ONLY: Final = frozenset(_SALT_ONLY.split())


class TemplateFunctions(Mapping[str, Callable[..., Any]]):
    """The mapping ``salt`` of one target's templates: ``salt['module.function']``.

    ``asked`` collects the names of the functions that were called on the target: if it is empty, a rendering depends
    only on grains, pillar, options and files.
    """

    def __init__(self, minion: Answering) -> None:
        self._minion = minion
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._function(name)
        opts = self._minion.opts
        if not opts.get("test"):
            return function
        from pushsalt.minion import dryrun  # templates only

        return dryrun.guarded(name, function, opts, self._minion.effect(name), self._minion.warn)

    def _function(self, name: str) -> Callable[..., Any]:
        own = self._minion.controller.named(name)
        if not callable_from_outside(self._minion.opts, name):
            raise KeyError(name)
        custom = own is None and self._minion.has_custom(name)
        on_controller = own is not None or self._minion.on_controller(name)
        is_found = on_controller or custom or exists(name) or self._may_exist(name) or self._minion.has_salt(name)
        if not is_found:
            raise KeyError(name)
        if not on_controller:
            return partial(self._ask, name)
        if not custom and (shared().is_recorded(name) if own is None else is_recorded(name, own)):
            return self.function(name)
        return partial(self._note, name)

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the controller; the caller must record the call (pushsalt.memo.reads)."""
        own = self._minion.controller.named(name)
        return self._minion.shared(name) if own is None else self._minion.own(name, own)

    def _note(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        if current() is None or _is_silent(name):
            return self.function(name)(*args, **kwargs)
        return ask(self._minion.inputs, name, args, kwargs)

    def _ask(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        self.asked.add(name)
        return self._minion.remote(name, list(args), kwargs)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not callable_from_outside(self._minion.opts, name):
            return False
        return (
            self._minion.controller.named(name) is not None
            or name in shared()
            or exists(name)
            or self._minion.has_custom(name)
            or self._may_exist(name)
            or self._minion.has_salt(name)
        )

    def _may_exist(self, name: str) -> bool:
        """Whether real Salt could have this function on an offline target, where it cannot be looked up.

        Formulas test for a function such as ``postgres.user_create`` before they use states that need it.
        """
        module, _, function = name.partition(".")
        ours = module in self._minion.controller.modules() or module in runtime.virtual_index("modules")
        return self._minion.offline and module in SALT_ONLY and not ours and function[:1].isalpha()

    def has_module(self, module: str) -> bool:
        """Whether this module exists on at least some targets."""
        return (
            module in self._minion.controller.modules()
            or module in runtime.virtual_index("modules")
            or self._minion.has_custom(f"{module}.")
        )

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self._minion.controller.names(), *shared()})

    def __len__(self) -> int:
        return sum(1 for _ in self)
