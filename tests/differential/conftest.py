"""Real Salt, in a virtual environment of its own, for tests that compare with it. `make differential` runs them.

Without it they skip: pushsalt neither has nor needs Salt.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def salt_python() -> Path:
    """The Python of a virtual environment that has Salt 3008, from ``SALT_PYTHON``."""
    named = os.environ.get("SALT_PYTHON")
    if not named:
        pytest.skip("no real Salt to compare with: `make differential` installs it, or set SALT_PYTHON")
    python = Path(named)
    assert os.access(python, os.X_OK), f"SALT_PYTHON={named} is no program"
    return python


@pytest.fixture(scope="session")
def examples() -> int:
    """How many random examples a test is to try, from ``EXAMPLES``."""
    return int(os.environ.get("EXAMPLES") or 300)
