"""The real command on a booted machine that has only python3-minimal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.beds import machines
from tests.beds.project import Project, values

pytestmark = [pytest.mark.machines, pytest.mark.slow]

SLS = r"""
/etc/issue:
  file.managed:
    - source: salt://issue
    - template: jinja
/etc/motd:
  file.append:
    - text: a 'b' "c d"
/etc/hostname:
  file.replace:
    - pattern: m
    - repl: M
/srv/tree:
  file.recurse:
    - source: salt://tree
/srv/old:
  file.absent: []
/srv/data.json:
  file.serialize:
    - dataset: {a: [1, b]}
    - serializer: json
    - merge_if_exists: True
/srv/data.plist:
  file.serialize:
    - dataset: {a: [1, b]}
    - serializer: plist
by words:
  cmd.run:
    - name: echo; echo "changed=no comment='by words'"
    - stateful: True
by json:
  cmd.run:
    - name: 'echo ''{"changed": false, "comment": "by json"}'''
    - stateful: True
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    if machines.missing():
        pytest.skip(machines.missing())
    with machines.MachineBed() as bed:
        machine = bed.boot("m1")
        rest = "'libpython3*-stdlib' 'python3.*[0-9]' python3"
        machine.shell("dpkg --force-depends --purge $(dpkg-query -W -f '${Package} ' " + rest + ")")
        machine.shell("mkdir -p /srv/old/x/y /srv/outside; touch /srv/outside/kept; ln -s /srv/outside /srv/old/x/link")
        assert "No module named" in machine.shell("python3 -c 'import shutil' 2>&1", check=False)
        project = Project(tmp_path_factory.mktemp("project"))
        project.write("inventory.yaml", json.dumps(bed.inventory()))
        shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
        yield project


def test_states_run_with_a_minimal_python(project: Project) -> None:
    project.files(
        {
            "salt/all.sls": SLS,
            "salt/issue": "{{ grains.os }}\n",
            "salt/tree/sub/file": "x\n",
        }
    )
    first = project.json("apply", "m1", "all", timeout=120)
    assert (first.code, [ret["result"] for ret in values(first.data["m1"])]) == (0, [True] * 9), first.out
    diffs = [ret["changes"].get("diff", "") for ret in values(first.data["m1"])]
    assert "+Debian\n" in diffs[0]
    assert diffs[2] == "--- \n+++ \n@@ -1 +1 @@\n-m1\n+M1\n"
    comments = [ret["comment"] for ret in values(first.data["m1"])]
    assert comments[-2:] == ["by words", "by json"]
    second = project.json("apply", "m1", "all", timeout=120)
    assert [ret["changes"] for ret in values(second.data["m1"])] == [{}] * 9, second.out
    outside = project.json("run", "m1", "file.file_exists", "/srv/outside/kept")
    assert outside.data == {"m1": True}
    written = project.json("run", "m1", "file.read", "/srv/data.json")
    assert json.loads(written.data["m1"]) == {"a": [1, "b"]}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["cmd.run", "printf '%s|' 'a b' c", "python_shell=False"], "a b|c|"),
        (["hashutil.hmac_compute", "a", "b"], "cb448b440c42ac8ad084fc8a8795c98f5b7802359c305eabd57ecdb20e248896"),
    ],
)
def test_functions_run_with_a_minimal_python(project: Project, arguments: list[str], expected: str) -> None:
    done = project.json("run", "m1", *arguments)
    assert str(done.data["m1"]).strip() == expected


def test_packages_are_listed(project: Project) -> None:
    assert "python3-minimal" in project.json("run", "m1", "pkg.list_pkgs").data["m1"]


def test_a_download_needs_a_program(project: Project) -> None:
    error = project.json("run", "m1", "cp.get_url", "http://127.0.0.1:9/x", "/srv/x").error("m1")
    assert "curl" in error["message"]
