"""Changes by states that affect later ones in the same run: modules, grains, and the user that runs commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.beds.project import Project, values

NEEDS = """
try:
    import {library}
    HAS = True
except ImportError:
    HAS = False


def __virtual__():
    return (True, None) if HAS else (False, "{library} is not installed")


def done(name):
    return {{"name": name, "changes": {{}}, "result": True, "comment": {library}.WORD}}
"""
PLACES = """
import sys

if "{folder}" not in sys.path:
    sys.path.append("{folder}")


def placed(name):
    with open("{folder}/{library}.py", "w") as handle:
        handle.write("WORD = 'reloaded'")
    return {{"name": name, "changes": {{"library": name}}, "result": True, "comment": ""}}
"""
GRAIN = """
import os


def flag():
    return {{"flag": os.path.exists("{flag}")}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"it": {"transport": "local"}})


def test_a_library_that_a_state_installs_is_available_to_the_next(project: Project, tmp_path: Path) -> None:
    names = {"folder": str(tmp_path / "lib"), "library": "brought_by_a_state"}
    (tmp_path / "lib").mkdir()
    project.files({"salt/_states/needs.py": NEEDS.format(**names), "salt/_states/places.py": PLACES.format(**names)})
    sls = "early:\n  needs.done: []\nbring:\n  places.placed:\n    - reload_modules: true\nlate:\n  needs.done: []\n"
    project.write("salt/reload.sls", sls)
    early, bring, late = values(project.json("apply", "it", "reload").data["it"])
    assert early["result"] is False and "brought_by_a_state is not installed" in early["comment"]
    assert (bring["result"], late["result"], late["comment"]) == (True, True, "reloaded")


def test_grains_are_collected_again(project: Project, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    project.write("salt/_grains/flag.py", GRAIN.format(flag=flag))
    shown = "__slot__:salt:grains.get(flag)"
    sls = f"{flag}:\n  file.touch:\n    - reload_grains: true\n    - require:\n      - test: before\n"
    sls += f"before:\n  test.configurable_test_state:\n    - result: true\n    - changes: {shown}\n    - comment: b\n"
    sls += f"after:\n  test.configurable_test_state:\n    - result: true\n    - changes: {shown}\n    - comment: a\n"
    project.write("salt/grain.sls", sls + f"    - require:\n      - file: {flag}\n")
    before, touched, after = values(project.json("apply", "it", "grain").data["it"])
    assert touched["result"] is True
    assert (bool(before["changes"]), bool(after["changes"])) == (False, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as somebody else")
def test_commands_of_a_state_run_as_its_user(project: Project) -> None:
    sls = "id -un:\n  cmd.run:\n    - runas: nobody\n"
    sls += "guarded:\n  test.nop:\n    - runas: nobody\n    - onlyif: test $(id -un) = nobody\n"
    sls += "after:\n  test.nop:\n    - onlyif: test $(id -un) = root\n"
    project.write("salt/who.sls", sls)
    ran, guarded, after = values(project.json("apply", "it", "who").data["it"])
    assert ran["changes"]["stdout"] == "nobody"
    assert "skip_watch" not in guarded and "skip_watch" not in after, (guarded, after)
