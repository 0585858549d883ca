"""``master_tops``: SLS from an external node classifier or a user's source, and their order."""

from __future__ import annotations

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.yamldump import dump_yaml

OWN = """
def __virtual__():
    return bool(__opts__["master_tops"]["own"])


def top(**kwargs):
    assert kwargs["grains"]["os"] == __grains__["os"] == "Debian"
    return {"base": ["b", kwargs["opts"]["id"]], "dev": list(__opts__["master_tops"]["own"])}
"""


@pytest.fixture
def show_top(tmp_path):
    def show_top(master_tops, **config):
        config.update(
            file_roots={"base": ["salt"], "dev": ["dev"]}, pillar_roots={"base": ["pillar"]}, master_tops=master_tops
        )
        files = {
            "pushsalt.yaml": dump_yaml(config, sort_keys=False),
            "inventory.yaml": "hosts: {web1: {transport: offline, grains: {os: Debian}}}\n",
            "salt/top.sls": "base: {'*': [a, b]}\n",
            "salt/_tops/own.py": OWN,
            "salt/_tops/broken.py": "def top(**kwargs):\n    raise ValueError('no such node')\n",
            "dev/nothing": "",
        }
        for path, text in files.items():
            file = tmp_path / path
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text(text)
        client = Client(Settings(config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache"))
        return client.run(Selection("web1"), "state.show_top")["web1"].ret

    return show_top


@pytest.mark.parametrize(
    "master_tops, config, want",
    [
        ({}, {}, {"base": ["a", "b"]}),
        ({"ext_nodes": "echo 'classes: [b, c]' #"}, {}, {"base": ["a", "b", "c"]}),
        ({"ext_nodes": "echo 'classes: [b, c]' #"}, {"master_tops_first": True}, {"base": ["b", "c", "a"]}),
        ({"ext_nodes": "printf '{classes: {x: , y: }, environment: d}'"}, {}, {"base": ["a", "b"], "d": ["x", "y"]}),
        ({"ext_nodes": "echo 'classes: [n] # for'"}, {}, {"base": ["a", "b", "n"]}),
        ({"ext_nodes": "true"}, {}, {"base": ["a", "b"]}),
        ({"own": ["x"]}, {}, {"base": ["a", "b", "web1"], "dev": ["x"]}),
        ({"own": []}, {}, {"base": ["a", "b"]}),
        ({"own": ["x"], "ext_nodes": "echo 'classes: [b, z]' #"}, {}, {"base": ["a", "b", "web1", "z"], "dev": ["x"]}),
        ({"own": ["x"]}, {"saltenv": "dev"}, {"base": ["b", "web1"], "dev": ["x"]}),
    ],
)
def test_classes_are_sls(show_top, master_tops, config, want):
    assert show_top(master_tops, **config) == want


@pytest.mark.parametrize(
    "master_tops, words",
    [
        ({"ext_nodes": "ls /nowhere"}, ["ext_nodes failed for minion web1: ls /nowhere ended with code 2: ls: "]),
        ({"ext_nodes": "echo 'a: ['"}, ["ext_nodes failed for minion web1: "]),
        ({"ext_nodes": "echo just text"}, ["no mapping with `classes`"]),
        ({"broken": 1, "nosuch": 1}, ["broken failed for minion web1: no such node", "there is no plug-in 'nosuch'"]),
    ],
)
def test_a_failing_source_stops_the_target(show_top, master_tops, words):
    errors = show_top(master_tops)
    assert len(errors) == len(words)
    assert all(word in error for word, error in zip(words, errors, strict=True))
