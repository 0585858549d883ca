"""`formula add`, `update` and `check` name files that need renderers which a remote may not use, and run none of
them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.beds.gitserver import Repo
from tests.beds.project import Project

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PYTHON = "import pathlib\npathlib.Path({!r}).write_text('ran')\n"


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that the formula's Python would write."""
    return tmp_path / "mark"


@pytest.fixture
def formula(tmp_path: Path, mark: Path) -> Repo:
    code = PYTHON.format(str(mark))
    files = {
        "FORMULA": "name: web\n",
        "web/init.sls": "a:\n  test.nop: []\n",
        "web/made.sls": f"#!py\n{code}\ndef run():\n    return {{}}\n",
        "web/files.sls": "/x:\n  file.managed:\n    - source: salt://web/x.mako\n    - template: mako\n",
        "web/x.mako": f"<%\n{code}%>\n",
        "web/fine.sls": "#!jinja|yaml\n/y:\n  file.managed:\n    - source: salt://web/y\n    - template: jinja\n",
        "web/y": "{{ grains.os }}\n",
        "_renderers/yaml.py": code,
        "_modules/web.py": f"{code}\n__controller__ = True\ndef here(): return 1\n",
        "tests/x.sls": "#!py\n",
    }
    return Repo(tmp_path / "web-formula.git", files)


@pytest.fixture
def site(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"here": {"transport": "offline", "grains": {"os": "Debian"}}})
    project.write("pushsalt.yaml", "gitfs_update_interval: 0\n")
    return project


def test_add_and_update_name_the_formula_that_needs_another(site: Project, formula: Repo, mark: Path) -> None:
    done = site.run("formula", "add", formula.url)
    assert done.code == 0, done.err
    [remote] = yaml.safe_load((site.folder / "pushsalt.yaml").read_text())["gitfs_remotes"]
    assert {"renderers": ["jinja", "yaml", "json"]} in remote[formula.url]
    for text in (done.err, site.run("formula", "update").err):
        assert "uses py, which it may not" in text and "uses mako, which it may not" in text
        assert "web/made.sls:1 (#!py)" in text and "web/files.sls:4 (template: mako)" in text
        assert "_renderers/yaml.py:1 (Python for the controller)" in text
        assert "add py to `renderers` of the git remote" in text and "fine.sls" not in text and "tests/" not in text
    data = site.run("formula", "update", "--out", "json")
    assert json.loads(data.out) == [] and "uses py, which" in data.err
    assert not mark.exists()


def test_permitted_requirements_are_not_reported(site: Project, formula: Repo) -> None:
    assert site.run("formula", "add", formula.url).code == 0
    config = site.folder / "pushsalt.yaml"
    config.write_text(config.read_text().replace("[jinja, yaml, json]", "[jinja, yaml, json, py, mako]"))
    assert "which it may not" not in site.run("formula", "update").err


def test_a_remote_written_by_hand_is_not_spoken_of(site: Project, formula: Repo) -> None:
    site.write("pushsalt.yaml", f"fileserver_backend: [roots, git]\ngitfs_remotes: ['{formula.url}']\n")
    assert "which it may not" not in site.run("formula", "update").err


def test_check_of_a_formula_runs_none_of_it(site: Project, formula: Repo, mark: Path) -> None:
    assert site.run("formula", "add", formula.url).code == 0
    done = site.run("formula", "check", "web", "--format", "json", "--system", "debian-13")
    assert done.code == 2, done.err
    found = json.loads(done.out)["findings"]
    said = {(each["name"], each["path"].split(".git/")[1], each["line"]) for each in found}
    assert ("renderer-not-allowed", "web/made.sls", 1) in said and ("render", "web/made.sls", 1) in said
    assert ("renderer-not-allowed", "web/files.sls", 4) in said
    assert not [each for each in said if each[1] in ("web/init.sls", "web/fine.sls")]
    assert not mark.exists()


def test_check_of_a_project_says_it_too(site: Project, formula: Repo, mark: Path) -> None:
    assert site.run("formula", "add", formula.url).code == 0
    site.write("pushsalt.yaml", (site.folder / "pushsalt.yaml").read_text() + "file_roots: {base: [salt]}\n")
    site.files({"salt/top.sls": "base: {'*': [one]}", "salt/one.sls": "include: [web.made]\n"})
    done = site.run("check", "--format", "json", "--system", "debian-13")
    found = json.loads(done.out)["findings"]
    assert {each["path"].partition(":web/")[2] for each in found if each["name"] == "renderer-not-allowed"} >= {
        "made.sls",
        "files.sls",
    }
    assert any("not allowed for files of the git remote" in each["message"] for each in found)
    assert done.code == 2 and not mark.exists()
