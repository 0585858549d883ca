"""Formulas and pillar from git are applied to real servers; the project has only a pushsalt.yaml and an inventory."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess

import pytest

from tests.beds.gitserver import Http, Repo, wait_for
from tests.beds.project import Project, values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

BIG = os.urandom(9 * 1024 * 1024)
FORMULA = {
    "top.sls": "base:\n  '*':\n    - site\n",
    "site/init.sls": """
{%- from tplroot ~ "/map.jinja" import site with context %}
{%- set home = salt['environ.get']('HOME') %}
site-folder:
  file.recurse:
    - name: {{ home }}/from-git/tree
    - source: salt://site/files/tree
    - file_mode: keep
site-page:
  file.managed:
    - name: {{ home }}/from-git/page
    - source:
      - salt://site/files/{{ grains['id'] }}/page
      - salt://site/files/page
    - template: jinja
    - context: {title: {{ site.title }}}
site-big:
  file.managed:
    - name: {{ home }}/from-git/big
    - source: salt://site/files/big?saltenv=base
site-own:
  mine.well:
    - value: {{ salt['mine_too.word']() }}
""".replace("{%- from", "{%- set tplroot = tpldir.split('/')[0] %}\n{%- from", 1),
    "site/map.jinja": "{%- import_yaml 'site/defaults.yaml' as defaults %}\n"
    "{%- set site = salt['slsutil.merge'](defaults, salt['pillar.get']('site', {})) %}\n",
    "site/defaults.yaml": "title: nobody\nlang: en\n",
    "site/files/page": "{{ title }} on {{ grains['id'] }}: {{ pillar['site']['title'] }}\n",
    "site/files/tree/a": "a\n",
    "site/files/tree/run": ("100755", "#!/bin/sh\n"),
    "site/files/tree/sub/b": "b\n",
    "site/files/big": BIG,
    "_modules/mine_too.py": "def word():\n    return 'from git, ' + __grains__['id']\n",
    "_states/mine.py": "def well(name, value):\n"
    "    return {'name': name, 'result': True, 'changes': {}, 'comment': value}\n",
    "_renderers/upper.py": "def render(data, saltenv='base', sls='', **kw):\n"
    "    text = data.read() if hasattr(data, 'read') else data\n"
    "    return {'shout': {'test.nop': [{'name': text.splitlines()[-1].upper()}]}}\n",
    "shout.sls": "#!upper\nhello",
}
PILLAR = {"top.sls": "base:\n  '*': [site]\n", "site.sls": "site:\n  title: {{ grains['id'] }}'s own\n"}


@pytest.fixture
def git_server(tmp_path):
    folder = tmp_path / "sites"
    folder.mkdir()
    Repo(folder / "formula.git", FORMULA)
    Repo(folder / "pillar.git", PILLAR)
    with Http(folder, login=("me", "Corr3ct-H0rse")) as server:
        yield server


@pytest.fixture
def project(bed, tmp_path, git_server):
    """A project that consists of pushsalt.yaml and an inventory."""
    login = [{"user": "me"}, {"password": "Corr3ct-H0rse"}, {"insecure_auth": True}]
    project = Project(
        tmp_path,
        bed.inventory()["hosts"],
        file_roots={},
        pillar_roots={},
        fileserver_backend=["git"],
        gitfs_remotes=[{f"{git_server.url}/formula.git": [*login, {"name": "site"}]}],
        ext_pillar=[{"git": [{f"master {git_server.url}/pillar.git": login}]}],
        gitfs_update_interval=0,
        git_pillar_update_interval=0,
    )
    shutil.rmtree(project.folder / "salt")
    shutil.rmtree(project.folder / "pillar")
    shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
    return project


def test_a_formula_from_git_is_applied(project, bed, git_server):
    done = project.json("apply", "t*", timeout=120)
    assert done.code == 0, done.err or done.out
    for id in ("t1", "t2", "t3"):
        folder = bed.targets[id].home / "from-git"
        assert (folder / "page").read_text() == f"{id}'s own on {id}: {id}'s own\n"
        assert hashlib.sha256((folder / "big").read_bytes()).digest() == hashlib.sha256(BIG).digest()
        assert (folder / "tree" / "sub" / "b").read_text() == "b\n"
        assert [(folder / "tree" / name).stat().st_mode & 0o777 for name in ("a", "run")] == [0o644, 0o755]
        assert values(done.data[id])[-1]["comment"] == f"from git, {id}"
    again = project.json("apply", "t1")
    assert [bool(ret["changes"]) for ret in values(again.data["t1"])] == [False] * 4
    assert "Corr3ct" not in done.out + done.err + again.out + again.err
    for directory in (project.cache, *(bed.targets[id].home for id in bed.targets)):
        assert subprocess.run(["grep", "-rlq", "Corr3ct-H0rse", str(directory)], check=False).returncode == 1


def test_a_renderer_of_a_git_remote_is_used(project):
    done = project.json("apply", "t1", "shout")
    assert [ret["name"] for ret in values(done.data["t1"])] == ["HELLO"]


def test_an_error_names_the_repository_the_commit_and_the_line(project, git_server, tmp_path):
    repo = Repo.__new__(Repo)
    repo.path = git_server.root / "formula.git"
    repo.commit({"bad.sls": "a:\n  test.nop: []\nb: {{ nope }}\n"})
    done = project.json("apply", "t1", "bad")
    assert done.code == 2
    [text] = done.data["t1"]
    assert f"{git_server.url}/formula.git@{repo.tip()[:12]}:bad.sls" in text + done.err
    assert "nope" in text


def test_the_last_copy_is_used_while_the_server_fails(project, git_server):
    assert project.json("run", "t1", "cp.list_states").code == 0
    git_server.trouble = "500"
    done = project.json("run", "t1", "cp.list_states")
    assert (done.code, done.data["t1"]) == (0, ["shout", "site", "top"])
    assert "[WARNING ] git: site cannot be fetched" in done.err and "ago is used, master at" in done.err
    shutil.rmtree(project.cache)
    done = project.json("apply", "t1")
    assert done.code == 2 and "pillar.git has never been fetched" in done.data["t1"][1]
    assert "git: site cannot be fetched, and there is no copy of it" in done.err
    assert project.json("run", "t1", "test.ping").data == {"t1": True}


def test_ctrl_c_ends_a_fetch_at_once(project, git_server):
    git_server.trouble = "silent"
    process = project.start("apply", "--out", "json", "t1")
    wait_for(lambda: git_server.requests, 20)
    process.send_signal(signal.SIGINT)
    done = project.finish(process, 10)
    assert done.code == 130
    assert done.error("t1")["kind"] == "interrupted"


def test_locked_uses_the_commits_of_the_lock_file(project, git_server):
    done = project.run("apply", "--locked", "t1")
    assert done.code == 1 and "there is no" in done.err and "pushsalt.lock" in done.err
    assert project.run("formula", "update").code == 0
    repo = Repo.__new__(Repo)
    repo.path = git_server.root / "formula.git"
    locked_commit = repo.tip()
    repo.commit({"site/files/page": "moved\n", "shout.sls": "#!upper\nmoved"}, message="Say something else")
    assert locked_commit in (project.folder / "pushsalt.lock").read_text()
    for arguments in (("--locked", "apply"), ("apply",)):
        done = project.run(*arguments, "--out", "json", "t1", "shout")
        assert [ret["name"] for ret in values(done.data["t1"])] == ["HELLO"]
    done = project.run("formula", "update")
    assert done.code == 0
    assert f"{locked_commit[:12]} -> {repo.tip()[:12]}" in done.out
    assert "Say something else" in done.out and "site/files/page" in done.out
    done = project.run("apply", "--locked", "--out", "json", "t1", "shout")
    assert [ret["name"] for ret in values(done.data["t1"])] == ["MOVED"]
