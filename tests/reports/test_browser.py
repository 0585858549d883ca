"""The pages of ``--report`` in Chromium: accessible, and the same on paper, in light and dark."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pushsalt.model import TargetReturn
from pushsalt.reports.others import impact_page
from tests.reports.test_html import data_of, failing, states, written

CHROMIUM = shutil.which("chromium")
PACKAGE = importlib.util.find_spec("axe_core_python")
#: axe-core's script: that of ``PUSHSALT_AXE``, else that of PyPI's axe-core-python.
AXE = os.environ.get("PUSHSALT_AXE") or (str(Path(str(PACKAGE.origin)).with_name("axe.min.js")) if PACKAGE else "")
OWN = Path(__file__).with_name("accessibility.js").read_text("utf-8")
RUN_AXE = """
document.querySelectorAll("details").forEach((node) => { node.dispatchEvent(new Event("toggle")); node.open = true; });
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}).then((found) => {
  const box = document.createElement("pre");
  box.id = "violations";
  box.textContent = JSON.stringify(found.violations.map((one) => one.id + ": " + one.nodes[0].html.slice(0, 200)));
  document.body.append(box);
});
"""
TAG = "file_|-conf_|-/etc/app.conf_|-managed"
IMPACT: dict[str, Any] = {
    "from": "5f0c21aa",
    "to": "the working tree",
    "ids": {
        "web1": {
            "states": {"added": [TAG], "removed": [], "changed": {TAG: {"mode": ["0644", "0600"]}}},
            "files": {"/etc/app.conf": "--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n"},
            "pillar": ["port"],
            "unknown": ["after: cmd.run needs the target"],
        }
    },
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    error = {"error": {"kind": "unreachable", "message": "no route", "hint": "look at the network"}}
    returns = {
        "web1": TargetReturn("web1", states(), "states", phases={"connect": 0.5, "run": 1.0}),
        "web2": TargetReturn("web2", failing(), "states", 2, warnings=["it is slow"]),
        "web3": TargetReturn("web3", error, "error", 3),
    }
    state = {"tag": TAG, "__id__": "conf", "__sls__": "app", "changes": {}, "diff": None, "comment": "why"}
    counts = {"will": 1, "may": 1, "unknown": 1, "none": 1}
    planned = {
        "states": [{**state, "mark": mark, "because": [TAG] * (mark == "may")} for mark in counts],
        "counts": counts,
    }
    return {
        "job": written(folder / "job.html", returns),
        "plan": written(folder / "plan.html", {"web1": TargetReturn("web1", planned, "plan")}),
        "impact": "".join(impact_page(IMPACT, 3).pieces()),
    }


def chromium(tmp_path: Path, *arguments: str) -> str:
    argv = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/chromium",
        *arguments,
    ]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout


def violations(tmp_path: Path, page: str, script: str) -> list[str]:
    """The results of a script that is inserted into a page, without the page's policy, which would forbid it."""
    without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert without != page
    path = tmp_path / "page.html"
    path.write_text(without.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    dom = chromium(tmp_path, "--virtual-time-budget=20000", "--dump-dom", f"file://{path}")
    found = re.search(r'<pre id="violations">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None, "the script did not end"
    listed: list[str] = json.loads(html.unescape(found[1]))
    return listed


NAMES = ("job", "plan", "impact")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_accessible(tmp_path: Path, pages: dict[str, str], name: str, theme: str) -> None:
    page = pages[name].replace("<html lang='en'>", f"<html lang='en' data-theme='{theme}'>")
    assert violations(tmp_path, page, OWN) == []


def test_what_was_added_is_not_folded(pages: dict[str, str]) -> None:
    (target,) = data_of(pages["impact"])["targets"]
    outcomes = [row["o"] for row in data_of(pages["impact"])["bodies"][target["body"]]]
    assert "added" in outcomes and not {"passed", "unchanged"} & set(outcomes)


@needs_chromium
@pytest.mark.slow
def test_the_check_finds_something(tmp_path: Path) -> None:
    meta = '<meta http-equiv="Content-Security-Policy" content="x">'
    bad = f"<html>{meta}<body><h3>x</h3><input><button></button><p style='color:#aaa'>pale</p></body></html>"
    rules = {text.partition(":")[0] for text in violations(tmp_path, bad, OWN)}
    assert {
        "the page has a language",
        "there is one main",
        "a field has a label",
        "what is pressed has a name",
    } <= rules
    assert any(rule.startswith("text has a contrast") for rule in rules)


@needs_chromium
@pytest.mark.slow
@pytest.mark.skipif(not AXE, reason="no axe-core-python (scripts/test.sh installs it)")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_accessible_by_axe(tmp_path: Path, pages: dict[str, str], name: str, theme: str) -> None:
    page = pages[name].replace("<html lang='en'>", f"<html lang='en' data-theme='{theme}'>")
    assert violations(tmp_path, page, Path(AXE).read_text("utf-8").replace("</script", "<\\/script") + RUN_AXE) == []


@needs_chromium
@pytest.mark.slow
def test_on_paper(tmp_path: Path, pages: dict[str, str]) -> None:
    """In print, folded parts are open, and the filter is hidden."""
    path = tmp_path / "page.html"
    path.write_text(pages["job"], "utf-8")
    chromium(tmp_path, f"--print-to-pdf={tmp_path}/page.pdf", "--no-pdf-header-footer", f"file://{path}")
    pdf = (tmp_path / "page.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 1
