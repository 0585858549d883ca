"""One server for all hostile targets of a module, and a project with hostile and valid ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.bed import Bed
from tests.hostile.peer import Peers


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with Peers() as peers:
        yield Bed(tmp_path_factory.mktemp("hostile"), peers)
