"""``ext_pillar: - git:`` with Salt's options, over real repositories."""

from __future__ import annotations

import pytest

from pushsalt.errors import ConfigError, StateError
from pushsalt.ext_pillar import Outside, find_source
from pushsalt.options import OPTIONS
from pushsalt.render import RenderContext


@pytest.fixture
def pillar(remotes):
    """Compiles the pillar of web1 from some remotes: `pillar(f"master {url}", git_pillar_root="x")`."""

    def make(*repos, grains=None, command=None, **opts):
        command = command or remotes()
        every = {name: option.default for name, option in OPTIONS.items()}
        settings = {**every, "git_pillar_update_interval": 0, "id": "web1", **opts}
        grains = grains or {"id": "web1", "os": "Debian"}
        context = RenderContext("web1", settings, grains, {}, {})
        outside = Outside(settings, context, None, lambda expr, kind: expr in ("*", "web1"), lambda: command)
        return find_source("git", (), outside)("web1", {}, *repos)

    return make


def tree(env="base", name="a", **values):
    text = "".join(f"{key}: {value}\n" for key, value in values.items())
    return {"top.sls": f"{env}:\n  '*':\n    - {name}\n", f"{name}.sls": text}


def test_a_branch_is_a_pillar_environment(repo, pillar):
    one = repo(tree(x=1, os="{{ grains.os }}"))
    one.commit({**tree("dev", y=2), "a.sls": "y: 2"}, "dev")
    one.tag("v1")
    assert pillar(f"master {one.url}") == {"x": 1, "os": "Debian"}
    assert pillar(one.url) == {"x": 1, "os": "Debian"}
    assert pillar(one.url, git_pillar_branch="dev") == {"y": 2}
    assert pillar(f"master {one.url}", f"dev {one.url}") == {"x": 1, "os": "Debian", "y": 2}
    assert pillar(f"dev {one.url}", pillarenv="dev") == {"y": 2}
    assert pillar(f"dev {one.url}", pillarenv="base") == {}
    assert pillar({f"v1 {one.url}": [{"env": "base"}]}) == {"x": 1, "os": "Debian"}


def test_env_renames(repo, pillar):
    one = repo({**tree("prod", x=1)})
    assert pillar({f"master {one.url}": [{"env": "prod"}]}) == {"x": 1}
    assert pillar(f"master {one.url}", git_pillar_env="prod") == {"x": 1}
    with pytest.raises(StateError, match="No matching pillar environment for environment 'prod'"):
        pillar(f"master {one.url}")


@pytest.mark.parametrize("way", ["global", "remote"])
def test_root_and_base(repo, pillar, way):
    one = repo({f"pillar/{path}": text for path, text in tree(x=1).items()}, branch="main")
    if way == "global":
        assert pillar(f"main {one.url}", git_pillar_root="pillar", git_pillar_base="main") == {"x": 1}
    else:
        assert pillar({f"main {one.url}": [{"root": "pillar"}, {"env": "base"}]}) == {"x": 1}
    assert pillar({f"__env__ {one.url}": [{"root": "pillar"}, {"base": "main"}]}) == {"x": 1}


def test_the_branch_env_follows_the_pillarenv(repo, pillar):
    one = repo({"top.sls": "{{ saltenv }}:\n  '*': [a]\n", "a.sls": "x: master"})
    one.commit({"a.sls": "x: dev"}, "dev")
    one.commit({"a.sls": "x: qa"}, "qa")
    name = f"__env__ {one.url}"
    assert pillar(name) == {"x": "master"}
    assert pillar(name, pillarenv="dev") == {"x": "dev"}
    assert pillar(name, saltenv="qa") == {"x": "qa"}
    assert pillar({name: [{"all_saltenvs": "dev"}]}, pillarenv="qa") == {"x": "dev"}
    assert pillar(name, pillarenv="nope") == {}


@pytest.mark.parametrize("way", ["global", "remote"])
def test_fallback(repo, pillar, way):
    one = repo({"top.sls": "{{ saltenv }}:\n  '*': [a]\n", "a.sls": "x: master"})
    below, opts = ([{"fallback": "master"}], {}) if way == "remote" else ([], {"git_pillar_fallback": "master"})
    entry = {f"__env__ {one.url}": below} if below else f"__env__ {one.url}"
    assert pillar(entry, pillarenv="nope", **opts) == {"x": "master"}


def test_remotes_are_merged_in_order_and_include_from_each_other(repo, pillar):
    one = repo({"top.sls": "base: {'*': [a, shared]}", "a.sls": "l: [1]\nx: 1\nd: {a: 1}"})
    more = {"b.sls": "x: 2\nd: {b: 2}", "shared.sls": "s: 2", "a.sls": "no: 1"}
    two = repo({"top.sls": "base: {'*': [b]}", **more}, "two")
    names = [f"master {one.url}", f"master {two.url}"]
    assert pillar(*names) == {"l": [1], "x": 2, "d": {"a": 1, "b": 2}, "s": 2}
    with pytest.raises(StateError, match="'shared'"):
        pillar(*names, git_pillar_includes=False)
    assert pillar(*names, pillar_source_merging_strategy="overwrite")["d"] == {"b": 2}


def test_a_mounted_remote_is_included_from_and_has_no_top_of_its_own(repo, pillar):
    one = repo({"top.sls": "base: {'*': [web.server.nginx]}"})
    nginx = "{% import_yaml 'web/server/m.yaml' as m %}\nn: {{ m.k }}"
    two = repo({"top.sls": "base: {'*': [other]}", "nginx.sls": nginx, "m.yaml": "k: 5", "other.sls": "o: 1"}, "two")
    assert pillar(f"master {one.url}", {f"master {two.url}": [{"mountpoint": "web/server/"}]}) == {"n": 5}


def test_all_errors_of_a_tree_are_said_with_their_places(repo, pillar):
    one = repo({"top.sls": "base: {'*': [a, b]}", "a.sls": "x: {{ nope }}", "b.sls": "y: ["})
    with pytest.raises(StateError) as caught:
        pillar(f"master {one.url}")
    assert len(caught.value.errors) == 2
    text = "\n".join(caught.value.errors)
    assert f"{one.url}@{one.tip()[:12]}:a.sls" in text and "b.sls" in text


def test_no_such_branch_or_folder(repo, pillar, caplog):
    one = repo(tree(x=1))
    assert pillar(f"nope {one.url}", f"master {one.url}") == {"x": 1}
    assert "has no branch or tag nope" in caplog.text
    assert pillar({f"master {one.url}": [{"root": "nowhere"}]}) == {}
    assert "has no folder nowhere" in caplog.text


def test_options_that_cannot_hold(pillar):
    with pytest.raises(ConfigError, match="`base` is for the branch __env__"):
        pillar({"master https://example.org/x.git": [{"base": "x"}]})
    with pytest.raises(ConfigError, match="not an option of a remote"):
        pillar({"master https://example.org/x.git": [{"saltenv": []}]})
    with pytest.raises(ConfigError, match="cannot be a branch"):
        pillar("-x https://example.org/x.git")


def test_a_remote_is_fetched_once_for_many_targets(repo, pillar, remotes):
    one = repo(tree(x=1))
    command = remotes()
    assert pillar(f"master {one.url}", command=command) == {"x": 1}
    one.commit({"a.sls": "x: 2"})
    assert pillar(f"master {one.url}", command=command) == {"x": 1}
    assert pillar(f"master {one.url}") == {"x": 2}
