"""States of system settings on a booted Debian machine, as recorded: test mode, first run, second run, after drift.

Kernel parameters except those of the network are read-only there, as in any container.
"""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as found:
        yield found


@pytest.mark.parametrize("case", ["alternatives", "alternatives_states", "cron", "host", "mount", "ssh_auth", "sysctl"])
def test_recorded_steps(machine, case):
    steps.check(machine, case)
