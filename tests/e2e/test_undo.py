"""``pushsalt undo`` restores the files that a job's states changed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow  # each test runs whole commands


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"here": {"transport": "local"}, "there": {"transport": "local"}})


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


def write_states(project: Project, data: dict[str, Any]) -> None:
    project.write("salt/s.sls", json.dumps(data))


def snapshot(top: Path) -> dict[str, tuple[Any, ...]]:
    """path -> (mode, content or link destination), for everything below a folder."""
    entries: dict[str, tuple[Any, ...]] = {}
    for path in sorted(top.rglob("*")):
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            entries[str(path.relative_to(top))] = ("link", os.readlink(path))
        else:
            content = path.read_bytes() if path.is_file() else b""
            entries[str(path.relative_to(top))] = (oct(info.st_mode), content)
    return entries


def create_files(top: Path) -> None:
    (top / "edited").write_text("one\ntwo\nthree\n")
    (top / "managed").write_bytes(b"old\n")
    (top / "managed").chmod(0o600)
    (top / "mode").write_text("same\n")
    (top / "gone").write_bytes(b"\0binary\xff")
    (top / "tree" / "sub").mkdir(parents=True)
    (top / "tree" / "sub" / "leaf").write_text("leaf\n")
    (top / "tree" / "link").symlink_to("sub/leaf")
    (top / "turned").symlink_to("edited")
    (top / "moved").write_text("moved\n")
    (top / "dirty").mkdir()
    (top / "dirty" / "extra").write_text("extra\n")


def all_states(top: Path) -> dict[str, Any]:
    return {
        "edited": {"file.replace": [{"name": f"{top}/edited"}, {"pattern": "two"}, {"repl": "2"}, {"backup": False}]},
        "again": {"file.append": [{"name": f"{top}/edited"}, {"text": "four"}]},
        "managed": {"file.managed": [{"name": f"{top}/managed"}, {"contents": "new"}, {"mode": "0644"}]},
        "mode": {"file.managed": [{"name": f"{top}/mode"}, {"mode": "0755"}, {"replace": False}]},
        "gone": {"file.absent": [{"name": f"{top}/gone"}]},
        "tree": {"file.absent": [{"name": f"{top}/tree"}]},
        "turned": {"file.symlink": [{"name": f"{top}/turned"}, {"target": f"{top}/managed"}, {"force": True}]},
        "moved": {"file.rename": [{"name": f"{top}/elsewhere"}, {"source": f"{top}/moved"}]},
        "made": {"file.managed": [{"name": f"{top}/a/b/made"}, {"contents": "made"}, {"makedirs": True}]},
        "dirty": {"file.directory": [{"name": f"{top}/dirty"}, {"clean": True}, {"dir_mode": "0700"}]},
        "side": {"file.managed": [{"name": f"{top}/side"}, {"contents": "side"}, {"parallel": True}]},
    }


def test_undo_restores_all_files(project: Project, top: Path) -> None:
    create_files(top)
    before = snapshot(top)
    write_states(project, all_states(top))
    done = project.json("apply", "here", "s", "--backups")
    assert done.code == 0, done.out + done.err
    after = snapshot(top)
    assert all(ret["changes"] for ret in done.data["here"].values())
    dry = project.json("undo", "last", "--test")
    assert (dry.code, snapshot(top)) == (0, after), dry.out + dry.err
    files = {file["path"]: file for file in dry.data["here"]["files"]}
    assert files[f"{top}/a/b/made"]["action"] == "remove"
    assert "-2\n" in files[f"{top}/edited"]["diff"] and "+two\n" in files[f"{top}/edited"]["diff"]
    assert {tag.split("_|-")[1] for tag in files[f"{top}/edited"]["states"]} == {"edited", "again"}
    assert files[f"{top}/mode"]["changes"] == {"mode": ["0755", "0644"]}
    assert dry.data["here"]["not_undone"] == []
    undone = project.json("undo", "last", "--yes")
    assert (undone.code, snapshot(top)) == (0, before), undone.out + undone.err
    assert all(file["result"] in (True, None) for file in undone.data["here"]["files"])
    # an undo is a job, which can be undone too
    redone = project.json("undo", "last", "--yes")
    assert (redone.code, snapshot(top)) == (0, after), redone.out + redone.err


def test_undo_reports_what_it_cannot_restore(project: Project, top: Path) -> None:
    """Only states with ``backup: minion`` have backups here; a file that was changed since then is left unchanged."""
    for name in ("kept", "not_kept", "changed"):
        (top / name).write_text("old\n")
    managed = {name: [{"name": f"{top}/{name}"}, {"contents": "new"}] for name in ("kept", "not_kept", "changed")}
    data: dict[str, Any] = {
        "kept": {"file.managed": [*managed["kept"], {"backup": "minion"}]},
        "not_kept": {"file.managed": managed["not_kept"]},
        "changed": {"file.managed": [*managed["changed"], {"backup": "minion"}, {"show_changes": False}]},
        "command": {"cmd.run": [{"name": f"touch {top}/touched"}]},
        "env": {"environ.setenv": [{"name": "FOO"}, {"value": "bar"}]},
    }
    write_states(project, data)
    assert project.json("apply", "here", "s").code == 0
    backups = project.json("run", "here", "file.list_backups", f"{top}/kept").data["here"]
    assert len(backups) == 1  # as without an undo
    (top / "changed").write_text("by hand\n")
    listed = json.loads(project.run("jobs", "list", "--out", "json").out)
    jid = next(job["jid"] for job in listed if job["fun"] == "state.apply")
    shown = project.run("undo", jid, "--test").out
    assert "it was changed after the job, so it stays" in shown and "+old" in shown
    done = project.json("undo", jid, "here")  # no terminal to ask on, as in a CI job
    assert done.code == 2, done.out + done.err
    files = {entry["path"]: entry for entry in done.data["here"]["files"]}
    assert files[f"{top}/kept"]["result"] is True and files[f"{top}/changed"]["result"] is False
    assert files[f"{top}/changed"]["diff"] == "<show_changes=False>"
    texts = {name: (top / name).read_text() for name in ("kept", "not_kept", "changed")}
    assert texts == {"kept": "old\n", "not_kept": "new\n", "changed": "by hand\n"}
    reasons = {entry["tag"].split("_|-")[1]: entry["why"] for entry in done.data["here"]["not_undone"]}
    assert reasons == {
        "not_kept": "nothing of it was kept (backup: minion, or --backups)",
        "command": "what a command did is not known",
        "env": "only what file states change can be undone",
    }
    drift = project.json("undo", jid, "--yes", "--accept-drift")
    assert (drift.code, (top / "changed").read_text()) == (0, "old\n"), drift.out


def test_undo_refuses_dry_runs_and_other_targets(project: Project, top: Path) -> None:
    (top / "one").write_text("old\n")
    write_states(project, {"one": {"file.managed": [{"name": f"{top}/one"}, {"contents": "new"}]}})
    project.json("apply", "here", "s", "--test", "--backups")
    dry = project.run("undo", "last", "--yes")
    assert (dry.code, "was a dry run" in dry.err) == (1, True), dry.err
    config = project.folder / "pushsalt.yaml"
    config.write_text(json.dumps({**json.loads(config.read_text()), "backups": True}))
    assert project.json("apply", "here", "s").code == 0
    other = project.run("undo", "last", "there", "--yes")
    assert (other.code, "did not run on these targets" in other.err) == (1, True), other.err
    none = project.run("undo", "1999", "--yes")
    assert none.code == 1 and "1999" in none.err
    assert project.json("undo", "last", "here", "--yes").code == 0
    assert (top / "one").read_text() == "old\n"


SECRET = "correct-horse-battery-2"


def test_no_secret_is_shown(project: Project, top: Path) -> None:
    project.files({"pillar/top.sls": "base: {'*': [p]}\n", "pillar/p.sls": f"password: {SECRET}\n"})
    (top / "one").write_text(f"{SECRET}\n")
    write_states(project, {"one": {"file.managed": [{"name": f"{top}/one"}, {"contents": "new"}]}})
    assert project.json("apply", "here", "s", "--backups").code == 0
    for options in (["--test"], ["--test", "--out", "json"], ["--yes", "--out", "json"]):
        done = project.run("undo", "last", *options)
        assert done.code == 0, done.err
        assert SECRET not in done.out + done.err
    assert (top / "one").read_text() == f"{SECRET}\n"
    assert SECRET not in project.run("jobs", "show", "last", "--out", "json").out
