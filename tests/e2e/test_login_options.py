"""``--user``, ``--priv`` and ``--sudo`` apply if the inventory has no value; also with the options of other tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.beds import sshd
from tests.beds.project import Project

pytestmark = [
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]


@pytest.fixture
def bare(bed: sshd.SshdBed, make_project: Callable[..., Project]) -> Project:
    """A project in which t1 has a user and a key, and t2 neither."""
    entry = bed.inventory()["hosts"]["t2"]
    return make_project(t2={key: value for key, value in entry.items() if key not in ("user", "priv")})


def test_options_set_user_and_key(bed: sshd.SshdBed, bare: Project) -> None:
    entry = bed.inventory()["hosts"]["t2"]
    assert bare.json("run", "t2", "test.ping", "--user", entry["user"]).error("t2")["kind"] == "auth_failed"
    for user, key in (("--user", "--priv"), ("-u", "--private-key")):
        done = bare.json("run", user, entry["user"], key, str(entry["priv"]), "t2", "test.ping")
        assert (done.code, done.data) == (0, {"t2": True}), done.err


def test_the_inventory_overrides_login_options(bare: Project) -> None:
    done = bare.json("run", "-L", "t1,t2", "test.ping", "--user", "nobody-here", "--priv", "/nowhere")
    assert (done.code, done.data["t1"]) == (3, True), done.err
    assert "nobody-here" in bare.run("-l", "debug", "run", "t2", "test.ping", "--user", "nobody-here").err


def test_an_invalid_user_is_an_error(bare: Project) -> None:
    done = bare.run("run", "t2", "test.ping", "--user", "a b")
    assert done.code == 1
    assert "`user` of " in done.err
