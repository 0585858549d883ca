"""An error on demand, to try failing steps. Salt: ``salt/runners/error.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def error(run: Run, name: str | None = None, message: str = "") -> dict[str, Any]:
    """Raise the exception of this name; without a name return an empty mapping."""
    if name is None:
        return {}
    raise FunctionError("exception", message or name, "", name or "Exception")
