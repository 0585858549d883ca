"""pushsalt resource: output about managed resources."""

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

PILLAR = "resources: {dummy: [d1, d2], nowhere: {}}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resource")
    hosts = {id: {"transport": "local", "thin_dir": str(folder / id)} for id in ("host1", "host2")}
    made = Project(folder, hosts)
    made.write("pillar/top.sls", "base: {host1: [res]}\n")
    made.write("pillar/res.sls", PILLAR)
    return made


@pytest.fixture(scope="module")
def discovered(project):
    done = project.run("resource", "refresh", "*")
    assert done.code == 0, done.err
    return project


def test_without_cached_resources(tmp_path):
    empty = Project(tmp_path, {"host1": {"transport": "local"}})
    assert "pushsalt resource refresh TARGET" in empty.run("resource", "list").out
    assert empty.run("resource", "list", "--out", "json").data == {}


def test_refresh_of_targets_and_their_resources(discovered):
    done = discovered.run("resource", "refresh", "--out", "json", "*")
    assert done.data == {"host1": {"dummy": ["d1", "d2"]}, "host2": {}}
    assert "host1: resources of type nowhere" in done.err
    by_type = discovered.run("resource", "refresh", "--out", "json", "-C", "T@dummy")
    assert (by_type.code, list(by_type.data)) == (0, ["host1"])
    assert discovered.json("run", "*", "resource.refresh").data["d1"] == {}


def test_list(discovered):
    rows = [line.split()[:3] for line in discovered.run("resource", "list", "dummy").out.splitlines()]
    assert rows == [["TYPE", "ID", "MANAGER"], ["dummy", "d1", "host1"], ["dummy", "d2", "host1"]]
    [row] = [row for key, row in discovered.run("resource", "list", "--out", "json").data.items() if key == "dummy:d2"]
    assert {key: row[key] for key in ("type", "id", "manager")} == {"type": "dummy", "id": "d2", "manager": "host1"}
    wrong = discovered.run("resource", "list", "machine")
    assert wrong.code == 1 and "types with cached resources: dummy" in wrong.err


@pytest.mark.parametrize("word", ["list-grains", "list_grains"])
def test_list_grains(discovered, word):
    found = discovered.run("resource", word, "--out", "json").data
    assert set(found) == {"dummy:d1", "dummy:d2"}
    assert found["dummy:d1"]["grain_count"] == len(found["dummy:d1"]["grain_keys"]) > 3
    assert discovered.json("run", "host1", "resource.list_grains").data == {"host1": found}
    assert discovered.json("run", "host2", "resource.list_grains").data == {"host2": {}}


@pytest.mark.parametrize("words", [["dummy:d1"], ["dummy", "d1"]])
def test_show_grains(discovered, words):
    found = discovered.run("resource", "show-grains", "--out", "json", *words).data
    assert found["id"] == found["resource_id"] == "d1"
    assert discovered.json("run", "host1", "resource.show_grains", "dummy", "d1").data == {"host1": found}
    assert discovered.json("run", "host2", "resource.show_grains", "type=dummy", "id=d1").data == {"host2": None}


def test_show_grains_of_an_unknown_resource(discovered):
    done = discovered.run("resource", "show-grains", "dummy:d3")
    assert done.code == 1 and "nearest: dummy:d" in done.err


def test_resources_that_are_not_declared_any_more_are_forgotten(project, discovered):
    project.write("pillar/res.sls", "resources: {dummy: [d2]}\n")
    try:
        discovered.run("run", "host1", "saltutil.refresh_pillar")
        assert list(discovered.run("resource", "list", "--out", "json").data) == ["dummy:d2"]
        assert discovered.run("apply", "d1").code == 1
    finally:
        project.write("pillar/res.sls", PILLAR)
        discovered.run("resource", "refresh", "host1")
