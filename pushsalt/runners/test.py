"""Functions to try runners. Salt: ``salt/runners/test.py``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def arg(run: Run, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of the call."""
    return {"args": list(args), "kwargs": kwargs}


def raw_arg(run: Run, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of the call."""
    return {"args": list(args), "kwargs": kwargs}


def metasyntactic(run: Run, locality: str = "us") -> list[str]:
    """Names for examples."""
    return ["foo", "bar", "baz", "qux", "quux"]


def stdout_print(run: Run) -> str:
    """The text ``bar``."""
    return "bar"


def sleep(run: Run, s_time: float = 10) -> bool:
    """Wait so many seconds."""
    time.sleep(float(s_time))
    return True


def get_opts(run: Run) -> dict[str, Any]:
    """The options of the configuration, without secrets."""
    opts = run.client.project.config.opts
    shown: dict[str, Any] = run.client.redactor().data({name: opts[name] for name in sorted(opts)})
    return shown
