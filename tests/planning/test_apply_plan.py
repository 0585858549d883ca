"""``pushsalt plan -o FILE.plan`` and ``pushsalt apply FILE.plan``: exactly the planned states run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pushsalt.planning import planfile
from tests.beds.project import Project
from tests.planning.test_planfile import IDENTITY, RECIPIENT

pytestmark = pytest.mark.slow  # each test runs whole commands

SECRET = "correct-horse-battery-1"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path, {"here": {"transport": "local"}, "away": {"transport": "offline"}})
    found.files({"pillar/top.sls": "base: {'*': [p]}\n", "pillar/p.sls": f"password: {SECRET}\n"})
    return found


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


def states(project: Project, data: dict[str, Any], name: str = "s") -> None:
    project.write(f"salt/{name}.sls", json.dumps(data))


def planned(project: Project, *arguments: str) -> str:
    done = project.run("plan", "here", "s", "-o", "a.plan", "--out", "quiet", *arguments)
    assert done.code == 0, done.err
    return "a.plan"


def everything(project: Project, top: Path) -> None:
    """States with all kinds of sources."""
    project.files({"salt/plain": "plain\n", "salt/tree/one": "1\n", "salt/tree/sub/two": "2\n", "salt/blob": b"\0\1"})
    project.write("salt/asks.jinja", "{{ salt['file.file_exists']('/etc/passwd') }} {{ pillar.password }}\n")
    project.write("salt/run.sh", '#!/bin/sh\necho ran > "$1"\n')
    states(
        project,
        {
            f"{top}/plain": {"file.managed": [{"source": "salt://plain"}]},
            f"{top}/blob": {"file.managed": [{"source": "salt://blob"}]},
            f"{top}/asks": {"file.managed": [{"source": "salt://asks.jinja"}, {"template": "jinja"}]},
            f"{top}/tree": {"file.recurse": [{"source": "salt://tree"}]},
            f"{top}/text": {"file.managed": [{"contents_pillar": "password"}]},
            f"{top}/json": {"file.serialize": [{"dataset": {"a": 1}}, {"serializer": "json"}]},
            "script": {"cmd.script": [{"name": "salt://run.sh"}, {"args": f"{top}/ran"}, {"creates": f"{top}/ran"}]},
        },
    )


def texts(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def test_the_plan_and_nothing_else(project: Project, top: Path) -> None:
    """The plan is complete: the tree may change, or be deleted."""
    everything(project, top)
    file = planned(project)
    assert SECRET.encode() not in (project.folder / file).read_bytes()
    for path in sorted((project.folder / "salt").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    project.write("pillar/p.sls", "password: another-password\n")
    done = project.json("apply", file)
    assert done.code == 0, done.out + done.err
    assert all(ret["result"] is True and ret["changes"] for ret in done.data["here"].values())
    found = texts(top)
    assert found["asks"] == f"True {SECRET}\n".encode()
    assert (found["plain"], found["blob"], found["text"].strip()) == (b"plain\n", b"\0\1", SECRET.encode())
    assert (found["tree/one"], found["tree/sub/two"], found["ran"]) == (b"1\n", b"2\n", b"ran\n")
    assert SECRET not in done.out + done.err


def test_a_target_that_has_changed(project: Project, top: Path) -> None:
    everything(project, top)
    file = planned(project)
    (top / "plain").write_text("by somebody else\n")
    before = texts(top)
    done = project.json("apply", file)
    assert done.code == 2
    error = done.error("here")
    assert error["kind"] == "plan_stale" and "--accept-drift" in error["hint"]
    assert f"file.managed {top}/plain" in error["message"]
    assert "+plain" in error["message"] and "-by somebody else" in error["message"], "both sides are shown"
    assert texts(top) == before, "nothing was changed"
    assert project.run("apply", file, "--accept-drift").code == 0
    assert texts(top)["plain"] == b"plain\n"


def test_a_plan_that_was_applied_is_stale(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = planned(project)
    assert project.run("apply", file).code == 0
    assert project.json("apply", file).error("here")["kind"] == "plan_stale"


def test_a_plan_of_no_change(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    assert project.run("apply", "here", "s").code == 0
    file = planned(project, "--detailed-exitcode")
    assert project.run("apply", file, "--detailed-exitcode").code == 0
    assert project.run("apply", file).code == 0


def test_sealed_to_a_recipient(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = planned(project, "--recipient", RECIPIENT)
    missing = project.run("apply", file)
    assert missing.code == 1 and "age_identity" in missing.err
    project.write("keys.txt", f"# for CI\n{IDENTITY}\n").chmod(0o600)
    settings = json.loads((project.folder / "pushsalt.yaml").read_text())
    project.write("pushsalt.yaml", json.dumps({**settings, "age_identity": "keys.txt"}))
    project.variables["XDG_STATE_HOME"] = str(project.folder / "other-state")
    assert project.run("apply", file).code == 0
    assert (top / "f").read_text() == "x\n"


def test_refused_plan_files(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = planned(project)
    for words in (
        ("apply", file, "s"),
        ("apply", file, "--test"),
        ("apply", file, "-L"),
        ("apply", file, "--pillar", "{}"),
    ):
        done = project.run(*words)
        assert done.code == 1 and "plan" in done.err, words
    assert project.run("plan", "here", "s", "-o", "noplan").code == 1
    assert project.run("plan", "here", "s", "--recipient", RECIPIENT).code == 1
    assert project.run("plan", "here", "s", "-o", "b.plan", "--recipient", "age1x").code == 1
    assert project.run("apply", "here", "s", "--accept-drift").code == 1
    assert project.run("apply", file, "--max-age", "soon").code == 1
    old = project.run("apply", file, "--max-age", "0")
    assert old.code == 1 and "--max-age" in old.err
    assert not (top / "f").exists()
    assert project.run("apply", file, "--max-age", "1h").code == 0


def test_another_inventory(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = planned(project)
    hosts = {"here": {"host": "127.0.0.1", "port": 1}, "away": {"transport": "offline"}}
    project.write("inventory.yaml", json.dumps({"hosts": hosts}))
    assert project.json("apply", file).error("here")["kind"] == "plan_stale"
    project.write("inventory.yaml", json.dumps({"hosts": {"away": {"transport": "offline"}}}))
    gone = project.run("apply", file)
    assert gone.code == 1 and "here" in gone.err
    assert not (top / "f").exists()


def test_a_plan_of_another_pushsalt(project: Project, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = project.folder / planned(project)
    monkeypatch.setenv("HOME", str(project.home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    plan = planfile.read(file, list)
    plan.made["runtime"] = "0" * 64
    planfile.write(file, plan)
    done = project.run("apply", "a.plan")
    assert done.code == 1 and "made by another pushsalt" in done.err and "hint: make a new plan" in done.err
    assert not (top / "f").exists()


def test_a_plan_that_is_sealed_to_somebody_else(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = planned(project)
    project.variables["XDG_STATE_HOME"] = str(project.folder / "other-state")
    done = project.run("apply", file)
    assert done.code == 1 and "sealed to another key" in done.err and "--recipient" in done.err
    assert not (top / "f").exists()


def test_own_modules_that_have_changed(project: Project, top: Path) -> None:
    text = "def done(name):\n    return {'name': name, 'changes': {}, 'result': True, 'comment': ''}\n"
    project.write("salt/_states/mine.py", text)
    states(project, {"a": {"mine.done": []}})
    file = planned(project)
    assert project.run("apply", file).code == 0
    project.write("salt/_states/mine.py", text + "# other\n")
    assert project.json("apply", file).error("here")["kind"] == "plan_stale"


def test_targets_that_could_not_be_planned(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    assert project.run("plan", "*", "s", "-o", "a.plan").code == 3
    done = project.json("apply", "a.plan")
    assert done.code == 0 and set(done.data) == {"here"}
    assert "away could not be planned" in done.err


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_revision_and_the_lock_file(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})

    def git(*arguments: str) -> None:
        own = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(project.folder), *own, *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("add", "pushsalt.yaml", "salt")
    git("commit", "-qm", "one")
    file = planned(project)
    assert " with uncommitted changes" in project.run("plan", "show", file).out
    git("add", "pillar", "inventory.yaml")
    git("commit", "-qm", "two")
    done = project.run("apply", file)
    assert done.code == 0 and "revision has changed" in done.err
    assert "pushsalt.lock has changed" not in done.err
    planned(project)
    project.write("pushsalt.lock", "version: 1\nremotes: {}\n")
    assert "pushsalt.lock has changed" in project.run("apply", file).err


def test_a_damaged_plan_does_nothing(project: Project, top: Path) -> None:
    states(project, {f"{top}/f": {"file.managed": [{"contents": "x"}]}})
    file = project.folder / planned(project)
    data = file.read_bytes()
    first, head, rest = data.split(b"\n", 2)
    newer = b"\n".join((first, json.dumps({**json.loads(head), "version": 99}).encode(), rest))
    middle = len(data) // 2
    altered = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    for damaged in (data[:-40], data[:20], b"", altered, newer):
        file.write_bytes(damaged)
        for words in (["apply", "a.plan"], ["plan", "show", "a.plan"], ["plan", "diff", "a.plan", "a.plan"]):
            done = project.run(*words)
            assert done.code == 1 and "error: " in done.err and "Traceback" not in done.err, done.err
            assert "hint: " in done.err and not done.out
    assert not (top / "f").exists()
