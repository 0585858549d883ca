"""Runs outside programs of the controller for what must not do that itself: gpg, external pillars, inventories."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pushsalt.errors import InventoryError
from pushsalt.render.context import Completed

#: Seconds for one program; targets wait for it.
TIMEOUT: Final = 120.0


def run_program(argv: Sequence[str], *, input: bytes = b"") -> Completed:
    """Run to the end. Raises OSError when it cannot be started, TimeoutError when it had to be killed."""
    import subprocess  # every command pays for what is imported above

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


def list_inventory(path: Path) -> str:
    """What an inventory that is a program prints when it is called with ``--list``. Raises InventoryError.

    Only a program that nobody but the user and root can change is run.
    """
    program = path.resolve()
    status = program.stat()
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise InventoryError(
            f"{path} is a program that others can change, and is not run",
            hint="it must belong to you or root, and nobody else may write to it (chmod go-w)",
        )
    try:
        done = run_program([str(program), "--list"])
    except (OSError, TimeoutError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise InventoryError(f"{path} cannot be run: {reason}", hint="run it yourself with --list") from None
    if done.code != 0:
        said = done.err.decode("utf-8", "replace").strip().splitlines()
        why = f": {said[-1]}" if said else ""
        raise InventoryError(f"{path} --list ended with {done.code}{why}", hint="run it yourself with --list")
    return done.out.decode("utf-8", "replace")
