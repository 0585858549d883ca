"""``--out highstate``, compared with the text of Salt's outputter for the same returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pushsalt.outputters import load

KNOWN = json.loads((Path(__file__).parent / "cases" / "highstate.json").read_text("utf-8"))


def shown(data: dict[str, Any], **kwargs: Any) -> str:
    return load("highstate").output(data, **kwargs)


@pytest.mark.parametrize("case", KNOWN["cases"], ids=lambda case: str(case["options"]))
def test_as_salt_prints_it(case: dict[str, Any]) -> None:
    data = {id: ret for id, ret in KNOWN["returns"].items() if case["returns"] == "all" or id != "db1"}
    assert shown(data, opts=case["options"]).split("\n") == [*case["text"], ""]


def test_other_returns_than_those_of_states() -> None:
    error = {"error": {"kind": "connection_refused", "message": "web1: refused", "hint": "start sshd"}}
    assert "message:\n            web1: refused\n" in shown({"web1": error, "web2": True})
    assert shown({"web1": error, "web2": True}).endswith("web2:\n    True\n")


def test_no_control_character_of_a_target_gets_through() -> None:
    ret = {"a_|-\x1b[31m_|-b_|-c": {"result": True, "changes": {"x": "\x07"}, "comment": "\x1b]0;", "__run_num__": 0}}
    text = shown({"web1": ret}, color=True)
    assert "\x1b]" not in text and "\x07" not in text and "\\x1b[31m" in text
