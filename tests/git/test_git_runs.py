"""Several runs of one Client, and options without effect."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import ConfigError
from tests.beds.gitserver import Repo


def client(tmp_path, **config):
    path = tmp_path / "pushsalt.yaml"
    path.write_text(json.dumps({"cache_dir": str(tmp_path / "cache"), "file_roots": {}, **config}))
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"hosts": {"here": {"transport": "offline", "grains": {"os": "Debian"}}}}))
    return Client(Settings(config=path, inventories=[inventory]))


def low(made, sls):
    ret = made.run(Selection("here"), "state.show_low_sls", [sls])["here"].ret
    return [chunk["name"] for chunk in ret]


def test_a_further_run_uses_the_current_revisions(tmp_path):
    states = Repo(tmp_path / "s.git", {"a.sls": "{{ pillar.word }}1:\n  test.nop: []\n"})
    words = Repo(tmp_path / "p.git", {"top.sls": "base: {'*': [w]}", "w.sls": "word: x"})
    made = client(
        tmp_path,
        fileserver_backend=["git"],
        gitfs_remotes=[states.url],
        gitfs_update_interval=0,
        ext_pillar=[{"git": [f"master {words.url}"]}],
        git_pillar_update_interval=0,
    )
    assert low(made, "a") == ["x1"]
    states.commit({"a.sls": "{{ pillar.word }}2:\n  test.nop: []\n"})
    assert low(made, "a") == ["x2"]
    words.commit({"w.sls": "word: y"})
    assert low(made, "a") == ["y2"]


def test_remotes_that_no_backend_serves_are_reported(tmp_path, caplog):
    made = client(tmp_path, gitfs_remotes=["file:///nowhere/x.git"])
    assert made.run(Selection("here"), "state.show_top")["here"].exit_code == 0
    assert "fileserver_backend does not have git" in caplog.text


def test_passwords_in_urls_do_not_reach_templates(tmp_path):
    url = "https://me:Corr3ct-H0rse@example.org/x.git"
    made = client(tmp_path, gitfs_remotes=[url, {url: [{"password": "Corr3ct-H0rse"}]}], pillar_opts=True)
    ret = made.run(Selection("here"), "pillar.items", [], {"unmask": True})["here"].ret
    assert "https://example.org/x.git" in json.dumps(ret["master"]["gitfs_remotes"])
    opts = made.run(Selection("here"), "slsutil.renderer", [], {"string": "x: {{ opts | string }}"})["here"].ret
    assert "Corr3ct-H0rse" not in json.dumps(ret) + json.dumps(opts, default=str)


def test_a_remote_that_is_not_locked_stops_the_command(tmp_path):
    states = Repo(tmp_path / "s.git", {"a.sls": "a:\n  test.nop: []\n"})
    (tmp_path / "pushsalt.lock").write_text("version: 1\nremotes: {}\n")
    made = client(tmp_path, fileserver_backend=["git"], gitfs_remotes=[states.url])
    locked = Client(replace(made.settings, locked=True))
    with pytest.raises(ConfigError, match="--locked"):
        locked.run(Selection("here"), "state.show_low_sls", ["a"])
    assert low(made, "a") == ["a"]  # that adds it
    assert low(locked, "a") == ["a"]


def test_options_that_cannot_hold_stop_the_command(tmp_path):
    for config in (
        {"fileserver_backend": ["git"], "gitfs_remotes": ["ext::sh"]},
        {"ext_pillar": [{"git": ["master ext::sh"]}]},
    ):
        with pytest.raises(ConfigError):
            client(tmp_path, **config).run(Selection("here"), "state.show_top")


def test_file_root_is_used_together_with_git(tmp_path):
    states = Repo(tmp_path / "s.git", {"a.sls": "git:\n  test.nop: []\n", "b.sls": "git:\n  test.nop: []\n"})
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.sls").write_text("disk:\n  test.nop: []\n")
    made = client(tmp_path, fileserver_backend=["git"], gitfs_remotes=[states.url])
    more = Client(replace(made.settings, file_roots=[tmp_path / "more"]))
    assert (low(made, "a"), low(more, "a"), low(more, "b")) == (["git"], ["disk"], ["git"])
