"""A misspelt argument stops a target's states before the run; the error suggests the correct name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Project, values

pytestmark = pytest.mark.slow

STATES = """
first:
  cmd.run:
    - name: touch {0}/first
guarded:
  cmd.run:
    - name: touch {0}/guarded
    - {1}
"""
OWN = """
def thing(name, **kwargs):
    return {"name": name, "result": True, "changes": {}, "comment": ",".join(sorted(kwargs))}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {name: {"transport": "local", "thin_dir": str(tmp_path / name)} for name in ("a", "b")})


@pytest.mark.parametrize("command", ["apply a it", "apply a it --test", "run a state.sls it"])
def test_no_state_runs_with_a_misspelt_argument(project, tmp_path, command):
    project.write("salt/it.sls", STATES.format(tmp_path, "unles: 'true'"))
    done = project.run(*command.split())
    assert done.code == 2
    assert not (tmp_path / "first").exists()
    for text in ("'unles' is an invalid keyword argument for 'cmd.run'", "Did you mean 'unless'?", "it.sls:8"):
        assert text in done.out + done.err, (done.out, done.err)
    (text,) = project.json(*command.split()).data["a"]
    message, _, position = text.partition("\n")
    assert message == "'unles' is an invalid keyword argument for 'cmd.run' (ID 'guarded' in SLS 'it')"
    assert position.endswith("salt/it.sls:8")


def test_arguments_of_state_single_are_checked(project):
    done = project.json("run", "a", "state.single", "pkg.installed", "nginx", "nmae=other")
    assert done.data["a"] == ["'nmae' is an invalid keyword argument for 'pkg.installed'"]


def test_a_warning_is_printed_once_for_all_targets(project, tmp_path):
    project.write("salt/it.sls", STATES.format(tmp_path, "frobnicate: 1"))
    done = project.json("apply", "*", "it")
    assert [ret["result"] for ret in values(done.data["a"])] == [True, True]
    (line,) = [line for line in done.err.splitlines() if "frobnicate" in line]
    assert "it.sls:8: 'cmd.run' has no argument 'frobnicate', so it has no effect" in line
    assert "frobnicate" not in project.json("run", "a", "state.show_lowstate").err


@pytest.mark.parametrize(
    "strict, argument, code, warned",
    [
        ("error", "frobnicate: 1", 2, False),
        ("near", "frobnicate: 1", 0, True),
        ("warn", "unles: 'true'", 0, True),
        ("off", "unles: 'true'", 0, False),
        (False, "unles: 'true'", 0, False),
        ("nonsense", "unles: 'true'", 2, False),
    ],
)
def test_strict_arguments_selects_the_check(tmp_path, strict, argument, code, warned):
    hosts = {"a": {"transport": "local", "thin_dir": str(tmp_path / "thin")}}
    project = Project(tmp_path, hosts, strict_arguments=strict)
    project.write("salt/it.sls", STATES.format(tmp_path, argument))
    done = project.json("apply", "a", "it")
    assert done.code == code, (done.out, done.err)
    assert ("has no argument" in done.err) is warned
    assert ("must be one of error, near, warn, off" in done.err) is (strict == "nonsense")


def test_a_users_provider_may_have_other_arguments(project, tmp_path):
    project.write("salt/_modules/mypkg.py", "__virtualname__ = 'pkg'\n\ndef install(name, modd=None):\n    pass\n")
    project.write("salt/it.sls", "x: {pkg.installed: [onlyif: 'false', vesrion: 1, mine: 1]}")
    (ret,) = values(project.json("apply", "a", "it", "--test").data["a"])
    assert ret["result"] is True
    project.write("salt/it.sls", "x: {pkg.installed: [onlyi: 'false']}")
    assert "'onlyi'" in project.json("apply", "a", "it", "--test").data["a"][0]


def test_users_states_accept_any_arguments(project):
    project.write("salt/_states/own.py", OWN)
    project.write("salt/it.sls", "x: {own.thing: [unles: 'true', nmae: y, requre: [test: x]]}")
    (ret,) = values(project.json("apply", "a", "it").data["a"])
    assert ret["comment"] == "nmae,requre,unles"
