"""Programs that Debian packages for other systems, each in a room of its own: OpenRC, runit, busybox's accounts."""

import os

import pytest

from tests.beds import machines, rooms, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]

ROOMS = {"openrc": ["openrc", "libeinfo1", "librc1"], "runit": ["runit"]}


@pytest.mark.parametrize("case", ROOMS)
def test_recorded_steps(case):
    if machines.missing() or os.geteuid() != 0:
        pytest.skip(machines.missing() or "only root can make rooms")
    with rooms.room(ROOMS[case]) as room:
        steps.check(room, case)
