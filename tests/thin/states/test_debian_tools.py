"""Apache's modules, configurations and sites, settings by Augeas, and clusters of PostgreSQL, by Debian's own tools.

Salt 3008's states for these do not load, so they cannot be compared: dry run, first and second run, as recorded.
"""

from __future__ import annotations

import pytest

from tests.beds import servers, steps

pytestmark = [pytest.mark.machines, pytest.mark.slow, pytest.mark.timeout(600)]


def test_returns_equal_recorded_ones() -> None:
    if servers.missing():
        pytest.skip(servers.missing())
    packages = ["apache2", "augeas-tools", "postgresql-15"]
    with servers.servers(packages, "echo 127.0.0.1 localhost > /etc/hosts") as root:
        steps.check(root, "debian_tools")
