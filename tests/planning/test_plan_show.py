"""``pushsalt plan show`` and ``plan diff``."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pushsalt.display import planpages
from tests.beds.project import Project

pytestmark = pytest.mark.slow  # each test runs whole commands

SECRET = "correct-horse-battery-1"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path, {"here": {"transport": "local"}, "away": {"transport": "offline"}})
    found.files({"pillar/top.sls": "base: {'*': [p]}\n", "pillar/p.sls": f"password: {SECRET}\n"})
    return found


def plan(project: Project, name: str, contents: str, tmp_path: Path) -> None:
    data = {f"{tmp_path}/f": {"file.managed": [{"contents": contents}]}, "fine": {"test.nop": []}}
    project.write("salt/s.sls", json.dumps(data))
    assert project.run("plan", "*", "s", "-o", name, "--out", "quiet").code == 3


def test_show(project: Project, tmp_path: Path) -> None:
    plan(project, "a.plan", f"p={SECRET}", tmp_path)
    data = project.run("plan", "show", "a.plan", "--out", "json").data
    assert data["here"]["counts"] == {"none": 1, "will": 1, "may": 0, "unknown": 0}
    assert data["away"]["error"]["kind"] == "offline"
    again = project.run("plan", "show", "a.plan", "--out", "json").data
    assert again == data, "the fingerprints are those of the plan"
    people = project.run("plan", "show", "a.plan")
    assert people.code == 0 and "1 will change, 1 no change" in people.out and "plan * s, made " in people.out
    text = project.run("plan", "show", "a.plan", "--out", "markdown").out
    assert "| here | 1 | 0 | 0 | 1 |" in text and "cannot be planned" in text and "<details>" in text
    page = project.run("plan", "show", "a.plan", "--out", "html").out
    assert "+p=**********(" in page
    for out in (json.dumps(data), people.out, text, page):
        assert SECRET not in out
    assert project.run("plan", "show", "a.plan", "b.plan").code == 1


def test_diff(project: Project, tmp_path: Path) -> None:
    plan(project, "a.plan", f"p={SECRET}", tmp_path)
    plan(project, "b.plan", f"p={SECRET}", tmp_path)
    same = project.run("plan", "diff", "a.plan", "b.plan", "--out", "json", "--detailed-exitcode")
    assert (same.data, same.code) == ({}, 0)
    plan(project, "c.plan", f"q={SECRET}", tmp_path)
    done = project.run("plan", "diff", "a.plan", "c.plan", "--out", "json", "--detailed-exitcode")
    assert done.code == 4 and set(done.data) == {"here"}
    (pairs,) = done.data["here"]["changed"].values()
    assert set(pairs) == {"diff"} and SECRET not in done.out
    before, after = (text.splitlines()[-1] for text in pairs["diff"])
    assert before.replace("+p=", "") == after.replace("+q=", ""), "one key for both"
    assert project.run("plan", "diff", "a.plan").code == 1


def a_state(number: int, diff: str = "") -> dict[str, Any]:
    return {
        "tag": f"file_|-s{number}_|-/f{number}_|-managed",
        "mark": "will",
        "because": [],
        "changes": {},
        "diff": diff or None,
        "comment": "x",
    }


def a_plan(*states: dict[str, Any]) -> dict[str, Any]:
    return {"states": list(states), "counts": {"none": 0, "will": len(states), "may": 0, "unknown": 0}}


def test_alike_targets_are_together() -> None:
    shown = {f"web{number}": a_plan(a_state(1)) for number in range(20)} | {"db": a_plan(a_state(1), a_state(2))}
    text = planpages.markdown(shown, "all")
    assert "| db | 2 | 0 | 0 | 0 |\n| web0, web1, web2, web3, web4, web5, web6, web7 and 12 more | 1 |" in text
    assert text.count("<details>") == 3


def test_a_comment_is_never_too_long() -> None:
    many = a_plan(*(a_state(number, "--- \n+++ \n" + "+x\n" * 1000) for number in range(50)))
    text = planpages.markdown({"a": many}, "all")
    assert len(text) <= planpages.LIMIT and "states were left out" in text
    wide = planpages.markdown({f"t{number}": a_plan(a_state(number)) for number in range(5000)}, "all")
    assert len(wide) <= planpages.LIMIT and "left out" in wide


def test_what_targets_say_is_no_markup() -> None:
    evil = "</pre><script>alert(1)</script>\n```\n# head | @everyone <b>"
    state = {**a_state(1, f"+{evil}"), "tag": f"file_|-x_|-{evil}_|-managed"}
    text = planpages.markdown({"a|b": a_plan(state)}, evil)
    assert "````diff" in text and "\\@everyone" in text.splitlines()[0] and "<b>" not in text.splitlines()[0]
    seen: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            seen.append(tag)

    Tags().feed(planpages.page({"a|b": a_plan(state)}, evil))
    assert "script" not in seen and "b" not in seen and {"table", "details", "pre"} <= set(seen)
