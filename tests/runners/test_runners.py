"""Shipped runner functions, by the command line."""

from __future__ import annotations

import json

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    hosts = {
        "web1": {"transport": "local", "grains": {"role": "web"}, "pillar": {"color": "red"}},
        "web2": {"transport": "local", "grains": {"role": "web"}},
    }
    made = Project(tmp_path, hosts, mine_functions={"test.echo": ["mined"]})
    made.files({"salt/one.sls": "one:\n  test.nop: []\n", "salt/sub/file": "x"})
    return made


def runner(project, *words, code=0):
    done = project.run("runner", *words, "--out", "json")
    assert done.code == code, done.err
    return json.loads(done.out)


def test_jobs(project, tmp_path):
    jids = []
    for number, words in enumerate((["run", "web*", "test.echo", "hi"], ["apply", "web1", "one"])):
        path = tmp_path / f"jid{number}"
        assert project.run(*words, "--jid-file", str(path)).code == 0
        jids.append(path.read_text().strip())
    first, second = jids
    listed = runner(project, "jobs.list_jobs")
    assert list(listed) == jids
    about = {"Function": "test.echo", "Arguments": ["hi"], "Target": "web*", "Target-type": "glob"}
    assert about.items() <= listed[first].items()
    assert listed[first]["StartTime"].startswith(f"{first[:4]}, ")
    assert list(runner(project, "jobs.list_jobs", "search_function=test.*")) == [first]
    assert list(runner(project, "jobs.list_jobs", "search_target=web1")) == [second]
    assert list(runner(project, "jobs.list_jobs_filter", "1")) == [second]
    assert runner(project, "jobs.lookup_jid", first) == {"web1": "hi", "web2": "hi"}
    assert runner(project, "jobs.lookup_jid", second)["outputter"] == "highstate"
    printed = runner(project, "jobs.print_job", first)[first]
    assert printed["Result"]["web1"] == {"return": "hi", "retcode": 0, "success": True}
    assert printed["Minions"] == ["web1", "web2"]
    assert runner(project, "jobs.exit_success", second) == {"web1": True}
    assert list(runner(project, "jobs.last_run", "function=test.echo")) == [first]
    assert runner(project, "jobs.active") == {}
    assert "Error" in runner(project, "jobs.list_job", "20260101000000000000")


def test_cached_data_of_targets(project):
    assert runner(project, "cache.grains", "*") == {}
    assert project.run("grains", "*", "--out", "quiet").code == 0
    grains = runner(project, "cache.grains", "*")
    assert set(grains) == {"web1", "web2"} and grains["web1"]["id"] == "web1"
    assert runner(project, "mine.get", "*", "test.echo") == {"web1": "mined", "web2": "mined"}
    assert runner(project, "match.compound_matches", "web1 and G@role:web", "web1") == {"res": "web1"}
    assert runner(project, "match.compound_matches", "not web1", "web1") == {"res": False}
    assert runner(project, "cache.clear_mine_func", "web1", "clear_mine_func_flag=test.echo") is True
    assert runner(project, "cache.clear_mine_func", "web1", "clear_mine_func_flag=test.echo") is False
    assert runner(project, "mine.get", "*", "test.echo") == {"web2": "mined"}
    assert runner(project, "cache.clear_grains", "web1") is True
    assert set(runner(project, "cache.grains", "*")) == {"web2"}


def test_files_pillar_and_surveys(project):
    assert runner(project, "fileserver.envs") == ["base"]
    assert runner(project, "fileserver.file_list") == ["one.sls", "sub/file"]
    assert "sub" in runner(project, "fileserver.dir_list")
    (project.folder / "salt" / "empty").mkdir()
    assert runner(project, "fileserver.empty_dir_list") == ["empty"]
    assert runner(project, "fileserver.update") is True
    assert runner(project, "pillar.show_pillar", "web1")["color"] == "red"
    pools = runner(project, "survey.hash", "*", "test.echo", "same")
    assert pools == [{"pool": ["web1", "web2"], "result": "same"}]
    docs = runner(project, "doc.runner")
    assert "jobs.list_jobs" in docs and "survey.hash" in docs and "cache.grains" in docs
    assert "pillar.cached" not in docs


def test_manage(project):
    assert runner(project, "manage.present") == ["web1", "web2"]
    assert runner(project, "manage.joined", "subset=web1") == ["web1"]
    assert runner(project, "manage.not_alived") == []
