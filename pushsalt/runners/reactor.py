"""The configured reactor. Salt: ``salt/runners/reactor.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError
from pushsalt.orchestrate import reactormap
from pushsalt.orchestrate.unsupported import refuse

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run

__func_alias__ = {"list_": "list"}

_HINT: Final = "change `reactor` in the configuration, and restart `pushsalt react`"


def list_(run: Run, saltenv: str = "base", test: Any = None) -> list[dict[str, list[str]]]:
    """``[{tag: [SLS]}]`` of the configuration, in its order."""
    rows = reactormap.load(run.client.project.config).rows
    if not rows:
        hint = "write `reactor` into the configuration: docs/reactor.md"
        raise FunctionError("exception", "Reactor system is not running.", hint, "CommandExecutionError")
    return [{tag: list(names)} for tag, names in rows]


def add(run: Run, event: str, reactors: Any, saltenv: str = "base", test: Any = None) -> None:
    """Raise an error: reactors are changed in the configuration only."""
    refuse("reactor.add", "reactors are changed in the configuration only", _HINT)


def delete(run: Run, event: str, saltenv: str = "base", test: Any = None) -> None:
    """Raise an error: reactors are changed in the configuration only."""
    refuse("reactor.delete", "reactors are changed in the configuration only", _HINT)


def is_leader(run: Run) -> bool:
    """True: the `react` that processes a journal is the only one."""
    return True


def set_leader(run: Run, value: bool = True) -> None:
    """Fails: one `react` at a time processes a journal, without being told."""
    refuse("reactor.set_leader", "a second `react` waits until the first one ends", "stop the first one")
