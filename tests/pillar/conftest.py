"""Pillar trees in memory, and a fixture that compiles them."""

from __future__ import annotations

import copy

import pytest

from pushsalt.compile import RenderedSls
from pushsalt.errors import RenderError
from pushsalt.pillar import compile_pillar


class MemoryPillar:
    """A PillarTree over data. ``!err`` text fails to render; the value ``$x`` is the include's default ``x``."""

    def __init__(self, files):
        self.files = files
        self.pristine = copy.deepcopy(files)

    def envs(self):
        return list(self.files)

    def list_states(self, saltenv):
        names = (path.removesuffix(".sls").removesuffix("/init") for path in self.files.get(saltenv, ()))
        return sorted(name.replace("/", ".") for name in names)

    def render_file(self, path, saltenv, defaults=None):
        if path not in self.files.get(saltenv, {}):
            return None
        data = self.files[saltenv][path]
        if isinstance(data, str) and data.startswith("!err"):
            raise RenderError(data[4:])
        if isinstance(data, dict):
            data = {
                key: (defaults or {}).get(value[1:], "unset") if isinstance(value, str) and value[:1] == "$" else value
                for key, value in data.items()
            }
        return RenderedSls(data, f"/srv/{path}", path.endswith("/init.sls"))

    def render_sls(self, sls, saltenv, defaults):
        path = sls.replace(".", "/")
        return self.render_file(f"{path}.sls", saltenv, defaults) or self.render_file(
            f"{path}/init.sls", saltenv, defaults
        )


@pytest.fixture
def compiled():
    """files of one saltenv, or of several -> PillarResult of the target ``web1``."""

    def run(files, opts=None, **kwargs):
        if any(path.endswith(".sls") for path in files):
            files = {"base": files}
        kwargs.setdefault("matcher", lambda expression, kind: expression in ("*", "web1"))
        tree = MemoryPillar(files)
        result = compile_pillar("web1", opts or {}, tree, kwargs.pop("matcher"), **kwargs)
        assert tree.files == tree.pristine, "what was rendered is only read"
        return result

    return run
