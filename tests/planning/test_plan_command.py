"""``pushsalt plan`` for people and programs."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow  # each test runs whole commands

SECRET = "correct-horse-battery-1"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path, {"here": {"transport": "local"}, "away": {"transport": "offline"}})
    found.files({"pillar/top.sls": "base: {'*': [p]}\n", "pillar/p.sls": f"password: {SECRET}\n"})
    return found


def states(project: Project, data: dict[str, Any], name: str = "s") -> None:
    project.write(f"salt/{name}.sls", json.dumps(data))


def test_the_shape_and_exact_differences(project: Project, tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "old").write_text("one\ntwo\n")
    (top / "binary").write_bytes(b"\0old")
    (project.folder / "salt/blob").write_bytes(b"\0new")
    project.write("salt/text", "one\nthree\n")
    states(
        project,
        {
            f"{top}/old": {"file.managed": [{"source": "salt://text"}]},
            f"{top}/new": {"file.managed": [{"contents": f"a\np={SECRET}"}, {"mode": "0600"}]},
            f"{top}/binary": {"file.managed": [{"source": "salt://blob"}]},
            "told": {"cmd.run": [{"name": "true"}, {"onchanges": [f"{top}/old"]}]},
            "always": {"cmd.run": [{"name": "true"}]},
            "fine": {"test.nop": []},
        },
    )
    done = project.json("plan", "here", "s")
    assert done.code == 0, done.err
    plan = done.data["here"]
    assert set(plan) == {"states", "counts"}
    assert plan["counts"] == {"none": 1, "will": 3, "may": 1, "unknown": 1}
    found = {state["__id__"]: state for state in plan["states"]}
    keys = {"tag", "__id__", "__sls__", "mark", "because", "changes", "diff", "comment"}
    assert all(set(state) == keys and state["__sls__"] == "s" for state in plan["states"])
    assert found[f"{top}/old"]["diff"] == "--- \n+++ \n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
    assert re.fullmatch(
        r"--- \n\+\+\+ \n@@ -0,0 \+1,2 @@\n\+a\n\+p=\*{10}\([0-9a-f]{8}\)\n", found[f"{top}/new"]["diff"]
    )
    digests = found[f"{top}/binary"]["changes"]["sha256"]
    assert found[f"{top}/binary"]["diff"] is None
    assert set(digests) == {"old", "new"} and all(re.fullmatch("[0-9a-f]{64}", text) for text in digests.values())
    assert found["told"]["mark"] == "may"
    assert found["told"]["because"] == [found[f"{top}/old"]["tag"]]
    assert found["always"]["mark"] == "unknown" and "onlyif" in found["always"]["comment"]
    assert SECRET not in done.out + done.err
    assert (top / "old").read_text() == "one\ntwo\n" and not (top / "new").exists(), "a plan changes nothing"


def test_for_people(project: Project, tmp_path: Path) -> None:
    states(
        project,
        {
            f"{tmp_path}/new": {"file.managed": [{"contents": f"p={SECRET}"}]},
            "told": {"cmd.run": [{"name": "true"}, {"onchanges": [f"{tmp_path}/new"]}]},
            "fine": {"test.nop": []},
        },
    )
    done = project.run("plan", "here", "s")
    assert done.code == 0
    assert "1 will change, 1 may change, 1 no change" in done.out
    assert f"because of file.managed {tmp_path}/new" in done.out
    assert "+p=**********(" in done.out and SECRET not in done.out
    assert "fine" not in done.out and "fine" in project.run("plan", "here", "s", "-vv").out


def test_exit_codes(project: Project, tmp_path: Path) -> None:
    states(project, {f"{tmp_path}/f": {"file.managed": [{"contents": "x"}]}})
    states(project, {"bad": {"test.fail_without_changes": []}}, "bad")
    states(project, {f"{tmp_path}/no/f": {"file.managed": [{"contents": "x"}]}}, "no")
    assert project.run("plan", "here", "s").code == 0
    assert project.run("plan", "here", "s", "--detailed-exitcode").code == 4
    assert project.run("apply", "here", "s", "--detailed-exitcode", "--test").code == 4
    assert project.run("apply", "here", "s", "--detailed-exitcode").code == 4
    assert project.run("apply", "here", "s", "--detailed-exitcode").code == 0
    assert project.run("plan", "here", "s", "--detailed-exitcode").code == 0
    assert project.run("plan", "here", "bad", "--detailed-exitcode").code == 2
    no = project.json("plan", "here", "no")
    assert no.code == 2
    (state,) = no.data["here"]["states"]
    assert state["mark"] == "none" and state["comment"].startswith("It would fail: ")
    assert project.run("run", "here", "test.ping", "--detailed-exitcode").code == 1
    assert project.run("run", "here", "state.apply", "s", "--detailed-exitcode").code == 0


def test_what_cannot_be_planned(project: Project) -> None:
    states(project, {"fine": {"test.nop": []}})
    project.write("salt/broken.sls", "{{ nothing.at.all }}\n")
    done = project.json("plan", "*", "s")
    assert done.code == 3
    assert (
        done.error("away")["kind"] == "offline"
        if len(done.data) == 1
        else done.data["away"]["error"]["kind"] == "offline"
    )
    assert done.data["here"]["counts"]["none"] == 1
    broken = project.json("plan", "here", "broken")
    assert broken.code == 2 and isinstance(broken.data["here"], list)
    assert project.run("plan", "here", "s", "--test").code == 1, "a plan is always a dry run"


def test_a_highstate_with_nothing(project: Project) -> None:
    project.write("salt/top.sls", "base: {nobody: [s]}\n")
    done = project.json("plan", "here")
    assert done.code == 2
    assert done.data["here"]["states"][0]["comment"].startswith(
        "It would fail: No Top file or master_tops data matches"
    )


def test_a_module_that_says_that_its_dry_run_is_true(project: Project) -> None:
    text = """
def done(name):
    return {"name": name, "changes": {}, "result": True, "comment": ""}
"""
    project.files({"salt/_states/mine.py": text, "salt/_states/told.py": f"__dry_run__ = ('done',)\n{text}"})
    states(project, {"b": {"told.done": []}, "a": {"mine.done": []}})
    found = {state["__id__"]: state["mark"] for state in project.json("plan", "here", "s").data["here"]["states"]}
    assert found == {"b": "none", "a": "unknown"}


def test_dry_runs_that_announce_more_or_less_than_the_run_does(project: Project, tmp_path: Path) -> None:
    table = tmp_path / "fstab"
    table.write_text("")
    word = f"only-in-the-arguments-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", "input()", word], stdin=subprocess.PIPE) as process:
        gone = {"mount.fstab_absent": [{"fs_file": "/mnt/none"}, {"config": str(table)}]}
        states(project, {"/dev/none": gone, "no-such-process": {"process.absent": []}, word: {"process.absent": []}})
        found = {state["__id__"]: state for state in project.json("plan", "here", "s").data["here"]["states"]}
        assert {id: state["mark"] for id, state in found.items()} == {
            "/dev/none": "none",
            "no-such-process": "none",
            word: "will",
        }
        assert found[word]["comment"] == "No matching processes running"
        done = project.json("apply", "here", "s").data["here"]
        assert [ret["__id__"] for ret in done.values() if ret["changes"]] == [word]
        process.wait(10)


class Page(http.server.BaseHTTPRequestHandler):
    """A server of one page."""

    text = b"a page\n"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *arguments: object) -> None:
        pass


def test_sources_from_the_web_do_not_get_into_the_cache(project: Project, tmp_path: Path) -> None:
    """States look at that cache: what a plan puts there would make the run another one than the plan says."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, digest = f"http://127.0.0.1:{server.server_port}/page", hashlib.sha256(Page.text).hexdigest()
    states(
        project,
        {
            "not yet": {"file.not_cached": [{"name": url}]},
            f"{tmp_path}/f": {"file.managed": [{"source": url}, {"source_hash": digest}]},
        },
    )

    def cached() -> list[Path]:
        return [path for path in project.home.rglob("extrn_files/**/page") if path.is_file()]

    try:
        first, second = (project.json("plan", "here", "s").data["here"]["states"] for _ in range(2))
        assert first == second and cached() == []
        assert first[0]["mark"] == "none" and first[1]["diff"].endswith("+a page\n")
        done = project.json("apply", "here", "s")
        assert done.code == 0 and [bool(ret["changes"]) for ret in done.data["here"].values()] == [False, True]
        assert cached(), "a run does keep it"
    finally:
        server.shutdown()
        server.server_close()
