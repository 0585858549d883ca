"""``pushsalt init``."""

import stat

import pytest
import yaml

from pushsalt.cli.init import FILES


def test_init_makes_a_project_and_names_the_next_steps(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("init", "site")
    assert (result.code, result.err) == (0, "")
    for name, text in FILES.items():
        assert (tmp_path / "site" / name).read_text() == text
        assert f"  {name}\n" in result.out
        assert not stat.S_IMODE((tmp_path / "site" / name).stat().st_mode) & 0o022
    assert "cd site" in result.out and "pushsalt apply '*' --test" in result.out
    for name in ("pushsalt.yaml", "inventory.yaml", "salt/top.sls", "pillar/top.sls", "pillar/hello.sls"):
        assert isinstance(yaml.safe_load(FILES[name]), dict)


def test_it_overwrites_nothing(invoke, tmp_path):
    (tmp_path / "inventory.yaml").write_text("mine")
    result = invoke("init", str(tmp_path))
    assert (result.code, result.out) == (1, "")
    assert "inventory.yaml already" in result.err and "nothing was written" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["inventory.yaml"]
    assert invoke("init", str(tmp_path / "new")).code == 0
    assert invoke("init", str(tmp_path / "new")).code == 1


def test_a_dangling_link_is_in_the_way_too(invoke, tmp_path):
    (tmp_path / "pushsalt.yaml").symlink_to(tmp_path / "elsewhere")
    assert invoke("init", str(tmp_path)).code == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_readme_is_kept(invoke, tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("mine")
    monkeypatch.chdir(tmp_path)
    result = invoke("init")
    assert result.code == 0 and "README.md" not in result.out
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize("place", ["file/below", "/proc/nowhere"])
def test_a_folder_that_cannot_be_made(invoke, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    result = invoke("init", place)
    assert result.code == 1
    assert result.err.startswith("error: ") and "Traceback" not in result.err
