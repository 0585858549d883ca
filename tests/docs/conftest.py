"""Fixtures for tests of the documentation: pages with their tables and examples, and projects that run the examples."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Page:
    """A page of Markdown."""

    def __init__(self, name):
        self.path = ROOT / name
        self.text = self.path.read_text("utf-8")

    def section(self, heading):
        """The text below a heading (``## Options``), up to the next heading of its level or above."""
        level = len(heading) - len(heading.lstrip("#"))
        found = re.search(rf"^{re.escape(heading)}$\n(.*?)(?=^#{{1,{level}}} |\Z)", self.text, re.M | re.S)
        assert found, f"{self.path.name} has no {heading!r}"
        return found.group(1)

    def rows(self, heading):
        """The cells of each row of the tables in a section, without headings."""
        kept = []
        for line in self.section(heading).splitlines():
            if re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line):
                kept.pop()
            elif line.startswith("|"):
                kept.append([cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        return kept

    def blocks(self, language="yaml"):
        """The texts of fenced blocks."""
        return re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.M | re.S)

    def files(self):
        """Blocks whose first line is a comment with a path in a project: ``# salt/web.sls``."""
        found = {}
        for block in re.findall(r"^```\w*\n(.*?)^```$", self.text, re.M | re.S):
            first, _, rest = block.partition("\n")
            name = re.fullmatch(r"(?:#|\{#) ((?:salt|pillar)/[\w./-]+|inventory\.yaml|pushsalt\.yaml)(?: #\})?", first)
            if name:
                assert name.group(1) not in found, f"{self.path.name} has {name.group(1)} twice"
                found[name.group(1)] = rest
        return found


class Project:
    """A project folder; ``/srv`` and ``/etc/app`` of examples are replaced by folders below it."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("PUSHSALT", "XDG"))}
        self.env |= {"PYTHONPATH": str(ROOT), "HOME": str(folder / "home"), "PUSHSALT_CACHE": str(folder / "cache")}
        (folder / "home").mkdir(mode=0o700)
        self.write("pushsalt.yaml", "file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n")
        self.write("inventory.yaml", "hosts:\n  localhost: {transport: local}\n")

    def path(self, text):
        return re.sub(r"(?<![\w:/.])/(?=srv/|etc/app)", f"{self.folder}/", text)

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.path(text), "utf-8")

    def run(self, *arguments):
        command = [sys.executable, "-m", "pushsalt", *arguments]
        return subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=120)

    def returns(self, *arguments, id="localhost"):
        """The return of one id with ``--out json``."""
        done = self.run(*arguments, "--out", "json")
        assert done.returncode in (0, 2), done.stderr
        return json.loads(done.stdout)[id]

    def apply(self, *arguments, id="localhost"):
        """The states by ID, in the order in which they ran."""
        states = self.returns("apply", id, *arguments, id=id)
        assert isinstance(states, dict), states
        assert "error" not in states, states
        return {one["__id__"]: one for one in sorted(states.values(), key=lambda one: one["__run_num__"])}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def page():
    """A page by its path in the repository."""
    return Page


@pytest.fixture(scope="session")
def script():
    """A module of scripts/ by its name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
