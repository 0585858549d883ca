"""A project with targets of the sites a and b, as a controller has it, without a command line."""

from __future__ import annotations

import json
from pathlib import Path

from pushsalt.events import Reporter
from pushsalt.job import Settings
from pushsalt.run.project import Project

HOSTS = {
    "a1": {"host": "192.0.2.1", "site": "a", "passwd": "only-of-a1", "priv": "keys/deploy", "pillar": {"p": "x"}},
    "a2": {"host": "192.0.2.2", "site": "a", "jump": "gate", "port": 2222},
    "b1": {"host": "192.0.2.3", "site": "b", "passwd": "only-of-b1"},
    "gate": {"host": "192.0.2.9", "grains": {"role": "gate"}},
}


class Site:
    """A project's folder; ``open`` gives the project of a new command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder.parent / "cache"
        self.write(
            "pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}})
        )
        self.write("inventory.yaml", json.dumps({"hosts": HOSTS, "groups": {"all": {"hosts": ["*"]}}}))
        self.write("salt/top.sls", "base: {'*': [web]}")
        self.write("salt/web/init.sls", "x: {test.succeed_without_changes: []}")
        self.write("pillar/top.sls", "base: {'*': [secret]}")
        self.write("pillar/secret.sls", "password: of-the-pillar\n")

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def configure(self, **options: object) -> None:
        usual = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
        self.write("pushsalt.yaml", json.dumps({**usual, **options}))

    def open(self, **settings: object) -> Project:
        named = Settings(config=self.folder / "pushsalt.yaml", cache_dir=self.cache, **settings)  # type: ignore[arg-type]
        return Project.open(named, Reporter())
