"""``--test`` with functions that users' modules define, and with states that guards of other states run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.beds.project import Project

MODULE = """
__changes__ = ("put",)
__reads__ = ("get",)

def put(path, test=False):
    if not test:
        open(path, "w").close()
    return "put"

def silent(path):
    open(path, "w").close()

def get():
    return 7
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    project.write("salt/_modules/own.py", MODULE)
    return project


def test_functions_of_users_without_a_dry_run_are_refused(project: Project) -> None:
    made = project.folder / "made"
    for function, words in (
        ("own.put", "own.put changes the system, and has no dry run: it was not called"),
        ("own.silent", "own.silent does not say whether it changes the system, and has no dry run"),
    ):
        done = project.json("run", "it", function, str(made), "--test")
        assert done.code == 2 and words in done.data["it"]["error"]["message"]
    assert "write `__reads__ = ('silent',)` into " in done.data["it"]["error"]["hint"]
    assert project.json("run", "it", "own.put", str(made), "test=True", "--test").data == {"it": "put"}
    assert project.json("run", "it", "own.get", "--test").data == {"it": 7}
    assert not made.exists()
    assert project.json("run", "it", "own.put", str(made)).data == {"it": "put"}
    assert made.exists()


def test_functions_of_users_on_the_controller_are_refused_too(project: Project) -> None:
    made = project.folder / "made"
    text = f"def put():\n    open({str(made)!r}, 'w').close()\n\ndef get():\n    return 7\n"
    project.write("salt/_wrapper/wrapped.py", "__changes__ = ('put',)\n__reads__ = ('get',)\n" + text)
    done = project.json("run", "it", "wrapped.put", "--test")
    assert done.code == 2 and "wrapped.put changes the system" in done.data["it"]["error"]["message"]
    assert project.json("run", "it", "wrapped.get", "--test").data == {"it": 7}
    assert not made.exists()
    assert project.run("run", "it", "wrapped.put").code == 0 and made.exists()


@pytest.mark.parametrize("guard", ["onlyif", "unless"])
@pytest.mark.parametrize("function", ["state.single", "state.low"])
def test_guards_of_states_that_a_guard_runs_are_not_called(project: Project, function: str, guard: str) -> None:
    made = project.folder / "made"
    touch = {guard: [{"fun": "file.touch", "name": str(made)}]}
    nested = {"state": "test", "fun": "nop", "name": "x", **touch}
    call = {"args": ["test.nop", "x"], **touch} if function == "state.single" else {"data": nested}
    project.write("salt/web.sls", json.dumps({"a": {"test.nop": [{"onlyif": [{"fun": function, **call}]}]}}))
    project.run("apply", "it", "web", "--test")
    assert not made.exists()
    project.run("apply", "it", "web")
    assert made.exists(), "without --test it is called"


def test_a_chunk_within_a_guard_does_not_end_the_dry_run(project: Project) -> None:
    made = project.folder / "made"
    nested = {"state": "file", "fun": "touch", "name": str(made), "test": False}
    project.write("salt/web.sls", json.dumps({"a": {"test.nop": [{"onlyif": [{"fun": "state.low", "data": nested}]}]}}))
    project.run("apply", "it", "web", "--test")
    assert not made.exists()
