"""``pushsalt formula update --impact``: what new revisions change on targets, before the lock file is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.beds.gitserver import Repo
from tests.beds.project import Project

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

TAG = "file_|-conf_|-/etc/web.conf_|-managed"
STATES = "conf:\n  file.managed:\n    - name: /etc/web.conf\n    - source: salt://web/web.conf\n    - mode: '%s'\n"
HOSTS = {
    "web1": {"transport": "offline", "grains": {"os": "Debian"}},
    "db1": {"transport": "offline", "grains": {"os": "Debian"}},
}


def test_the_lock_file_is_written_only_when_that_is_wanted(tmp_path: Path) -> None:
    formula = Repo(
        tmp_path / "web-formula.git", {"web/init.sls": STATES % "0644", "web/web.conf": "port 80\n"}, branch="main"
    )
    site = Project(tmp_path, HOSTS, gitfs_update_interval=0)
    site.write("salt/top.sls", "base:\n  'web*': [web]\n")
    assert site.run("formula", "add", formula.url).code == 0
    lock = site.folder / "pushsalt.lock"
    before = lock.read_text()
    commit = formula.commit({"web/init.sls": STATES % "0600", "web/web.conf": "port 81\n"}, "main", message="Close it")
    shown = site.run("formula", "update", "--impact")
    assert shown.code == 0, shown.err
    assert "Close it" in shown.out and "web1" in shown.out and "+port 81" in shown.out and "db1" not in shown.out
    assert "--yes writes it" in shown.err
    assert lock.read_text() == before
    done = site.run("formula", "update", "web", "--impact", "--yes", "--out", "json")
    data = json.loads(done.out)
    assert data["written"] is True and [move["new"] for move in data["moves"]] == [commit]
    assert list(data["impact"]["ids"]) == ["web1"]
    impact = data["impact"]["ids"]["web1"]
    assert impact["states"]["changed"] == {TAG: {"mode": ["0644", "0600"]}}
    assert "-port 80\n+port 81\n" in impact["files"]["/etc/web.conf"]
    assert commit in lock.read_text()
    unchanged = json.loads(site.run("formula", "update", "--impact", "--out", "json").out)
    assert (unchanged["moves"], unchanged["impact"]["ids"], unchanged["written"]) == ([], {}, False)


def test_without_a_lock_file_or_the_option(tmp_path: Path) -> None:
    site = Project(tmp_path, HOSTS, gitfs_update_interval=0)
    done = site.run("formula", "update", "--impact")
    assert (done.code, "there is no pushsalt.lock" in done.err) == (1, True), done.err
    done = site.run("formula", "update", "--yes")
    assert (done.code, "--yes is for --impact" in done.err) == (1, True), done.err
