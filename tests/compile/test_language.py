"""The SLS language, case by case: cases/*.yaml have SLS files, and the lowstate or errors of Salt."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pushsalt.compile import StateCompiler

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(Path(__file__).parent.glob("cases/*.yaml"))
    for case in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
]


@pytest.mark.parametrize("case", CASES)
def test_case(case, memory_tree):
    tree = memory_tree(case["files"])
    result = StateCompiler(tree, {}, matcher=lambda *_: False).sls(case["sls"], exclude=case.get("exclude", ()))
    if "errors" in case:
        assert [problem.text for problem in result.problems] == case["errors"]
        assert result.low == []
    else:
        assert result.errors == []
        assert result.low == case["low"]
        assert [list(chunk) for chunk in result.low] == [list(chunk) for chunk in case["low"]], "order of keys"
    assert tree.files == tree.pristine, "what was rendered is only read"
