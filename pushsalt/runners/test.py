"""Functions to try runners. Salt: ``salt/runners/test.py``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run

_NAMES: Final = {
    "us": "foo bar baz qux quux quuz corge grault garply waldo fred plugh xyzzy thud",
    "uk": "wibble wobble wubble flob",
}


def arg(run: Run, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of the call."""
    return {"args": list(args), "kwargs": kwargs}


def raw_arg(run: Run, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of the call."""
    return {"args": list(args), "kwargs": kwargs}


def metasyntactic(run: Run, locality: str = "us") -> list[str] | None:
    """Names for examples, of ``us`` or ``uk``."""
    return _NAMES[locality].split() if locality in _NAMES else None


def stdout_print(run: Run) -> str:
    """Return the text ``bar``. Salt prints ``foo``, too; pushsalt does not, since its stdout has only the return."""
    return "bar"


def stream(run: Run) -> bool:
    """Send a hundred events of progress, ten in a second."""
    for done in range(1, 101):
        run.progress(f"Runner is {done}% done")
        time.sleep(0.1)
    return True


def sleep(run: Run, s_time: float = 10) -> bool:
    """Wait so many seconds."""
    time.sleep(float(s_time))
    return True


def get_opts(run: Run) -> dict[str, Any]:
    """The options of the configuration, without secrets."""
    opts = run.client.project.config.opts
    shown: dict[str, Any] = run.client.redactor().data({name: opts[name] for name in sorted(opts)})
    return shown
