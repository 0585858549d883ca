"""Marks predict the next run: plans of random states are compared with the run that follows."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from tests.planning.agreement import wrong
from tests.planning.bed import Bed
from tests.planning.trees import prepare, tree

pytestmark = pytest.mark.slow  # each test runs whole commands

#: Number of random trees; the environment can set more.
EXAMPLES = int(os.environ.get("PLAN_EXAMPLES", "40"))
SEED = os.environ.get("SEED", "0")
PARTS = 4


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


@pytest.mark.parametrize("part", range(PARTS))
def test_random_trees_from_plan_files(bed: Bed, tmp_path: Path, part: int) -> None:
    """Nothing is taken for drift where nothing drifts, and the run does what the plan says."""
    problems: list[str] = []
    for at in range(part, EXAMPLES // 2, PARTS):
        rng = random.Random(f"file {SEED}.{at}")
        top = tmp_path / f"top{at}"
        prepare(top, rng)
        bed.write(f"salt/f{at}.sls", json.dumps(tree(top, rng), indent=1))
        planned, plan = bed.planned(f"f{at}")
        if isinstance(planned, list):  # a requisite makes a cycle
            continue
        returns = bed.apply_planned(plan)
        if "error" in returns:
            problems.append(f"tree {at} of seed {SEED}: {returns}")
            continue
        found = wrong(planned, returns, _texts(returns))
        found += [f"no drift: {ret}" for ret in returns.values() if "since it was looked at" in str(ret["comment"])]
        problems += [f"tree {at} of seed {SEED}: {text}" for text in found]
    assert not problems, "\n\n".join(problems)


def _texts(returns: dict[str, Any]) -> dict[str, str | None]:
    """path -> the current text, of the files of states after which nothing else changed."""
    ordered = sorted(returns.items(), key=lambda item: item[1]["__run_num__"])
    texts: dict[str, str | None] = {}
    for at, (_, ret) in enumerate(ordered):
        path = Path(str(ret["name"]))
        later = any(other["changes"] for _, other in ordered[at + 1 :])
        if (
            not later
            and path.is_absolute()
            and path.is_file()
            and "\0" not in (text := path.read_text(errors="replace"))
        ):
            texts[str(path)] = text
    return texts
