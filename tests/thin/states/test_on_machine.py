"""States on one booted Debian machine: recorded returns (test mode, first run, second run, after drift), and details of
packages and users.

The machine is a container: of the kernel parameters, only those of the network are writable.
"""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]

#: files of recorded steps, in the order in which they run
CASES = ["user", "pkg", "service", "alternatives", "alternatives_states", "cron", "host", "mount", "ssh_auth", "sysctl"]
CASES += ["pkgrepo", "archive", "ini", "timezone", "locale"]
HASH = "$6$canary$" + "c" * 86


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as started:
        yield started


@pytest.mark.parametrize("case", CASES)
def test_returns_equal_recorded_ones(machine, case):
    steps.check(machine, case)


def test_an_install_waits_for_the_lock_of_dpkg(machine):
    """Another process has dpkg's lock: the install waits, and runs once it is free."""
    holder = (
        "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); "
        "fcntl.lockf(f, fcntl.LOCK_EX); open('/run/locked', 'w').close(); time.sleep(3)"
    )
    returned = steps.take(
        machine,
        [
            {"sh": f'nohup python3 -c "{holder}" >/dev/null 2>&1 & while ! test -e /run/locked; do sleep 0.1; done'},
            {"state": "pkg.installed", "args": {"name": "gamma"}},
            {"state": "pkg.purged", "args": {"name": "gamma"}},
        ],
    )
    assert [ret["result"] for ret in returned[1:]] == [True, True], returned


def test_a_changed_configuration_file_is_not_replaced(machine):
    returned = steps.take(
        machine,
        [
            {"state": "pkg.installed", "args": {"name": "alpha", "version": "1.0"}},
            {"sh": "echo mine > /etc/alpha.conf"},
            {"state": "pkg.installed", "args": {"name": "alpha", "version": "1.1"}},
            {"sh": "cat /etc/alpha.conf; dpkg-query -W -f '${Version}' alpha"},
            {"state": "pkg.installed", "args": {"name": "alpha", "version": "1.2~rc1", "force_conf_new": True}},
            {"sh": "cat /etc/alpha.conf"},
            {"state": "pkg.purged", "args": {"name": "alpha"}},
        ],
    )
    assert (returned[3], returned[5]) == ("mine\n1.1", "v 1.2~rc1\n")


def test_a_change_by_another_program_is_noticed(machine):
    """The package list is cached during a run, until dpkg's database changes."""
    script = (
        "import sys; sys.path.insert(0, '/opt/steps'); sys.dont_write_bytecode = True\n"
        "import os; from thin import grains, loader, runtime\n"
        "modules = loader.Loaders({}, runtime, grains=grains.collect({})).modules\n"
        "versions = [modules['pkg.version']('gamma')]\n"
        "for action in ('install', 'purge'):\n"
        "    os.system('apt-get -q -y %s gamma >/dev/null 2>&1' % action)\n"
        "    versions.append(modules['pkg.version']('gamma'))\n"
        "print(versions)\n"
    )
    (machine.root / "opt/steps/behind.py").write_text(script)
    assert machine.shell("python3 -I -S /opt/steps/behind.py").strip() == "['', '1.0', '']"


def test_the_lists_are_refreshed_once_in_a_run_if_needed(machine):
    """The first state that installs something refreshes; a dry run and states without changes do not."""
    machine.shell("echo 'APT::Update::Pre-Invoke {\"echo x >> /run/updates\";};' > /etc/apt/apt.conf.d/99count")

    def updates(*chunks, **kwargs):
        run_steps = [{"sh": "rm -f /run/updates"}, {"run": list(chunks), **kwargs}, {"sh": "cat /run/updates"}]
        returned = steps.take(machine, run_steps)
        return returned[2].count("x\n"), returned[1]

    def installed(name, **args):
        return {"state": "pkg.installed", "args": {"name": name, **args}}

    purge = {"state": "pkg.purged", "args": {"name": "x", "pkgs": ["gamma", "delta"]}}
    steps.take(machine, [purge])
    assert updates(installed("gamma"), installed("delta"), test=True) == (0, [None, None])
    assert updates(installed("gamma"), installed("delta")) == (1, [True, True])
    assert updates(installed("gamma"), installed("delta")) == (0, [True, True])
    assert updates(purge, installed("gamma", refresh=False)) == (0, [True, True])
    assert updates(purge, installed("gamma", cache_valid_time=3600)) == (0, [True, True])
    assert updates(purge, installed("gamma", refresh=True), installed("delta", refresh=True)) == (2, [True] * 3)
    assert updates(purge, installed("delta", version="0.2", refresh=True)) == (0, [True, True])
    steps.take(machine, [purge])


def test_aggregated_states_are_one_transaction(machine):
    chunks = [
        {"state": "pkg.installed", "args": {"name": "gamma", "aggregate": True}},
        {"state": "pkg.installed", "args": {"name": "delta", "version": "0.1", "aggregate": True}},
        {"state": "pkg.installed", "args": {"name": "x", "pkgs": ["alpha", {"asker": "1.0"}], "aggregate": True}},
    ]
    purge = {"state": "pkg.purged", "args": {"name": "x", "pkgs": ["gamma", "delta", "alpha", "asker"]}}
    count = {"sh": "grep -c ^Commandline /var/log/apt/history.log; dpkg-query -W -f '${Version}' delta"}
    returned = steps.take(machine, [purge, {"sh": "rm -f /var/log/apt/history.log"}, {"run": chunks}, count, purge])
    assert (returned[2], returned[3]) == ([True] * 3, "1\n0.1")


def test_a_name_is_never_an_option_or_an_action(machine):
    """apt-get reads ``name-`` as "remove it", and words that begin with a dash as options."""
    returned = steps.take(
        machine,
        [
            {"state": "pkg.installed", "args": {"name": "gamma"}},
            {"state": "pkg.installed", "args": {"name": "gamma-"}},
            {"state": "pkg.installed", "args": {"name": "--purge"}},
            {"state": "pkg.removed", "args": {"name": "--help"}},
            {"call": "pkg.version", "args": ["gamma"]},
        ],
    )
    assert [ret["result"] for ret in returned[:4]] == [True, False, False, True]
    assert returned[4] == "1.0"


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
