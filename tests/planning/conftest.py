"""A project for the API, shared by the tests of a module."""

from collections.abc import Iterator

import pytest

from tests.planning.bed import Bed


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory, monkeypatch_module: pytest.MonkeyPatch) -> Iterator[Bed]:
    folder = tmp_path_factory.mktemp("plans")
    monkeypatch_module.setenv("HOME", str(folder))
    monkeypatch_module.setenv("XDG_RUNTIME_DIR", "")
    yield Bed(folder)


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch
