"""Programs of other systems that Debian packages, each in a separate room: OpenRC, runit, busybox's accounts."""

import os
import shutil
import subprocess

import pytest

from tests.beds import machines, rooms, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]

ROOMS: dict[str, list[str]] = {"openrc": ["openrc", "libeinfo1", "librc1"], "runit": ["runit"], "sysvinit": []}


@pytest.mark.parametrize("case", ROOMS)
def test_returns_equal_recorded_ones(case):
    if machines.missing() or os.geteuid() != 0:
        pytest.skip(machines.missing() or "only root can create rooms")
    with rooms.room(ROOMS[case]) as room:
        steps.check(room, case)


#: the applets of busybox that replace the packages passwd and adduser
APPLETS = ["sbin/adduser", "sbin/addgroup", "sbin/deluser", "sbin/delgroup", "sbin/chpasswd", "bin/passwd"]
SHADOW_UTILS = ["sbin/" + name for name in ("useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel")]


@pytest.mark.optional
def test_accounts_are_changed_by_busybox():
    """Debian's busybox lacks these applets: a variable can name one built from its source (``make defconfig``)."""
    busybox = os.environ.get("PUSHSALT_TEST_BUSYBOX") or shutil.which("busybox")
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True).stdout.split() if busybox else []
    if "adduser" not in applets:
        pytest.skip("no busybox with adduser; PUSHSALT_TEST_BUSYBOX can name one")
    if machines.missing() or os.geteuid() != 0:
        pytest.skip(machines.missing() or "only root can create rooms")
    with rooms.room([]) as room:
        usr = room.root / "usr"
        for name in [*SHADOW_UTILS, *APPLETS, "bin/gpasswd", "bin/chage"]:
            (usr / name).unlink(missing_ok=True)
        shutil.copy(busybox, usr / "bin/busybox")
        for name in APPLETS:
            (usr / name).symlink_to("/usr/bin/busybox")
        steps.check(room, "busybox")
