"""What the broker of a kept session has loaded, so that the processes of commands need not."""

import json
import subprocess
import sys

import pytest

from tests.beds.project import Project

#: Imports what the broker imports, runs the given command line, and writes the names of the modules that it imported.
PROGRAM = """
import json, sys
from pushsalt.cli import broker
broker._import_ahead()
before = set(sys.modules)
from pushsalt.cli.__main__ import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
#: Modules that pack the runtime, once per version, and modules of no use before a command runs.
LATE = {"pushsalt.bundle.shorten", "pushsalt.cli.__main__", "pushsalt.daemonoptions"}


@pytest.mark.parametrize("words", [("run", "test.ping"), ("apply", "a")], ids=" ".join)
def test_a_command_imports_nothing_that_the_broker_could_have(tmp_path, words):
    project = Project(tmp_path, {"here": {"transport": "local"}})
    project.write("salt/a.sls", "a:\n  test.nop: []\n")
    command, what = words
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command, "--out", "json", "here", what],
        env=project.environment,
        cwd=project.folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    imported = set(json.loads(done.stderr.splitlines()[-1]))
    assert {name for name in imported if name.startswith("pushsalt.")} <= LATE


def test_the_client_of_a_broker_imports_next_to_nothing(tmp_path):
    """What is imported delays every command of a session."""
    program = "import sys; before = set(sys.modules)\nfrom pushsalt.cli import __main__, stdio\n"
    program += "from pushsalt.broker import client, request\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    unwanted = {"typing", "re", "enum", "json", "socket", "signal", "pathlib", "typer", "asyncio", "hashlib"}
    assert not set(done.stdout.split()) & unwanted
