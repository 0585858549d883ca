"""README.md: its Python example runs, and its lists of features and limits are true."""

import re
import subprocess
import sys
from pathlib import Path

from pushsalt.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_in_python(page, project):
    (example,) = page("README.md").blocks("python")
    project.write("inventory.yaml", "hosts:\n  web1: {transport: local}\n  db1: {transport: local}\n")
    project.write("salt/apache.sls", "apache:\n  test.nop\n")
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, cwd=project.folder, env=project.env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"web1 0 \{'test_\|-apache_\|-apache_\|-nop': .*\}\n", done.stdout)


def test_formulas(page):
    row = next(row for row in page("README.md").rows("## In this repository") if row[0] == "`formulas/`")
    named = set(re.findall(r"\w+", row[1].partition(":")[0]))
    assert {path.name for path in (ROOT / "formulas").iterdir() if path.is_dir()} == named


def test_features_listed_as_missing_are_not_commands(page):
    text = page("README.md").section("## What is missing")
    named = set(re.findall(r"`([\w-]+)`", text))
    assert not named & set(COMMANDS), "README says that these are not there"
    for word in COMMANDS.keys() - {"run"}:  # "before anything runs"
        assert not re.search(rf"\b{word}s?\b", text, re.I), f"{word} is a command: take it out of `What is missing`"


def test_scripts_and_targets_of_make(page):
    text = page("README.md").text
    for script in set(re.findall(r"\bscripts/[\w.-]+", text)) | set(re.findall(r"\bbenchmarks/\w+\.py", text)):
        assert (ROOT / script).is_file(), script
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    pages = [path.read_text("utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
    assert {name for one in pages for name in re.findall(r"`make ([\w-]+)", one)} <= targets
