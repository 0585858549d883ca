"""Users and groups on a Debian machine, as recorded: test mode, first run, second run, after drift."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]

HASH = "$6$canary$" + "c" * 86


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as started:
        yield started


def test_returns_equal_recorded_ones(machine):
    steps.check(machine, "user")


def test_a_hash_is_in_no_argument_and_in_no_return(machine):
    """A wrapper of every program that the state starts records its arguments."""
    machine.shell(
        "mkdir -p /opt/watch; for p in useradd usermod chpasswd chage passwd; do "
        """printf '#!/bin/sh\\necho "$0 $*" >> /run/argv\\nexec %s "$@"\\n' "$(command -v $p)" > /opt/watch/$p; """
        "chmod +x /opt/watch/$p; done; "
        """sed -i '1i import os; os.environ["PATH"] = "/opt/watch:" + os.environ["PATH"]' /opt/steps/run_steps.py"""
    )
    returned = steps.take(
        machine,
        [
            {"state": "user.present", "args": {"name": "canary", "password": HASH}},
            {"state": "user.present", "args": {"name": "canary", "password": HASH + "x"}, "test": True},
            {"state": "user.present", "args": {"name": "canary", "password": HASH + "x"}},
            {"state": "user.present", "args": {"name": "canary", "password": HASH + "x", "maxdays": 9}},
            {"call": "shadow.info", "args": ["canary"]},
            {"call": "shadow.set_password", "args": ["canary", "x\nroot:y"]},
            {"sh": "cat /run/argv"},
        ],
    )
    assert [ret["result"] for ret in returned[:4]] == [True, None, True, True]
    assert returned[4]["passwd"] == HASH + "x"
    assert returned[5].startswith("SaltInvocationError")
    assert "chpasswd" in returned[6]
    assert "canary$" not in repr(returned[:4]) + returned[6]


def test_a_clear_password_is_hashed_once(machine):
    """With hash_password the salt of the current password is used again: the second run makes no changes."""
    chunk = {"state": "user.present", "args": {"name": "hashed", "password": "geheim", "hash_password": True}}
    returned = steps.take(machine, [chunk, chunk, {"call": "shadow.info", "args": ["hashed"]}])
    assert [bool(ret["changes"]) for ret in returned[:2]] == [True, False]
    assert returned[2]["passwd"].startswith("$6$")


def test_dates_are_converted_to_days(machine):
    chunk = {"state": "user.present", "args": {"name": "dated", "expire": "2030-01-01", "date": "2020-02-29"}}
    returned = steps.take(machine, [chunk, chunk, {"call": "shadow.info", "args": ["dated"]}])
    assert [ret["result"] for ret in returned[:2]] == [True, True]
    assert (returned[1]["changes"], returned[2]["expire"], returned[2]["lstchg"]) == ({}, 21915, 18321)


def test_a_primary_group_in_groups_gets_no_member(machine):
    returned = steps.take(
        machine,
        [
            {"state": "group.present", "args": {"name": "crew"}},
            {"state": "user.present", "args": {"name": "jo", "gid": "crew", "groups": ["crew"]}},
            {"state": "user.present", "args": {"name": "jim", "gid": "crew", "groups": ["crew", "users"]}},
            {"sh": "getent group crew users | cut -d: -f1,4"},
            {"state": "user.present", "args": {"name": "jo", "gid": "crew", "groups": ["crew"]}},
        ],
    )
    assert [ret["result"] for ret in returned[:3]] == [True, True, True]
    assert returned[3].split() == ["crew:jim", "users:jim"]
    assert returned[4]["changes"] == {}
