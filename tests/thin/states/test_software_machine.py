"""States of software that no package manager of the system installs, on a booted Debian machine, as recorded."""

import pytest

from tests.beds import machines, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow]


@pytest.fixture(scope="module")
def machine():
    if machines.missing():
        pytest.skip(machines.missing())
    with steps.machine_with_thin() as found:
        yield found


@pytest.mark.parametrize("case", ["pkgrepo", "archive", "ini"])
def test_recorded_steps(machine, case):
    steps.check(machine, case)
