"""Salt's ``external_auth``: which functions an account may call, on which targets."""

from __future__ import annotations

import pytest

from pushsalt.serve.permissions import may_call, may_run, of_account, shown

IDS = {
    "web*": {"web1", "web2"},
    "web1": {"web1"},
    "db1": {"db1"},
    "*": {"web1", "web2", "db1"},
    "G@os:Debian": {"db1"},
    "none*": set(),
}

#: permissions, function, args, kwargs, ids -> whether they may be called
CALLS = [
    ([], "test.ping", [], {}, ["web1"], False),
    (["test.*"], "test.ping", [], {}, ["web1", "db1"], True),
    (["test.*"], "cmd.run", ["id"], {}, ["web1"], False),
    (["test.ping"], "test.pingpong", [], {}, ["web1"], True),  # the begin counts, as in Salt
    (["test.ping$"], "test.pingpong", [], {}, ["web1"], False),
    ([".*"], "cmd.run", ["id"], {}, ["web1"], True),
    (["@runner"], "runner.x", [], {}, ["web1"], False),
    ([{"web*": ["test.*"]}], "test.ping", [], {}, ["web1"], True),
    ([{"web*": ["test.*"]}], "test.ping", [], {}, ["web1", "web2"], True),
    ([{"web*": ["test.*"]}], "test.ping", [], {}, ["web1", "db1"], False),
    ([{"web*": "test.*"}], "test.ping", [], {}, ["web1"], True),
    ([{"*": ["test.*"]}], "test.ping", [], {}, ["web1", "unknown"], True),
    ([{"none*": ["test.*"]}], "test.ping", [], {}, ["web1"], False),
    ([{"G@os:Debian": [".*"]}], "cmd.run", ["id"], {}, ["db1"], True),
    ([{"G@os:Debian": [".*"]}], "cmd.run", ["id"], {}, ["web1"], False),
    ([{"web1": ["test.*"]}, {"web*": ["test.*"]}], "test.ping", [], {}, ["web1", "web2"], True),
    ([{"web1": ["test.*"]}, {"db1": ["test.*"]}], "test.ping", [], {}, ["web1", "db1"], False),  # no sum, as in Salt
    ([{"@runner": [".*"]}], "test.ping", [], {}, ["web1"], False),
    ([{"web1": ["x"], "db1": [".*"]}], "test.ping", [], {}, ["web1"], False),  # no entry of Salt
    ([{"*": [{"cmd.run": {"args": ["echo .*"]}}]}], "cmd.run", ["echo a"], {}, ["web1"], True),
    ([{"*": [{"cmd.run": {"args": ["echo .*"]}}]}], "cmd.run", ["id"], {}, ["web1"], False),
    ([{"*": [{"cmd.run": {"args": ["echo .*"]}}]}], "cmd.run", [], {"cmd": "id"}, ["web1"], False),
    ([{"*": [{"cmd.run": {"args": [None, "x"]}}]}], "cmd.run", ["a", "x"], {}, ["web1"], True),
    ([{"*": [{"pkg.install": {"kwargs": {"name": "nginx$"}}}]}], "pkg.install", [], {"name": "nginx"}, ["web1"], True),
    ([{"*": [{"pkg.install": {"kwargs": {"name": "nginx$"}}}]}], "pkg.install", [], {"name": "sudo"}, ["web1"], False),
    ([{"*": [{"pkg.install": {"kwargs": {"name": "nginx$"}}}]}], "pkg.install", ["sudo"], {}, ["web1"], False),
    ([{"*": [{"pkg.install": [{"args": ["a$"]}, {"args": ["b$"]}]}]}], "pkg.install", ["b"], {}, ["web1"], True),
    (["test.(ping"], "test.ping", [], {}, ["web1"], False),  # no regular expression
    ([1, None, [], {}], "test.ping", [], {}, ["web1"], False),
    ([], "saltutil.find_job", ["1"], {}, ["web1"], True),
]


@pytest.mark.parametrize("permissions, fun, args, kwargs, ids, wanted", CALLS)
def test_functions_on_targets(permissions, fun, args, kwargs, ids, wanted):
    assert may_call(permissions, fun, args, kwargs, ids, lambda expr: IDS[expr]) is wanted


#: permissions, function, args, kwargs, form -> whether it may be called
RUNNERS = [
    ([], "jobs.list_jobs", [], {}, "runner", False),
    ([".*"], "jobs.list_jobs", [], {}, "runner", False),
    (["@runner"], "jobs.list_jobs", [], {}, "runner", True),
    (["@runners"], "jobs.list_jobs", [], {}, "runner", True),
    (["@jobs"], "jobs.list_jobs", [], {}, "runner", True),
    (["@jobs"], "manage.up", [], {}, "runner", False),
    (["@wheel"], "jobs.list_jobs", [], {}, "runner", False),
    (["@wheel"], "key.list_all", [], {}, "wheel", True),
    (["@runner"], "key.list_all", [], {}, "wheel", False),
    ([{"@runner": ["manage.*"]}], "manage.up", [], {}, "runner", True),
    ([{"@runner": ["manage.*"]}], "jobs.active", [], {}, "runner", False),
    ([{"@jobs": ["list_.*"]}], "jobs.list_jobs", [], {}, "runner", True),
    ([{"@jobs": ["list_.*"]}], "jobs.active", [], {}, "runner", False),
    ([{"@runner": [{"event.send": {"args": ["app/"]}}]}], "event.send", ["app/x"], {}, "runner", True),
    ([{"@runner": [{"event.send": {"args": ["app/"]}}]}], "event.send", ["salt/x"], {}, "runner", False),
    ([{"@runner": [{"event.send": {"kwargs": {"tag": "app/"}}}]}], "event.send", [], {"tag": "app/x"}, "runner", True),
    ([{"web*": [".*"]}], "manage.up", [], {}, "runner", False),
    (["@runner"], "manage", [], {}, "runner", False),
    (["@runner"], "a.b.c", [], {}, "runner", False),
]


@pytest.mark.parametrize("permissions, fun, args, kwargs, form, wanted", RUNNERS)
def test_functions_of_the_controller(permissions, fun, args, kwargs, form, wanted):
    assert may_run(permissions, fun, args, kwargs, form) is wanted


PROVIDER = {"^filename": "users", "anna": ["a"], "b*": ["b"], "ber(t|ta)": ["c"], "ops%": ["d"], "*": ["e"]}


@pytest.mark.parametrize(
    "name, permissive, wanted",
    [
        ("anna", False, ["a"]),
        ("berta", False, ["b", "c"]),
        ("carl", False, ["e"]),
        ("anna", True, ["a", "e"]),
        ("*", False, ["e"]),  # in Salt, this name has the permissions of all
        ("ops%", False, ["e"]),
        ("^filename", False, ["e"]),
    ],
)
def test_permissions_of_an_account(name, permissive, wanted):
    assert of_account(PROVIDER, name, permissive=permissive) == wanted


def test_an_account_that_nothing_names_has_none():
    assert of_account({"anna": [".*"]}, "carl") == []
    assert of_account({"anna": None, "b*": "x"}, "anna") == []


def test_permissions_as_a_login_shows_them():
    rows = {"anna": ["test.*", {"web*": ["x"]}, "@jobs", "test.*"], "*": ["@jobs", {"web*": ["x"]}]}
    assert shown(rows, "anna") == ["@jobs", "test.*", {"web*": ["x"]}]
