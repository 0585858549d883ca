"""The unit files in docs/units are what ``--unit`` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.beds.project import Project

UNITS = Path(__file__).resolve().parents[2] / "docs" / "units"
#: Lines that depend on the project, the user, and where pushsalt is installed.
OWN = re.compile(r"^(User|WorkingDirectory|ExecStart)=.*$", re.MULTILINE)


COMMANDS = {
    "react": [],
    "serve": [],
    "watch": ["*", "--every", "10m", "--metrics", ":9650"],
    "worker": ["--site", "berlin", "--keys", "/etc/pushsalt/worker-berlin"],
}


@pytest.mark.parametrize("what, words", COMMANDS.items())
def test_the_shipped_unit_file_equals_the_printed_one(tmp_path, what, words):
    printed = Project(tmp_path, {"web1": {"transport": "local"}}).run(what, *words, "--unit").out
    shipped = (UNITS / f"pushsalt-{what}.service").read_text()
    assert OWN.sub(r"\1", shipped) == OWN.sub(r"\1", printed) and len(OWN.findall(shipped)) == 3
    [command] = re.findall(r"^ExecStart=/usr/bin/pushsalt (.*)$", shipped, re.MULTILINE)
    assert f" -m pushsalt {command}\n" in printed or f"/pushsalt {command}\n" in printed


def test_all_shipped_files_are_compared():
    assert {path.name for path in UNITS.glob("*.service")} == {f"pushsalt-{what}.service" for what in COMMANDS}
