"""Runs outside programs of the controller for what must not do that itself: gpg, the commands of external pillars."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Final

from pushsalt.render.context import Completed

#: Seconds for one program; targets wait for it.
TIMEOUT: Final = 120.0


def run_program(argv: Sequence[str], *, input: bytes = b"") -> Completed:
    """Run to the end. Raises OSError when it cannot be started, TimeoutError when it had to be killed."""
    try:
        done = subprocess.run(
            list(argv),
            input=input,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{argv[0]} did not end in {TIMEOUT:.0f} seconds") from None
    return Completed(done.returncode, done.stdout, done.stderr)
