"""Copies of sources on the target: what is kept, what is not, and names that look like more than a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Project, values


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, {"it": {"transport": "local", "thin_dir": str(tmp_path / "thin")}})
    project.write("salt/a/page", "a page\n")
    return project


def managed(project: Project, name: Path, source: str, *words: str) -> dict[str, object]:
    done = project.json("run", "it", "state.single", "file.managed", str(name), f"source={source}", *words)
    (state,) = values(done.data["it"])
    return state


def test_a_source_is_kept_until_it_shall_not_be(project: Project, tmp_path: Path) -> None:
    def kept() -> str:
        return str(project.json("run", "it", "cp.is_cached", "salt://a/page").data["it"])

    assert not kept()
    assert managed(project, tmp_path / "one", "salt://a/page")["result"] is True
    assert Path(kept()).read_text() == "a page\n"
    project.write("salt/a/page", "another\n")
    assert not kept()
    assert managed(project, tmp_path / "two", "salt://a/page", "keep_source=false")["result"] is True
    assert (tmp_path / "two").read_text() == "another\n" and not kept()


@pytest.mark.parametrize("name", ["?f!le? n@=3&-blah-.file type", "what?saltenv", "a&b=c"])
def test_a_name_is_only_a_name(project: Project, tmp_path: Path, name: str) -> None:
    project.write(f"salt/odd/{name}", "odd\n")
    project.write(f"salt/{name}", "odd\n")
    assert managed(project, tmp_path / "made", f"salt://|{name}")["result"] is True
    assert (tmp_path / "made").read_text() == "odd\n"
    done = project.json("run", "it", "state.single", "file.recurse", str(tmp_path / "tree"), "source=salt://odd")
    assert done.code == 0 and (tmp_path / "tree" / name).read_text() == "odd\n"


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_template_is_not_rendered_over_itself(project: Project, tmp_path: Path, prefix: str) -> None:
    name = project.write("source", "{{ 1 + 1 }}\n")
    state = managed(project, name, f"{prefix}{name}", "template=jinja")
    assert state["result"] is False and "cannot be the same as destination" in str(state["comment"])
    assert name.read_text() == "{{ 1 + 1 }}\n"
