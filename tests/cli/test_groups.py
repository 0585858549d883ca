"""Groups of an inventory are targets, as nodegroups are: on the command line, in expressions, top files and
templates.
"""

from __future__ import annotations

import shlex

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

NATIVE = """
hosts:
  web1: {transport: offline}
  web2: {transport: offline}
  db1: {transport: local}
groups:
  web: {hosts: ['web*']}
  data: {hosts: [db1]}
  prod: {hosts: ['*1']}
"""
ANSIBLE = """
[web]
web[1:2]
[data]
db1 ansible_connection=local
[prod:children]
eu
[eu]
web1
db1
"""
NODEGROUPS = {"front": "N@web and not web2", "eu": ["web2", "db1"], "prod": "web2"}


@pytest.fixture
def make(tmp_path):
    def make(inventory=NATIVE, **config):
        project = Project(tmp_path, **config)
        project.write("inventory.yaml", inventory)
        return project

    return make


@pytest.mark.parametrize("inventory", [NATIVE, ANSIBLE], ids=["native", "ansible"])
@pytest.mark.parametrize(
    "words, want",
    [
        ("-N web", "web1 web2"),
        ("-N prod", "web1 db1"),
        ("-N data", "db1"),
        ("-C 'N@web and N@prod'", "web1"),
        ("-C 'not N@web'", "db1"),
        ("-N front", "web1"),
        ("-C 'N@front or N@data'", "web1 db1"),
        ("web* --exclude N@prod", "web2"),
    ],
)
def test_they_are_targets(make, inventory, words, want):
    project = make(inventory, nodegroups={"front": NODEGROUPS["front"]})
    done = project.run("target", *shlex.split(words))
    assert (done.code, done.out.split(), done.err) == (0, want.split(), "")


def test_a_nodegroup_of_the_same_name_is_meant_and_that_is_said(make):
    project = make(nodegroups=NODEGROUPS)
    for words in (("-N", "prod"), ("-C", "N@prod")):
        done = project.run("target", *words)
        assert (done.code, done.out) == (0, "web2\n")
        assert done.err == "[WARNING ] prod is a nodegroup, and a group of the inventory: the nodegroup is meant\n"
    assert project.run("target", "-N", "web").err == ""


@pytest.mark.parametrize(
    "words, hint",
    [
        (("web",), "web is a group: -N web; nearest ids: web1, web2"),
        (("-L", "web"), "web is a group: -N web"),
        (("-L", "web1,web"), "web is a group: -N web"),
        (("front",), "front is a nodegroup: -N front"),
        (("-C", "web or data"), "web is a group: N@web; data is a group: N@data"),
        (("N@web",), "a target without an option is a glob over ids: -N web or -C N@web"),
        (("N@web and not G@os:x",), "a target without an option is a glob over ids: -C 'N@web and not G@os:x'"),
        (("web1 or db1",), "a target without an option is a glob over ids: -C 'web1 or db1'"),
        (("-N", "wep"), "nearest groups: web"),
        (("-N", "all"), "'*' selects all targets"),
    ],
)
def test_what_matches_nothing_and_is_a_group(make, words, hint):
    project = make(nodegroups=NODEGROUPS)
    done = project.run("run", *words, "test.ping")
    assert (done.code, done.out) == (1, "")
    assert f"hint: {hint}" in done.err


def test_why(make):
    project = make()
    found = project.json("target", "-N", "web", "--explain").data
    assert found["web1"]["terms"] == [
        {"term": "N@web", "holds": True, "value": ["web", "prod"], "source": "inventory", "age": None}
    ]
    found = project.json("target", "-N", "web", "--explain", "db1").data
    assert (found["db1"]["matches"], found["db1"]["terms"][0]["value"]) == (False, ["data", "prod"])


def test_in_top_files_and_templates(make):
    project = make(nodegroups=NODEGROUPS)
    project.files(
        {
            "salt/top.sls": "base:\n  N@web and not N@prod: [a]\n  web: [{match: nodegroup}, b]\n  front: [{match: "
            "nodegroup}, c]\n  N@gone: [d]\n  eu: [{match: nodegroup}, e]\n",
            "pillar/top.sls": "base: {N@web: [p]}\n",
            "pillar/p.sls": "tier: front\n",
            "salt/t.sls": "is: {test.nop: [{name: '{{ salt['match.nodegroup']('web') }} {{ salt['match.compound']"
            "('N@data') }}'}]}\n",
        }
    )
    done = project.json("run", "*", "state.show_top")
    assert done.data == {"web1": {"base": ["a", "b", "c"]}, "web2": {"base": ["b", "e"]}, "db1": {"base": ["e"]}}
    assert "there is no nodegroup 'gone', and no group of this name has hosts" in done.err and "'web'" not in done.err
    found = project.json("run", "*", "pillar.items", "unmask=True").data
    assert found == {"web1": {"tier": "front"}, "web2": {"tier": "front"}, "db1": {}}
    found = project.json("run", "*", "state.show_low_sls", "t").data
    assert {id: low[0]["name"] for id, low in found.items()} == {
        "web1": "True False",
        "web2": "True False",
        "db1": "False True",
    }
    assert project.json("run", "db1", "match.nodegroup", "data").data == {"db1": True}


def test_groups_of_a_large_inventory_come_from_its_image(make):
    hosts = "".join(f"  h{n}: {{transport: offline}}\n" for n in range(2100))
    project = make(f"hosts:\n{hosts}groups:\n  some: {{hosts: ['h1*']}}\n  few: {{hosts: [h7, h8]}}\n")
    for _ in range(2):
        assert project.run("target", "-C", "N@few or ( N@some and h10 )").out.split() == ["h7", "h8", "h10"]
        assert project.json("run", "h7", "match.nodegroup", "few").data == {"h7": True}
        assert "few is a group: -N few" in project.run("target", "few").err
