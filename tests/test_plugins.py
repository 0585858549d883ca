import sys
from pathlib import Path

import pytest

from pushsalt import plugins
from pushsalt.errors import ConfigError


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "_renderers"
    folder.mkdir()
    return folder


def test_own_plugins_are_found_by_file_name():
    assert {"glob", "list", "pcre"} <= set(plugins.names("matchers"))
    assert plugins.load("matchers", "glob").LETTER == ""


@pytest.mark.parametrize("kind", plugins.KINDS)
def test_every_kind_has_its_package(kind):
    assert isinstance(plugins.names(kind), list)


def test_folders_of_a_configuration(tmp_path):
    opts = {"module_dirs": ["/m"], "file_roots": {"base": ["/srv/salt"], "dev": ["/dev-salt"]}}
    assert [str(path) for path in plugins.folders("outputters", opts)] == [
        "/m/_output",
        "/m/output",
        "/m/_outputters",
        "/m/outputters",
        "/srv/salt/_output",
    ]
    assert plugins.folders("renderers", {}) == ()
    # an option of a master; a minion keeps copies under this name
    assert Path("/x/pillar") in plugins.folders("ext_pillar", {"extension_modules": "/x"})
    assert plugins.folders("renderers", {"extension_modules": "/x"}) == ()


def test_a_folders_plugin_wins_and_leaves_no_bytecode(folder):
    (folder / "yaml.py").write_text("def render(data, saltenv='base', sls='', **kw):\n    return 'mine'\n")
    (folder / "_helper.py").write_text("")
    assert plugins.load("renderers", "yaml", [folder]).render("") == "mine"
    assert "_helper" not in plugins.names("renderers", [folder])
    assert not (folder / "__pycache__").exists()


def test_a_changed_file_is_loaded_anew(folder):
    (folder / "x.py").write_text("value = 1\nrender = None\n")
    assert plugins.load("renderers", "x", [folder]).value == 1
    assert plugins.load("renderers", "x", [folder]) is plugins.load("renderers", "x", [folder])
    (folder / "x.py").write_text("value = 1000\nrender = None\n")
    assert plugins.load("renderers", "x", [folder]).value == 1000


@pytest.mark.parametrize(
    "text, line, words",
    [("a = 1\nb = )\n", 2, "SyntaxError"), ("a = 1\nraise ValueError('no')\n", 2, "ValueError: no")],
)
def test_a_broken_file_is_named_with_its_line(folder, text, line, words):
    (folder / "broken.py").write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        plugins.load("renderers", "broken", [folder])
    assert caught.value.where.path.endswith("_renderers/broken.py")
    assert caught.value.where.line == line


def test_a_plug_in_without_a_required_function_is_reported(folder):
    (folder / "half.py").write_text("")
    with pytest.raises(ConfigError, match="it has no `render`") as caught:
        plugins.load("renderers", "half", [folder])
    assert caught.value.where.path.endswith("_renderers/half.py")


def test_files_of_one_name_in_two_folders_are_two_modules(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.py").write_text(f"render = {name!r}\n")
    modules = [plugins.load("renderers", "x", [tmp_path / name]) for name in ("one", "other")]
    assert [module.render for module in modules] == ["one", "other"]
    assert all(sys.modules[module.__name__] is module for module in modules)


@pytest.mark.parametrize("name", ["gloob", "../glob", "_x", "", "os.path"])
def test_unknown_names(name):
    with pytest.raises(ConfigError, match="there is no plug-in") as caught:
        plugins.load("matchers", name)
    assert "glob" in caught.value.hint


def test_entry_points(tmp_path, monkeypatch):
    (tmp_path / "someones_plugin.py").write_text("LETTER, SOURCE, match = 'X', 'id', bool\n")
    info = tmp_path / "someones-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: someones\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[pushsalt.matchers]\nsomeone = someones_plugin\ngone = not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._entry_points.cache_clear()
    try:
        assert "someone" in plugins.names("matchers")
        assert plugins.load("matchers", "someone").LETTER == "X"
        with pytest.raises(ConfigError, match=r"'gone' .* cannot be loaded: ModuleNotFoundError"):
            plugins.load("matchers", "gone")
    finally:
        plugins._entry_points.cache_clear()
        sys.modules.pop("someones_plugin", None)
