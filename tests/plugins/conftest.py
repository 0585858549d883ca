"""Fixtures for all kinds of plug-ins: one in each possible place, and the real command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Done, Project

#: places of plug-ins: the folder of a saltenv's root, one of ``module_dirs``, an installed distribution
PLACES = ("file roots", "module_dirs", "entry point")


class Bed(Project):
    """A project with plug-ins in one of the places."""

    def __init__(self, folder: Path, place: str) -> None:
        super().__init__(folder)
        self.place = place
        self.installed = folder / "installed"
        self.settings: dict[str, object] = {}
        self._points: dict[str, list[str]] = {}

    def plug(self, kind: str, folder: str, name: str, text: str) -> Path:
        """Write the plug-in ``name``; ``folder`` is Salt's name of the kind's folder, without the underscore."""
        if self.place == "file roots":
            return self.write(f"salt/_{folder}/{name}.py", text)
        if self.place == "module_dirs":
            return self.write(f"modules/{folder}/{name}.py", text)
        points = self._points.setdefault(kind, [])
        module = f"theirs_{kind}_{name}"
        if f"{name} = {module}" not in points:
            points.append(f"{name} = {module}")
        info = self.installed / "theirs-1.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
        groups = [f"[pushsalt.{kind}]\n" + "\n".join(names) + "\n" for kind, names in self._points.items()]
        (info / "entry_points.txt").write_text("\n".join(groups))
        path = self.installed / f"{module}.py"
        path.write_text(text)
        return path

    @property
    def environment(self) -> dict[str, str]:
        found = super().environment
        return {**found, "PYTHONPATH": f"{found['PYTHONPATH']}:{self.installed}"}

    def configure(self, **settings: object) -> None:
        """Write the configuration."""
        import json

        places = {"module_dirs": ["modules"]} if self.place == "module_dirs" else {}
        roots = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
        self.write("pushsalt.yaml", json.dumps({**roots, **places, **settings}))

    def say(self, *arguments: str) -> Done:
        """Run the command; returns its output as one text."""
        done = self.run(*arguments)
        return Done(done.code, done.out + done.err, done.err)


@pytest.fixture(params=PLACES, ids=lambda place: place.replace(" ", "_"))
def bed(request, tmp_path):
    bed = Bed(tmp_path, request.param)
    bed.configure()
    bed.write(
        "inventory.yaml",
        "hosts:\n"
        "  web1: {transport: offline, grains: {rack: r1, os: Debian}}\n"
        "  db1: {transport: offline, grains: {rack: r2, os: Debian}}\n"
        "  here: {transport: local, grains: {rack: r3}}\n",
    )
    return bed
