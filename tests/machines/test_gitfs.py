"""A formula from git on a booted machine: the controller has only pushsalt.yaml and an inventory."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.beds.gitserver import Http, Repo
from tests.beds.machines import missing
from tests.beds.project import values

pytestmark = [
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(600),
]

FORMULA = {
    "motd/init.sls": """\
{% from tpldir ~ "/map.jinja" import motd with context %}
motd-group:
  group.present:
    - name: {{ motd.group }}
motd-file:
  file.managed:
    - name: /etc/motd.from-git
    - source: salt://motd/files/motd
    - template: jinja
    - group: {{ motd.group }}
    - context: {text: {{ motd.text }}}
    - require:
      - group: motd-group
""",
    "motd/clean.sls": """\
{% from tpldir ~ "/map.jinja" import motd with context %}
motd-file:
  file.absent:
    - name: /etc/motd.from-git
motd-group:
  group.absent:
    - name: {{ motd.group }}
""",
    "motd/map.jinja": "{% set motd = salt['grains.filter_by']({'Debian': {'group': 'gitted', 'text': '?'}},"
    " merge=salt['pillar.get']('motd')) %}\n",
    "motd/files/motd": "{{ text }} ({{ grains['osrelease'] }}, {{ salt['cmd.run']('hostname') }})\n",
}
PILLAR = {"top.sls": "base: {'*': [motd]}", "motd.sls": "motd: {text: from {{ grains.id }}}"}


def test_a_formula_from_git_alone(machine, make_project, tmp_path):
    one = machine("bookworm")
    Repo(tmp_path / "motd-formula.git", FORMULA)
    Repo(tmp_path / "pillar.git", PILLAR)
    project = make_project({"m1": one.host()}, one)
    for folder in ("salt", "pillar"):
        shutil.rmtree(project.folder / folder)
    with Http(tmp_path) as server:
        config = {
            "fileserver_backend": ["git"],
            "gitfs_remotes": [f"{server.url}/motd-formula.git"],
            "ext_pillar": [{"git": [f"master {server.url}/pillar.git"]}],
        }
        project.write("pushsalt.yaml", json.dumps(config))
        dry = project.json("apply", "--test", "m1", "motd", timeout=300)
        assert [ret["result"] for ret in values(dry.data["m1"])] == [None, None], dry.err
        done = project.json("apply", "m1", "motd", timeout=300)
        assert done.code == 0, done.err
        assert one.shell("cat /etc/motd.from-git; stat -c %G /etc/motd.from-git").split("\n")[:2] == [
            f"from m1 (12, {one.shell('hostname').strip()})",
            "gitted",
        ]
        again = project.json("apply", "m1", "motd", timeout=300)
        assert [bool(ret["changes"]) for ret in values(again.data["m1"])] == [False, False]
        assert project.json("apply", "m1", "motd.clean", timeout=300).code == 0
