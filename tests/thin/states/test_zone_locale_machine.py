"""States of the time zone and of locales on a booted Debian machine: with systemd, and with the programs without it."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as started:
        yield started


@pytest.mark.parametrize("case", ["timezone", "locale"])
def test_returns_equal_recorded_ones(machine, case):
    steps.check(machine, case)
