"""``--report FILE.html``: one page that needs nothing else, safe with foreign text, small with a thousand targets."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.html import Report
from tests.beds.project import Project

SECRET = "correct-horse-battery-3"
EVIL = "</script><img src=x onerror=alert(1)><!--<script>\u2028\x1b[31m\x00"
CHROMIUM = shutil.which("chromium")


def states(number: int = 3, evil: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at in range(number):
        found[f"file_|-c{at}_|-/etc/c{at}_|-managed"] = {
            "result": True,
            "changes": {"diff": f"--- \n+++ \n@@ -1 +1 @@\n-old {EVIL if evil else ''}\n+new\n"} if at == 0 else {},
            "comment": EVIL if evil else "as it should be",
            "name": f"/etc/c{at}",
            "__id__": f"c{at}",
            "__sls__": "web",
            "__run_num__": at,
            "duration": 1.5 + at,
        }
    return found


def failing() -> dict[str, Any]:
    found = states()
    found["cmd_|-build_|-make_|-run"] = {
        "result": False,
        "changes": {"retcode": 2},
        "comment": "it fails",
        "name": "make",
        "__id__": "build",
        "__sls__": "web",
        "__run_num__": 8,
        "duration": 1,
    }
    found["service_|-app_|-app_|-running"] = {
        "result": False,
        "changes": {},
        "comment": "One or more requisite failed: web.build",
        "name": "app",
        "__id__": "app",
        "__sls__": "web",
        "__run_num__": 9,
        "__state_ran__": False,
    }
    return found


def written(path: Path, returns: dict[str, TargetReturn], ids: list[str] | None = None) -> str:
    report = Report(path)
    report.job_begins(JobStart("20261126160000123456", "state.apply", ["web"], ids=ids or list(returns), start=1.0))
    for ret in returns.values():
        report.target_returned(ret)
    report.job_ends(JobEnd(2, "done", 3.0))
    return path.read_text("utf-8")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r"<script type='application/json' id='data'>(.*?)</script>", page, re.DOTALL)
    assert found is not None
    assert "<" not in found[1] and "&" not in found[1]
    data: dict[str, Any] = json.loads(found[1])
    return data


class Tags(HTMLParser):
    """The elements of a page, and addresses in their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.places += [str(value) for name, value in attrs if name in ("src", "href", "action", "srcset")]


def test_foreign_text_is_text(tmp_path: Path) -> None:
    page = written(tmp_path / "r.html", {EVIL: TargetReturn(EVIL, states(evil=True), "states", phases={EVIL: 1.0})})
    tags = Tags()
    tags.feed(page)
    assert tags.names.count("script") == 2 and "img" not in tags.names and not tags.places
    (target,) = data_of(page)["targets"]
    assert "</script>" in target["id"] and "\x1b" not in page and "\x00" not in page
    assert "http://" not in page and "https://" not in page
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'" in page and "default-src 'none'" in page


def test_outcomes_times_and_dependencies(tmp_path: Path) -> None:
    returns = {
        "web1": TargetReturn("web1", states(), "states", phases={"connect": 0.5, "run": 1.0}),
        "web2": TargetReturn("web2", failing(), "states", 2, warnings=["it is slow"]),
        "web3": TargetReturn("web3", {"error": {"kind": "unreachable", "message": "m", "hint": "h"}}, "error", 3),
    }
    data = data_of(written(tmp_path / "r.html", returns, ["web1", "web2", "web3", "web4"]))
    by_id = {target["id"]: target for target in data["targets"]}
    assert {id: target["outcome"] for id, target in by_id.items()} == {
        "web1": "changed",
        "web2": "failed",
        "web3": "no answer",
        "web4": "no answer",
    }
    assert by_id["web1"]["phases"] == [["connect", 0.5], ["run", 1.0]] and by_id["web1"]["time"] == 1.5
    rows = data["bodies"][by_id["web2"]["body"]]
    assert [row["o"] for row in rows] == ["changed", "unchanged", "unchanged", "failed", "skipped"]
    assert rows[4]["b"] == [rows[3]["k"]] == ["cmd.run build"]
    assert by_id["web2"]["warnings"] == ["it is slow"]


def test_a_thousand_targets(tmp_path: Path) -> None:
    returns = {f"web{n:04}": TargetReturn(f"web{n:04}", states(50), "states", phases={"run": 1.0}) for n in range(1000)}
    page = written(tmp_path / "r.html", returns)
    assert len(page) < 15 * 1024 * 1024
    data = data_of(page)
    assert len(data["targets"]) == 1000 and len(data["bodies"]) == 1, "targets that say the same share it"


def test_large_differences_are_cut(tmp_path: Path) -> None:
    returns = {}
    for n in range(300):
        ret = states()
        ret["file_|-c0_|-/etc/c0_|-managed"]["changes"] = {"diff": "--- \n+++ \n@@ -1 +1 @@\n" + f"+{n} x\n" * 20_000}
        returns[f"web{n}"] = TargetReturn(f"web{n}", ret, "states")
    page = written(tmp_path / "r.html", returns)
    assert len(page) < 15 * 1024 * 1024 and "more characters were left out" in page


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path, {"here": {"transport": "local"}})
    found.files({"pillar/top.sls": "base: {'*': [p]}\n", "pillar/p.sls": f"password: {SECRET}\n"})
    text = {f"{tmp_path}/f": {"file.managed": [{"contents_pillar": "password"}]}}
    found.write("salt/s.sls", json.dumps(text))
    return found


def test_of_commands(project: Project) -> None:
    assert project.run("plan", "here", "s", "--report", "plan.html").code == 0
    assert project.run("apply", "here", "s", "--report", "apply.html").code == 0
    assert project.run("jobs", "show", "last", "--report", "job.html").code == 0
    assert project.run("check", "--report", "check.html").code in (0, 2)
    pages = {path.stem: path.read_text() for path in project.folder.glob("*.html")}
    assert set(pages) == {"plan", "apply", "job", "check"}
    for name, page in pages.items():
        assert SECRET not in page and SECRET not in html.unescape(page), name
        data_of(page)
    (planned,), (applied,) = data_of(pages["plan"])["targets"], data_of(pages["apply"])["targets"]
    assert planned["note"] == "1 will change" and applied["outcome"] == "changed"
    assert "<h1>pushsalt plan s</h1>" in pages["plan"] and "1 would change" in pages["plan"]
    assert "<h1>pushsalt state.apply s</h1>" in pages["apply"] and "1 changed" in pages["apply"]
    assert data_of(pages["job"])["bodies"] == data_of(pages["apply"])["bodies"]
    done = project.run("plan", "here", "s", "--report", "no/such/folder/r.html")
    assert done.code == 1 and "--report" in done.err


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_in_a_real_browser(tmp_path: Path) -> None:
    returns = {"web2": TargetReturn("web2", {**failing(), **states(evil=True)}, "states", 2, {"run": 1.0})}
    written(tmp_path / "r.html", returns)
    argv = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/chromium"]
    done = subprocess.run(
        [*argv, "--dump-dom", f"file://{tmp_path}/r.html"], capture_output=True, text=True, check=True, timeout=120
    )
    dom = done.stdout
    body = dom[dom.index("<main") : dom.index("</main>")]
    assert "failed (1)" in body and "cmd.run make (build)" in body, "the only target is open"
    assert "What depends on what" in body and "<img" not in body and "&lt;img src=x" in body
    assert "1 of 1 shown" in dom
