"""States of software that no package manager of the system installs, on a booted Debian machine, as recorded."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as started:
        yield started


@pytest.mark.parametrize("case", ["pkgrepo", "archive", "ini"])
def test_returns_equal_recorded_ones(machine, case):
    steps.check(machine, case)
