"""The formulas in formulas/ have no findings, on any system, with and without pillar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.check.runner import Options, check
from pushsalt.check.systems import systems
from pushsalt.events import Reporter

pytestmark = pytest.mark.slow

FORMULAS = Path(__file__).parents[2] / "formulas"
NAMES = sorted(path.name for path in FORMULAS.iterdir() if path.is_dir())


def test_there_is_nothing_to_find(tmp_path: Path) -> None:
    report = check(Settings(cache_dir=tmp_path / "cache"), Options(paths=(FORMULAS,), jobs=1), Reporter())
    assert [f"{each.place}: {each.message}" for each in report.findings] == []
    assert report.trees == len(NAMES) == 7


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    folder = tmp_path_factory.mktemp("project")
    hosts = {name: {"transport": "offline", "grains": grains} for name, grains in systems().items()}
    (folder / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    (folder / "pushsalt.yaml").write_text(json.dumps({"file_roots": {"base": [str(FORMULAS)]}}))
    return Client(Settings(config=folder / "pushsalt.yaml", cache_dir=folder / "cache"))


@pytest.mark.parametrize("name", NAMES)
def test_defaults_alone_compile_on_every_system(name: str, client: Client) -> None:
    found = client.run(Selection("*"), "state.show_low_sls", [name])
    returns: dict[str, Any] = {id: result.ret for id, result in found.items()}
    assert set(returns) == set(systems())
    for system, chunks in returns.items():
        assert chunks, system
        assert all(isinstance(chunk, dict) for chunk in chunks), (system, chunks)


@pytest.mark.parametrize("name", NAMES)
def test_a_formula_is_whole(name: str) -> None:
    for file in ("README.md", "init.sls", "defaults.yaml", "map.jinja", "pillar.example"):
        assert (FORMULAS / name / file).is_file(), file
