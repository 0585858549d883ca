"""A small state tree on disk and a target that renders it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.render import RenderContext, compile_template
from pushsalt.render.context import RunProgram
from pushsalt.trust import Trusted


class Tree:
    """SLS files below one root, rendered for one target."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.opts: dict[str, Any] = {"file_roots": {"base": [str(root)]}}
        self.salt: dict[str, Callable[..., Any]] = {}
        self.grains: dict[str, Any] = {"os": "Debian"}
        self.pillar: dict[str, Any] = {"port": 80}
        self.run: RunProgram | None = None

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    @property
    def context(self) -> RenderContext:
        return RenderContext(
            "web1", self.opts, self.grains, self.pillar, self.salt, FileServer(self.opts), run=self.run
        )

    def render(self, sls: str, context: RenderContext | None = None, **variables: Any) -> Any:
        found = FileServer(self.opts).sls_path(sls)
        assert found is not None, sls
        text = found.file.read().decode()
        source, context = Trusted(text, found.file.path), context or self.context
        return compile_template(source, path=found.file.path, sls=sls, saltenv="base", context=context, **variables)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "salt")
