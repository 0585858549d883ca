"""Plug-in of coverage.py for scripts/coverage.sh, which copies it beside coverage.py: measures render processes.

They run with ``-I -S``, so that coverage.py does not start by itself, and the kernel kills them when they are no longer
needed: they save their data each time before they return a result. The plug-in is loaded in each measured process. A
process that is confined (it renders foreign text) cannot write files, and is not measured.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import Any

_VARIABLE = "COVERAGE_PROCESS_CONFIG"


def coverage_init(registry: object, options: object) -> None:
    """Coverage.py calls this when it loads the plug-in."""
    original = subprocess.Popen.__init__
    if original.__name__ != "_started":

        def _started(self: Any, args: Any, *rest: Any, **named: Any) -> None:
            config = os.environ.get(_VARIABLE)
            if config and isinstance(args, list) and "-c" in args:
                at = args.index("-c") + 1
                head, imports, tail = str(args[at]).partition("from pushsalt.children.")
                if imports:
                    start = f"import coverage_children; coverage_children.start({config!r}); "
                    args = [*args[:at], head + start + imports + tail, *args[at + 1 :]]
            original(self, args, *rest, **named)

        subprocess.Popen.__init__ = _started  # type: ignore[method-assign]


def start(config: str) -> None:
    """Begin to measure in a process that forks render processes."""
    os.environ[_VARIABLE] = config
    import coverage

    coverage.process_startup(force=True)
    os.environ.pop(_VARIABLE, None)
    from pushsalt.children.child import Child

    original = Child._return

    def returned(self: Child, *values: Any, **named: Any) -> None:
        current = coverage.Coverage.current()
        if current is not None:
            with suppress(Exception):
                current.save()
        original(self, *values, **named)

    Child._return = returned  # type: ignore[method-assign]
