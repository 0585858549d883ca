"""States of system settings on a booted Debian machine, as recorded: test mode, first run, second run, after drift.

On this machine, a container, only the kernel parameters of the network are writable.
"""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as started:
        yield started


@pytest.mark.parametrize("case", ["alternatives", "alternatives_states", "cron", "host", "mount", "ssh_auth", "sysctl"])
def test_returns_equal_recorded_ones(machine, case):
    steps.check(machine, case)
