"""The examples of CONTRIBUTING.md, each used through the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Project, values

pytestmark = [pytest.mark.slow, pytest.mark.gate]

HERE = Path(__file__).parent


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the examples in its file root; ``here`` is this machine, ``far`` is offline."""
    hosts: dict[str, Any] = {
        "here": {"transport": "local", "minion_opts": {"banner.file": str(tmp_path / "banner")}},
        "far": {"transport": "offline", "grains": {"row": "b", "os_family": "Debian"}},
    }
    project = Project(tmp_path, hosts)
    shutil.copytree(HERE / "salt", project.folder / "salt", dirs_exist_ok=True)
    return project


def configure(project: Project, **settings: Any) -> None:
    """Add options to the configuration."""
    roots = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
    project.write("pushsalt.yaml", json.dumps({**roots, **settings}))


# renderer ------------------------------------------------------------------------------------------------------------


def test_renderer(project: Project, tmp_path: Path) -> None:
    project.write("salt/one.sls", f"#!jinja|table\n# a file\n{tmp_path}/x | file.managed | contents={{{{ 6 * 7 }}}}\n")
    (done,) = values(project.json("apply", "here", "one").data["here"])
    assert done["result"] is True and (tmp_path / "x").read_text() == "42\n"


def test_renderer_names_the_line(project: Project) -> None:
    project.write("salt/one.sls", "#!table\na | test.nop |\nb | test.nop\n")
    done = project.json("apply", "here", "one")
    assert done.code == 2
    (error,) = done.data["here"]
    assert "a row has three cells, not 2" in error and f"{project.folder}/salt/one.sls:3" in error


# state module with its providers ------------------------------------------------------------------------------------


def test_state(project: Project, tmp_path: Path) -> None:
    project.write("salt/one.sls", "for members only: banner.present\n")

    def apply(*arguments: str) -> dict[str, Any]:
        (ret,) = values(project.json("apply", "here", *arguments, "one").data["here"])
        return ret

    file = tmp_path / "banner"
    foreseen = apply("--test")
    assert foreseen["result"] is None and not file.exists()
    first = apply()
    assert first["result"] is True and first["changes"] == {"old": "", "new": "for members only\n"}
    assert first["changes"] == foreseen["changes"]
    second = apply()
    assert second["result"] is True and not second["changes"]
    file.write_text("drift\n")
    assert apply()["changes"] == {"old": "drift\n", "new": "for members only\n"}


def test_functions(project: Project) -> None:
    assert project.json("run", "here", "banner.set", "hello").data == {"here": True}
    assert project.json("run", "here", "banner.get").data == {"here": "hello\n"}


@pytest.mark.parametrize("family, wanted", [("Debian", "/etc/issue.net"), ("RedHat", "/etc/motd")])
def test_provider(project: Project, family: str, wanted: str) -> None:
    project.write("inventory.yaml", f"hosts: {{here: {{transport: local, grains: {{os_family: {family}}}}}}}\n")
    project.write("salt/_modules/where.py", "def it():\n    return __salt__['banner.get'].__globals__['_path']()\n")
    assert project.json("run", "here", "where.it").data == {"here": wanted}


def test_arguments_are_checked(project: Project) -> None:
    project.write("salt/one.sls", "x:\n  banner.present:\n    - txet: y\n")
    done = project.json("apply", "here", "one")
    assert done.code == 2 and "txet" in done.data["here"][0]


# grain ---------------------------------------------------------------------------------------------------------------


def test_grain(project: Project) -> None:
    done = project.json("run", "here", "grains.item", "rack", "row")
    rack = done.data["here"]["rack"]
    assert done.data == {"here": {"rack": rack, "row": rack.rstrip("0123456789")}} and rack


# plug-ins of the controller ------------------------------------------------------------------------------------------


def test_matcher(project: Project) -> None:
    assert project.run("target", "-C", "W@b").out.split() == ["far"]
    assert project.run("target", "-C", "not W@b").out.split() == ["here"]


def test_outputter(project: Project) -> None:
    done = project.run("run", "--out", "failed", "*", "cmd.run", "true")
    assert (done.code, done.out) == (3, "far\n")


def test_transport(project: Project) -> None:
    project.write("inventory.yaml", "hosts: {slow: {transport: nice}, quick: {transport: local}}\n")
    found = project.json("run", "*", "cmd.run", "nice").data
    assert int(found["slow"]) == min(int(found["quick"]) + 7, 19)


def test_roster(project: Project) -> None:
    lines = project.write("machines", "web1 192.0.2.1\nweb2 192.0.2.2\n")
    (project.folder / "inventory.yaml").unlink()
    configure(project, roster="lines", lines_file=str(lines))
    assert project.run("target", "*").out.split() == ["web1", "web2"]
    shown = project.json("inventory", "show", "web2").data["web2"]
    assert (shown["host"], shown["user"]) == ("192.0.2.2", "deploy")


def test_pillar_source(project: Project) -> None:
    project.write("values/far/role", "db\n")
    configure(project, ext_pillar=[{"folders": str(project.folder / "values")}])
    done = project.json("run", "*", "pillar.items", "unmask=true")
    assert done.data == {"far": {"role": "db"}, "here": {}}


def test_file_server_backend(project: Project) -> None:
    project.write("releases/v2/motd", "two\n")
    configure(project, fileserver_backend=["roots", "releases"])
    assert project.json("run", "far", "cp.get_file_str", "salt://motd?saltenv=v2").data == {"far": "two\n"}
    assert project.json("run", "far", "cp.list_master", "saltenv=v2").data == {"far": ["motd"]}


def test_driver_of_sdb(project: Project) -> None:
    project.write("secrets/key", "0123456789\n")
    configure(project, own={"driver": "folder", "path": str(project.folder / "secrets")})
    project.write("salt/one.sls", "length-{{ salt['sdb.get']('sdb://own/key') | length }}: test.nop\n")
    assert list(project.json("run", "far", "state.show_sls", "one").data["far"]) == ["length-10"]


def test_returner(project: Project) -> None:
    configure(project, **{"returner.lines.file": str(project.folder / "returns")})
    assert project.json("run", "far", "grains.get", "none", "--return", "lines").code == 0
    assert (project.folder / "returns").read_text() == "far grains.get True\n"


def test_top_data(project: Project) -> None:
    project.write("classes/far", "web mail\n")
    configure(project, master_tops={"classes": str(project.folder / "classes")})
    assert project.json("run", "far", "state.show_top").data == {"far": {"base": ["web", "mail"]}}


def test_function_of_the_controller(project: Project) -> None:
    project.files({"pillar/top.sls": "base: {far: [one]}", "pillar/one.sls": "role: a database"})
    assert project.json("run", "far", "about.it").data == {"far": "far is a database"}
