"""State trees held in memory: saltenv -> path -> rendered data."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pushsalt.compile import RenderedSls
from pushsalt.errors import Position, RenderError

Files = dict[str, dict[str, Any]]


class MemoryTree:
    """A StateTree over data. Text that begins with ``!err`` is a file that fails to render."""

    def __init__(self, files: Files, lines: dict[str, dict[str, int]] | None = None) -> None:
        self.files = files
        self.lines = lines or {}
        self.pristine = copy.deepcopy(files)
        self.listed = 0

    def envs(self) -> list[str]:
        return list(self.files)

    def list_states(self, saltenv: str) -> list[str]:
        self.listed += 1
        names = (path.removesuffix(".sls").removesuffix("/init") for path in self.files.get(saltenv, {}))
        return sorted(name.replace("/", ".") for name in names)

    def render_file(self, path: str, saltenv: str) -> RenderedSls | None:
        if path not in self.files.get(saltenv, {}):
            return None
        data = self.files[saltenv][path]
        if isinstance(data, str) and data.startswith("!err"):
            raise RenderError(data[4:], where=Position(path, 3))
        return RenderedSls(data, f"/srv/{saltenv}/{path}", path.endswith("/init.sls"), self.lines.get(path, {}))

    def render_sls(self, sls: str, saltenv: str) -> RenderedSls | None:
        path = sls.replace(".", "/")
        return self.render_file(f"{path}.sls", saltenv) or self.render_file(f"{path}/init.sls", saltenv)


@pytest.fixture(scope="session")
def memory_tree() -> type[MemoryTree]:
    return MemoryTree
