"""The summary in Markdown."""

import re

import pytest

from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.summary import DETAILS, ROWS, Summary

TAG = "file_|-page_|-/srv/page_|-managed"
NOT_BEGUN = {"error": {"kind": "not_begun", "message": "e: not begun", "hint": "h"}}
GONE = {"error": {"kind": "dns_failure", "message": "d: no such name", "hint": "h"}}


def state(result=True, changes=None, comment="said"):
    return {
        TAG: {"result": result, "changes": changes or {}, "comment": comment, "__sls__": "web", "name": "/srv/page"}
    }


def summary(path, results, ids=None, also=None, options=None):
    report = Summary(path, also)
    ids = ids or [result.id for result in results]
    report.job_begins(
        JobStart("20260101000000000000", "state.apply", ["web"], ids=ids, start=1.0, options=options or {})
    )
    for result in results:
        report.target_returned(result)
    report.job_ends(JobEnd(2, "done", 3.0))
    return path.read_text()


RESULTS = [
    TargetReturn("a", state(), "states"),
    TargetReturn("b", state(changes={"diff": "x"}), "states"),
    TargetReturn("c", state(False, comment="it *broke* | here"), "states", 2),
    TargetReturn("d", GONE, "error", 3),
    TargetReturn("e", NOT_BEGUN, "error", 2),
]


def test_the_table_has_failures_first(tmp_path):
    text = summary(tmp_path / "s.md", RESULTS)
    assert text.startswith("### pushsalt state.apply web\n")
    words = "5 targets: 1 failed, 1 no answer, 1 not begun, 1 changed, 1 unchanged in 2.0 s; exit code 2"
    assert words in text and "job `20260101000000000000`" in text
    assert [row.split(" | ")[0] for row in text.splitlines() if re.match(r"\| [a-e] ", row)] == [
        "| c",
        "| d",
        "| e",
        "| b",
        "| a",
    ]
    assert "<details><summary>c: it *broke* | here</summary>" in text and "no such name" in text


def test_a_dry_run_says_so(tmp_path):
    assert summary(tmp_path / "s.md", RESULTS, options={"test": True}).startswith(
        "### pushsalt state.apply web (dry run)"
    )


def test_targets_without_a_return_are_named(tmp_path):
    text = summary(tmp_path / "s.md", RESULTS[:1], ids=["a", "x", "y"])
    assert "2 without a return" in text and "Without a return: x, y" in text


@pytest.mark.parametrize("given", ["a | b", "<script>alert(1)</script>", "**bold**\x1b[1m", "[x](http://evil)"])
def test_markup_of_targets_is_text(tmp_path, given):
    text = summary(tmp_path / "s.md", [TargetReturn(given, state(False, comment=given), "states", 2)])
    row = next(
        line for line in text.splitlines() if line.startswith("| ") and "---" not in line and "target |" not in line
    )
    assert len(re.findall(r"(?<!\\)\|", row)) == 8
    assert "\x1b" not in text and "<script>" not in text.split("```")[0]


def test_a_comment_cannot_leave_its_block(tmp_path):
    text = summary(tmp_path / "s.md", [TargetReturn("a", state(False, comment="```\n<img src=x>\n````"), "states", 2)])
    assert text.count("`````\n") == 2


def test_large_jobs_have_bounded_pages(tmp_path):
    results = [TargetReturn(f"t{number}", state(False, comment="x" * 50_000), "states", 2) for number in range(1000)]
    text = summary(tmp_path / "s.md", results)
    assert text.count("| **failed** |") == ROWS and f"and {1000 - ROWS} more targets" in text
    assert text.count("<details>") == DETAILS and len(text) < 2**20


def test_the_step_summary_is_appended_to(tmp_path):
    step = tmp_path / "step.md"
    step.write_text("before\n")
    text = summary(tmp_path / "s.md", RESULTS, also=step)
    assert step.read_text() == "before\n" + text
    step.write_text("before\n")
    assert summary(step, RESULTS, also=step) == "before\n" + text
