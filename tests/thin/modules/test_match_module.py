"""match.* as modules on a target: evaluated on the target, except addresses and the controller's nodegroups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pushsalt.yamlio import load_yaml
from thin import link
from thin.utils import compound

HEAD, *CASES = map(json.loads, (Path(__file__).parents[2] / "cases/functions.jsonl").read_text("utf-8").splitlines())
RECORDED = [case for case in CASES if case["call"][0].startswith("match.") and case["call"][0] != "match.ipcidr"]


class Controller:
    """Answers the permitted questions, and records them."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def ask(self, fun, args=(), kwargs=None):
        self.requests.append(f"{fun} {args[0]}")
        return args[0] in ("ng1", "ng4", "127.0.0.1", "192.0.2.0/24")


@pytest.fixture
def match(make_loaders):
    pillar = load_yaml(HEAD["files"]["pillar/main.sls"])
    modules = make_loaders(opts={"id": "it"}, grains=HEAD["grains"], pillar=pillar).modules
    controller = Controller()
    before = link.connect(controller)
    yield lambda name, *args, **kwargs: modules[f"match.{name}"](*args, **kwargs)
    link.connect(before)


def test_matches_equal_recorded_ones(match):
    differences = []
    for case in RECORDED:
        name, args, kwargs = case["call"]
        try:
            value = match(name.partition(".")[2], *args, **kwargs)
        except Exception as exc:
            value = type(exc).__name__
        expected = case.get("raises", case.get("ret"))
        if isinstance(expected, dict):
            continue  # recorded dicts have another form
        if value != expected:
            differences.append((case, value))
    assert not differences


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("N@ng1 and not N@ng9", True),
        ("S@127.0.0.1 or x", True),
        ("S@10.0.0.0/8", False),
        ("not ( x or ( y and it ) ) and G|@deep|n|5", True),
        ("X@a", False),
        ("M@it and not T@ssh and not T@ssh:it", True),
        ("it not x", True),
        ("it ( it )", False),
        ("it and", False),
        (["it", "and", "G@os:Debian"], True),
        (7, False),
    ],
)
def test_compound_expressions(match, expression, expected):
    assert match("compound", expression) is expected


def test_filter_by_ifelse_and_nodegroup(match):
    assert match("filter_by", {"x": 1, "it": {"a": 1}}, merge={"b": 2}) == {"a": 1, "b": 2}
    assert match("ifelse", "x", 1, "G@os:Debian", {"a": 1}, 3, merge={"b": 2}) == {"a": 1, "b": 2}
    assert match("nodegroup", "mine", {"mine": "G@os:Debian"}) is True
    assert match("filter_by", {"os:Debian": 1}, tgt_type="grain") == 1


@pytest.mark.parametrize(
    "expression", ["( " * 60 + "x" + " )" * 60, "x ( y )", "( x", "x )", "and x", "x or or y", "not", ""]
)
def test_invalid_expressions_are_errors(expression):
    with pytest.raises(ValueError):
        compound.evaluate(expression, lambda term: True)
