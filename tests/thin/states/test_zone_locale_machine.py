"""States of the time zone and of locales on a booted Debian machine: with systemd, and with the programs without it."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as found:
        yield found


@pytest.mark.parametrize("case", ["timezone", "locale"])
def test_recorded_steps(machine, case):
    steps.check(machine, case)
