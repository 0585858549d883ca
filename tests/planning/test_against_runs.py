"""Marks predict the next run: plans of random states are compared with the run that follows."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from tests.planning.agreement import wrong
from tests.planning.trees import BINARY, prepare, tree

pytestmark = pytest.mark.slow  # each test runs whole commands

#: Number of random trees; the environment can set more.
EXAMPLES = int(os.environ.get("PLAN_EXAMPLES", "40"))
SEED = os.environ.get("SEED", "0")
PARTS = 4
HERE = Selection("here")


@dataclass
class Bed:
    """A project with one target, this machine."""

    folder: Path

    def __post_init__(self) -> None:
        for name in ("salt/tree/sub", "pillar"):
            (self.folder / name).mkdir(parents=True)
        self.write(
            "pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}})
        )
        self.write("inventory.yaml", json.dumps({"hosts": {"here": {"transport": "local"}}}))
        self.write("salt/plain.txt", "one\ntwo\nthree\n")
        self.write("salt/words.jinja", "{{ grains.id }} and {{ name }}\n")
        self.write("salt/asks.jinja", "{{ salt['file.file_exists'](path) }}\n")
        (self.folder / "salt/binary").write_bytes(BINARY + b"more")
        self.write("salt/tree/one", "one of a tree\n")
        self.write("salt/tree/sub/two", "two\n")
        self.client = Client(Settings(config=self.folder, cache_dir=self.folder / "cache"))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def plan(self, sls: str) -> Any:
        return self._only(self.client.apply(HERE, [sls], JobOptions(test=True, plan=True)))

    def apply(self, sls: str) -> Any:
        return self._only(self.client.apply(HERE, [sls]))

    def _only(self, returns: dict[str, Any]) -> Any:
        return returns["here"].ret


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


@pytest.mark.parametrize("part", range(PARTS))
def test_random_trees(bed: Bed, tmp_path: Path, part: int) -> None:
    counts = dict.fromkeys(("none", "will", "may", "unknown"), 0)
    problems: list[str] = []
    for at in range(part, EXAMPLES, PARTS):
        rng = random.Random(f"{SEED}.{at}")
        top = tmp_path / f"top{at}"
        prepare(top, rng)
        data = tree(top, rng)
        bed.write(f"salt/r{at}.sls", json.dumps(data, indent=1))
        before = sorted((str(path), path.lstat().st_mtime_ns) for path in top.rglob("*"))
        planned = bed.plan(f"r{at}")
        if isinstance(planned, list):  # a requisite makes a cycle
            continue
        assert before == sorted((str(path), path.lstat().st_mtime_ns) for path in top.rglob("*")), "a plan changed it"
        returns = bed.apply(f"r{at}")
        found = wrong(planned, returns, _texts(returns))
        problems += [f"tree {at} of seed {SEED}: {text}" for text in found]
        for mark in counts:
            counts[mark] += planned["counts"][mark]
    assert not problems, "\n\n".join(problems)
    if EXAMPLES >= 40:
        assert all(counts[mark] for mark in ("none", "will", "may")), counts


def _texts(returns: dict[str, Any]) -> dict[str, str | None]:
    """tag -> the current text of its file, for states whose file no later state may have changed."""
    ordered = sorted(returns.items(), key=lambda item: item[1]["__run_num__"])
    texts: dict[str, str | None] = {}
    for at, (tag, ret) in enumerate(ordered):
        path = Path(str(ret["name"]))
        later = any(other["changes"] for _, other in ordered[at + 1 :])
        if (
            not later
            and path.is_absolute()
            and path.is_file()
            and "\0" not in (text := path.read_text(errors="replace"))
        ):
            texts[tag] = text
    return texts
