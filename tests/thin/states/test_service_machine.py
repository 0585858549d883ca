"""Services on a booted Debian machine, as recorded: test mode, first run, second run, after drift."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


def test_returns_equal_recorded_ones():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as machine:
        steps.check(machine, "service")
