"""The examples of from-salt-ssh.md, from-ansible.md and ci.md work, and name existing files and options."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from pushsalt import errors
from pushsalt.inventory.load import WITHOUT_EFFECT
from pushsalt.modules.signatures import StateFunctions

pytestmark = pytest.mark.slow


def test_a_roster(page, project):
    roster = next(block for block in page("docs/from-salt-ssh.md").blocks() if block.startswith("# roster\n"))
    project.write("roster", roster)
    done = project.run("-i", "roster", "target", "db*")
    assert (done.returncode, done.stdout.split()) == (0, ["db1", "db2"])
    shown = project.run("-i", "roster", "inventory", "show", "web1", "--explain").stdout
    assert "192.0.2.11" in shown and "deploy" in shown


def test_settings_without_effect(page):
    rows = page("docs/from-salt-ssh.md").rows("## Roster settings without effect")
    assert {row[0].strip("`"): row[1].lower() for row in rows} == {k: v.lower() for k, v in WITHOUT_EFFECT.items()}


def test_commands_of_salt_ssh(page, project):
    """The commands in the right column that need no network."""
    project.write("salt/nginx.sls", "nothing:\n  test.nop\n")
    project.write("salt/top.sls", "base: {'*': [nginx]}\n")
    assert "test_|-nothing_|-nothing_|-nop" in project.returns("run", "*", "state.apply", "nginx", "test=True")
    assert list(project.apply("nginx", "--test")) == list(project.apply()) == ["nothing"]
    assert project.returns("run", "localhost", "state.show_top") == {"base": ["nginx"]}
    assert "nginx.sls" in project.returns("run", "localhost", "cp.list_master")
    assert project.returns("run", "localhost", "config.get", "__cli") == "salt-minion"


@pytest.fixture
def moved(page, project):
    """The formula and the inventory of the Ansible page."""
    found = page("docs/from-ansible.md")
    for name, text in found.files().items():
        project.write(name, text)
    project.write("hosts.ini", found.blocks("ini")[0])
    (project.folder / "inventory.yaml").unlink()
    return project


def test_a_role_as_a_formula(moved):
    assert moved.run("target", "-N", "web").stdout == "web1\n"
    states = moved.returns("apply", "-N", "web", "app", id="web1")
    assert [one["result"] for one in states.values()] == [True] * 4
    text = (moved.folder / "srv" / "app" / "app.conf").read_text()
    assert text == "port = 8080\nname = web1\ngreeting = hello from web1\n"
    assert (moved.folder / "srv" / "app" / "restarted").exists()
    again = moved.returns("apply", "-N", "web", "app", id="web1")
    assert not [one for one in again.values() if one["changes"]]


def test_states_that_stand_for_modules_exist(page):
    rows = page("docs/from-ansible.md").rows("## Modules")
    names = [name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row[1])]
    assert len(names) > 30
    functions = StateFunctions()
    assert [name for name in names if functions.spec(name) is None] == []


def test_pipelines_are_yaml(page):
    found = [yaml.safe_load(block) for block in page("docs/ci.md").blocks()]
    assert any("jobs" in one for one in found) and any("deploy" in one for one in found)


def test_exit_codes_of_a_job(page):
    rows = page("docs/ci.md").rows("## Artefacts and exit codes")
    codes = {int(code) for row in rows for code in row[0].split(",")}
    assert codes == {value for name, value in vars(errors).items() if name.startswith("EXIT_")}


@pytest.mark.skipif(os.getuid() != 0, reason="gives a folder to another user: root only")
def test_a_workspace_of_another_user(project):
    work = project.folder / "work"
    work.mkdir()
    for name in ("pushsalt.yaml", "inventory.yaml"):
        (project.folder / name).rename(work / name)
        os.chown(work / name, 65534, 65534)
    os.chown(work, 65534, 65534)

    def target(*arguments, **kwargs):
        command = [sys.executable, "-m", "pushsalt", "target", "*", *arguments]
        return subprocess.run(command, cwd=work, env=project.env | kwargs, capture_output=True, text=True, timeout=60)

    refused = target()
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[1].startswith("error: no inventory here or above that is trusted; use -i")
    assert target("-c", str(work)).stdout == target(PUSHSALT_TRUST=str(work)).stdout == "localhost\n"


def test_artefacts(project):
    project.write("salt/job.sls", "/srv/made:\n  file.managed:\n    - contents: x\n    - makedirs: true\n")
    plan = project.run("apply", "*", "job", "--test", "--out", "json")
    assert plan.returncode == 0
    (state,) = json.loads(plan.stdout)["localhost"].values()
    assert state["result"] is None
    lines = project.run("apply", "*", "job", "--out", "ndjson").stdout.splitlines()
    assert [list(json.loads(line)) for line in lines] == [["localhost"]]
    assert "\x1b" not in project.run("apply", "*", "job").stdout
