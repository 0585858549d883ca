"""Errors for a first stage that ended without starting Python."""

from __future__ import annotations

import pytest

from pushsalt.bundle import shim
from pushsalt.model import Target
from pushsalt.session.handshake import Ending, Opening, explain

BARE = Target("bare", transport="resource", resource="container", manager="host1", enter=("podman", "exec", "bare"))


@pytest.mark.parametrize(
    "target, said, status, kind, hint",
    [
        (BARE, "pushsalt {} no_python debian none", shim.NO_PYTHON, "no_python", "apt-get install"),
        (BARE, "", shim.NO_PYTHON, "no_python", "Python 3.6 or newer"),  # podman has lost the output
        (BARE, "", 125, "resource_unreachable", "host1"),
        (Target("web1"), "", shim.NO_PYTHON, "no_python", "Python 3.6 or newer"),
        (Target("web1"), "pushsalt {} too_old - 3.5.2", shim.NO_PYTHON, "python_too_old", "newer Python"),
    ],
)
def test_no_python(target: Target, said: str, status: int, kind: str, hint: str) -> None:
    opening = Opening(target, None)
    error = explain(opening, Ending(said.format(opening.nonce[:8]).encode(), b"", status))
    assert (error.kind, hint in error.hint) == (kind, True), error.hint
