"""One machine of each release for tests of this folder that do not change it; booted on first use."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.beds.machines import Machine, MachineBed
from tests.beds.project import Project


@pytest.fixture(scope="session")
def machine() -> Iterator[Callable[[str], Machine]]:
    """The machine of a release."""
    with contextlib.ExitStack() as stack:
        bed: list[MachineBed] = []
        booted: dict[str, Machine] = {}

        def of(suite: str) -> Machine:
            if not bed:
                bed.append(stack.enter_context(MachineBed()))
            if suite not in booted:
                booted[suite] = bed[0].boot(suite, suite)
            return booted[suite]

        yield of


@pytest.fixture(scope="module")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """Makes a project with these hosts of the machines."""

    def make(hosts: dict[str, dict[str, object]], *machines: Machine) -> Project:
        project = Project(tmp_path_factory.mktemp("project"), hosts)
        keys = {machine.folder.parent / "known_hosts" for machine in machines}
        for path in keys:
            shutil.copy(path, project.home / ".ssh" / "known_hosts")
        return project

    return make


def add_login(machine: Machine, name: str, command: str = "") -> dict[str, object]:
    """Add a user of that machine, and return its host entry. ``command`` (sh) is what its logins run; ``$asked`` has
    the requested command.

    The command has no backslashes.
    """
    machine.shell(f"useradd -m -s /bin/bash {name} && install -d -m 700 -o {name} /home/{name}/.ssh")
    keys = machine.root / "home" / name / ".ssh" / "authorized_keys"
    quoted = command.replace('"', '\\"')
    options = f'command="asked=$SSH_ORIGINAL_COMMAND; {quoted}" ' if command else ""
    keys.write_text(options + machine.key.with_suffix(".pub").read_text())
    return machine.host(user=name)
