"""docs/gitfs.md names every option, and every row of its tables has a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pushsalt.git.settings import PARAMETERS
from pushsalt.options import OPTIONS

ROOT = Path(__file__).parents[2]
DOC = (ROOT / "docs" / "gitfs.md").read_text()
TABLES = set(re.findall(r"`([a-z_]+)`", "\n".join(row.split("|")[1] for row in DOC.splitlines() if row[:3] == "| `")))
TESTS = "".join(
    (Path(__file__).parent / name).read_text()
    for name in (
        "test_gitfs.py",
        "test_git_servers.py",
        "test_git_pillar.py",
        "test_renderers.py",
    )
)


@pytest.mark.parametrize("role", ["gitfs", "git_pillar"])
def test_every_option_is_in_a_table(role):
    options = {name.removeprefix(f"{role}_") for name in OPTIONS if name.startswith(f"{role}_")}
    options -= {"remotes", "verify_config", "global_lock", "includes"}
    assert {*options, *PARAMETERS[role]} <= TABLES


@pytest.mark.parametrize("name", sorted(TABLES - {"formula"}))
def test_every_row_has_a_test(name):
    words = (f'"{name}"', f"'{name}'", f"gitfs_{name}", f"git_pillar_{name}", name if "_" in name else None)
    assert any(word and word in TESTS for word in words)


def test_both_ways_of_saying_it():
    for role in ("gitfs", "git_pillar"):
        for name in PARAMETERS[role]:
            alone = ("name", "all_saltenvs", *(["mountpoint"] if role == "git_pillar" else []))
            assert name in alone or f"{role}_{name}" in OPTIONS, name
