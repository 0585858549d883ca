"""The dummy, the simplest of the shipped types: declaration of types, and functions of a resource's session."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from thin import lock


@pytest.mark.parametrize(
    "declared, ids",
    [
        ({"resource_ids": ["a", "b"]}, ["a", "b"]),
        (["a", "b", "a"], ["a", "b"]),
        ([7], ["7"]),
        ({"resource_ids": "a"}, ["a"]),
        ({"resource_ids": {"a": {"more": 1}, 7: None}}, ["a", "7"]),
        ({}, []),
        (None, []),
    ],
)
def test_all_forms_of_declarations_are_accepted(bed, declared, ids) -> None:
    found, failed = bed.discover(dummy=declared)
    assert (list(found["dummy"]), failed) == (ids, {})
    for id in ids:
        assert found["dummy"][id] == {
            "grains": {"dummy_grain_1": "one", "dummy_grain_2": "two", "dummy_grain_3": "three", "resource_id": id}
        }
    assert not list(bed.cache.iterdir()), "discovery writes nothing"


@pytest.mark.parametrize(
    "declared, expected",
    [
        (5, "neither a mapping nor a list of ids, but int"),
        ("a", "neither a mapping nor a list of ids, but str"),
        ({"resource_ids": 5}, "resource_ids is neither a list nor a mapping, but int"),
    ],
)
def test_invalid_declarations_are_reported(bed, declared, expected) -> None:
    found, failed = bed.discover(dummy=declared, http_api={})
    assert (found, list(failed)) == ({"http_api": {}}, ["dummy"])
    assert expected in failed["dummy"]


def test_a_session_with_an_invalid_declaration_reports_it(bed) -> None:
    assert "neither a mapping nor" in bed.error(bed.start({"type": "dummy", "id": "d", "declared": 5}), "test.ping")


def test_invalid_ids_are_reported_and_others_are_discovered(bed) -> None:
    ids = ["good", "", "x" * 256, "new\nline", "bell\x07", "\x85", {"a": 1}, None, 1.5, True]
    found, failed = bed.discover(dummy=[*ids, "../../etc", "a:b", "ä b", "-"])
    assert list(found["dummy"]) == ["good", "../../etc", "a:b", "ä b", "-"]
    assert "an id has 1 to 255 characters, not 256" in failed["dummy"] and "control" in failed["dummy"]
    assert failed["dummy"].endswith("and 4 more")


@pytest.mark.parametrize("id", ["../../escaped", "/etc/passwd", "..", ".", "a\u0301 b", "x" * 255, "=" + "0" * 64])
def test_no_id_writes_outside_of_the_folder(bed, id) -> None:
    peer = bed.start({"type": "dummy", "id": id})
    assert peer.call("pkg.install", "thing") == {"thing": {"old": "", "new": "1.0"}}
    assert peer.call("pkg.version", "thing") == "1.0"
    [path] = bed.cache.iterdir()
    assert path.name.startswith("dummy-resource-") and path.stat().st_mode & 0o777 == 0o600
    assert bed.start({"type": "dummy", "id": id + "x"}).call("pkg.version", "thing") == ""


def test_the_error_of_an_unknown_type_names_the_nearest(bed) -> None:
    found, failed = bed.discover(dumy=["a"], nothing=None, os=None, **{"../modules": None})
    assert found == {}
    assert failed["dumy"] == "there is no such resource type (nearest: dummy)"
    assert {failed[name] for name in ("nothing", "os", "../modules")} == {"there is no such resource type"}


def test_a_dummy_has_only_the_functions_of_its_type(bed) -> None:
    peer = bed.start({"type": "dummy", "id": "d1"}, want_grains=True, grains={"role": "fixed"})
    assert peer.ready["grains"]["resource_id"] == "d1" and peer.ready["grains"]["role"] == "fixed"
    assert "kernel" not in peer.ready["grains"]
    assert peer.call("test.ping") is True
    assert peer.call("grains.items")["resource_id"] == peer.call("grains.get", "resource_id") == "d1"
    assert "redbull" in peer.call("pkg.list_pkgs")
    for fun in ("cmd.run", "file.remove", "grains.setval", "sys.list_functions", "test.echo", "pkg.latest_version"):
        answer = peer.request("call", fun=fun, args=["echo hello"], kwargs={}, cli=True)
        assert answer["message"] == f"'{fun}' is not supported for resource type 'dummy'"
        assert answer["known"] is False
        assert (
            answer["hint"] == "a resource of type dummy has the functions of these modules: grains, pkg, service, test"
        )
    assert peer.request("call", fun="pkg.instal", args=[], kwargs={})["nearest"][0] == "pkg.install"
    assert peer.request("grains", refresh=True)["ret"]["resource_id"] == "d1"


def test_states_of_a_dummy_have_dry_first_and_second_runs(bed) -> None:
    peer = bed.start({"type": "dummy", "id": "d1"})
    chunks = [
        {"state": "pkg", "fun": "installed", "name": "tree", "version": "3"},
        {"state": "service", "fun": "running", "name": "samba"},
        {"state": "pkg", "fun": "removed", "name": "redbull"},
        {"state": "service", "fun": "dead", "name": "ntp"},
    ]
    dry = bed.states(peer, *chunks, test=True)
    assert [ret["result"] for ret in dry] == [None] * 4
    first = bed.states(peer, *chunks)
    assert [ret["result"] for ret in first] == [True] * 4
    assert (
        [ret["changes"] for ret in first]
        == [ret["changes"] for ret in dry]
        == [
            {"tree": {"old": "", "new": "3"}},
            {"samba": True},
            {"redbull": {"old": "999.99", "new": ""}},
            {"ntp": False},
        ]
    )
    assert [(ret["result"], ret["changes"]) for ret in bed.states(peer, *chunks)] == [(True, {})] * 4


def test_states_of_the_manager_are_denied(bed) -> None:
    peer, path = bed.start({"type": "dummy", "id": "d1"}), bed.root / "made"
    [touch, guarded] = bed.states(
        peer,
        {"state": "file", "fun": "touch", "name": str(path)},
        {"state": "pkg", "fun": "installed", "name": "tree", "unless": f"touch {path}"},
    )
    assert touch["result"] is False and "'file.touch' is not supported for resource type 'dummy'" in touch["comment"]
    assert guarded["result"] is False and "'cmd.retcode' is not supported" in guarded["comment"]
    assert not path.exists()


def test_a_resource_has_a_lock_of_its_own(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)

    def busy(text: str) -> None:
        raise lock.Held(text)

    whole = lock.acquire(fd, str(tmp_path), "a run", busy)
    first = lock.acquire(fd, str(tmp_path), "of one", busy, "lock-1")
    second = lock.acquire(fd, str(tmp_path), "of two", busy, "lock-2")
    with pytest.raises(lock.Held, match="of one"):
        lock.acquire(fd, str(tmp_path), "again", busy, "lock-1")
    assert first is not None
    fcntl.flock(first, fcntl.LOCK_UN)
    for held in (whole, first, second, lock.acquire(fd, str(tmp_path), "again", busy, "lock-1"), fd):
        assert held is not None
        os.close(held)
