"""``cmd.*`` in ``__salt__`` of the controller's plug-ins: Salt runs them on the master, so they run on the
controller.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pushsalt.model import Completed
from pushsalt.render.context import RunProgram


def commands(run: RunProgram) -> dict[str, Callable[..., Any]]:
    """The functions by name; they start programs with ``run``."""

    def done(cmd: str | Sequence[str], options: Mapping[str, Any]) -> Completed:
        if not isinstance(cmd, str):
            argv = [str(word) for word in cmd]
        elif options.get("python_shell"):
            argv = ["/bin/sh", "-c", cmd]
        else:
            argv = shlex.split(cmd)
        stdin = options.get("stdin")
        return run(argv, input=str(stdin).encode() if stdin else b"")

    def text(cmd: str | Sequence[str], **options: Any) -> str:
        return done(cmd, options).out.decode("utf-8", "replace").rstrip("\n")

    def run_all(cmd: str | Sequence[str], **options: Any) -> dict[str, Any]:
        ended = done(cmd, options)
        stdout, stderr = (output.decode("utf-8", "replace").rstrip("\n") for output in (ended.out, ended.err))
        return {"retcode": ended.code, "stdout": stdout, "stderr": stderr, "pid": 0}

    return {
        "cmd.run": text,
        "cmd.run_stdout": text,
        "cmd.shell": lambda cmd, **options: text(cmd, **{**options, "python_shell": True}),
        "cmd.run_all": run_all,
        "cmd.retcode": lambda cmd, **options: done(cmd, options).code,
    }
