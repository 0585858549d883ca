"""Packages on a booted Debian machine, as recorded: test mode, first run, second run, after drift."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as found:
        yield found


def test_recorded_steps(machine):
    steps.check(machine, "pkg")


def test_a_held_lock_is_waited_for(machine):
    """dpkg's lock is taken by another process: the install waits, and is done once the lock is free."""
    holder = (
        "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); "
        "fcntl.lockf(f, fcntl.LOCK_EX); open('/run/locked', 'w').close(); time.sleep(3)"
    )
    came = steps.take(
        machine,
        [
            {"sh": f'nohup python3 -c "{holder}" >/dev/null 2>&1 & while ! test -e /run/locked; do sleep 0.1; done'},
            {"state": "pkg.installed", "args": {"name": "gamma"}},
            {"state": "pkg.purged", "args": {"name": "gamma"}},
        ],
    )
    assert [ret["result"] for ret in came[1:]] == [True, True], came


def test_a_changed_configuration_file_stays(machine):
    came = steps.take(
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
    assert (came[3], came[5]) == ("mine\n1.1", "v 1.2~rc1\n")


def test_a_change_behind_the_back_is_seen(machine):
    """The package list is kept between questions of one run, but never beyond a change of dpkg's database."""
    script = (
        "import sys; sys.path.insert(0, '/opt/steps'); sys.dont_write_bytecode = True\n"
        "import os; from thin import grains, loader, runtime\n"
        "found = loader.Loaders({}, runtime, grains=grains.collect({})).modules\n"
        "seen = [found['pkg.version']('gamma')]\n"
        "for word in ('install', 'purge'):\n"
        "    os.system('apt-get -q -y %s gamma >/dev/null 2>&1' % word)\n"
        "    seen.append(found['pkg.version']('gamma'))\n"
        "print(seen)\n"
    )
    (machine.root / "opt/steps/behind.py").write_text(script)
    assert machine.shell("python3 -I -S /opt/steps/behind.py").strip() == "['', '1.0', '']"
