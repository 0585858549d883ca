"""Real Salt in a separate virtual environment, for tests that compare with it. `make differential` runs them.

Without it they are skipped: pushsalt does not need Salt.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds import required
from tests.differential.both import EXAMPLES, Both


@pytest.fixture(scope="session")
def salt_python() -> Path:
    """The Python of a virtual environment that has Salt 3008, from ``SALT_PYTHON``."""
    if reason := required.no_salt():
        pytest.skip(reason)
    return Path(os.environ["SALT_PYTHON"])


@pytest.fixture(scope="session")
def examples() -> int:
    """The number of random examples, from ``EXAMPLES``."""
    return EXAMPLES


@pytest.fixture(scope="session")
def both(salt_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """An object that runs a state tree by real Salt and by pushsalt."""
    salt_and_pushsalt = Both(salt_python, tmp_path_factory.mktemp("both"))
    yield salt_and_pushsalt
    salt_and_pushsalt.close()
