"""sys.* lists functions of the target, of the controller and of the user; for offline targets the ones that are
known.
"""

from __future__ import annotations

import pytest

from pushsalt.api import Client, Selection, Settings

INVENTORY = "hosts: {here: {transport: local}, gone: {transport: offline}}\n"


@pytest.fixture
def call(tmp_path):
    (tmp_path / "salt/_modules").mkdir(parents=True)
    (tmp_path / "salt/_modules/mine.py").write_text('def f(a, b=1, *more):\n    """Does ``it``."""\n')
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    (tmp_path / "pushsalt.yaml").write_text("file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n")
    client = Client(Settings(config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache"))
    return lambda id, function, *args: client.run(Selection(id), function, list(args))[id].ret


def test_both_sides_are_told_of(call):
    assert {"state.show_top", "pillar.ext", "cmd.run", "mine.f", "mine.get", "test.ping"} <= {
        *call("here", "sys.list_functions")
    }
    assert call("here", "sys.list_functions", "state.show_sl*", "mine.f", "cmd.nosuch") == [
        "mine.f",
        "state.show_sls",
    ]
    assert call("here", "sys.list_modules", "s[lt]*") == ["slsutil", "state", "status"]
    docs = call("here", "sys.doc", "mine.f", "state.show_top", "test.ping")
    assert list(docs) == ["mine.f", "state.show_top", "test.ping"] and docs["mine.f"] == "Does ``it``."
    specs = call("here", "sys.argspec", "*.*")
    assert specs["mine.f"] == {"args": ["a", "b"], "defaults": [1], "varargs": True, "kwargs": None}
    assert specs["pillar.items"]["args"] == ["pillar", "pillar_enc", "pillarenv", "saltenv", "unmask"]
    assert specs["pillar.get"]["args"][:3] == ["key", "default", "merge"]
    assert specs["state.show_top"] == {"args": None, "defaults": None, "varargs": None, "kwargs": True}


def test_offline_lists_functions_of_both_sides(call):
    assert call("gone", "sys.list_functions", "config.get", "state.sls", "cmd.run") == ["config.get", "state.sls"]
    assert "CLI Example" in call("gone", "sys.doc", "config.get")["config.get"]
    assert call("gone", "sys.argspec", "config.get")["config.get"]["args"][0] == "key"
    assert "pillar" in call("gone", "sys.list_modules")


def test_renderers_and_missing_kinds(call):
    assert call("gone", "sys.list_renderers", "j*") == ["jinja", "json"]
    assert "newlines" in call("gone", "sys.renderer_doc", "gpg")["gpg"]
    assert call("gone", "sys.list_runners") == call("gone", "sys.list_returners") == []
