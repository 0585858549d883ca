"""JUnit XML: valid for any return, with a suite for each target and a case for each state."""

import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.reports.junit import JUnit

TAG = "file_|-page_|-/srv/page_|-managed"


def state(result=True, changes=None, comment="said", **kwargs):
    sls = {"__sls__": "web", "__id__": "page", "name": "/srv/page", "duration": 1500.0}
    return {TAG: {"result": result, "changes": changes or {}, "comment": comment, **sls, **kwargs}}


def written(path, *results, ids=None, end=True, job=None):
    report = JUnit(path)
    report.job_begins(
        job or JobStart("20260101000000000000", "state.apply", ["web"], ids=ids or [r.id for r in results])
    )
    for result in results:
        report.target_returned(result)
    if end:
        report.job_ends(JobEnd(0, "done"))
    report.close()
    root = ET.fromstring(path.read_bytes())
    assert root.tag == "testsuites"
    for part in (root, *root):
        cases = [*part.iter("testcase")]
        found = Counter(child.tag for case in cases for child in case)
        numbers = [int(part.get(name)) for name in ("tests", "failures", "errors", "skipped")]
        assert numbers == [len(cases), found["failure"], found["error"], found["skipped"]]
    return root


def the_case(root):
    [suite] = root
    [case] = suite.iter("testcase")
    return case


def test_a_state_that_changed(tmp_path):
    root = written(
        tmp_path / "j.xml", TargetReturn("web1", state(changes={"diff": "+new"}), "states", phases={"run": 2.0})
    )
    case = the_case(root)
    assert (case.get("classname"), case.get("name"), case.get("time")) == (
        "web1.web",
        "file.managed /srv/page (page)",
        "1.500",
    )
    assert '"diff": "+new"' in case.find("system-out").text
    assert root[0].get("name") == "web1" and root[0].get("time") == "2.000"
    properties = {each.get("name"): each.get("value") for each in root[0].iter("property")}
    assert properties == {"jid": "20260101000000000000", "fun": "state.apply", "time.run": "2.000"}


def test_a_state_that_failed(tmp_path):
    failed = state(False, {"retcode": 3}, "first line\nsecond <line>")
    failure = the_case(written(tmp_path / "j.xml", TargetReturn("web1", failed, "states", 2))).find("failure")
    assert (failure.get("message"), failure.get("type")) == ("first line", "file.managed")
    assert "second <line>" in failure.text and '"retcode": 3' in failure.text


@pytest.mark.parametrize(
    "ret",
    [
        state(False, comment="One or more requisite failed: web.x", __state_ran__=False),
        state(True, comment="onlyif condition is false", skip_watch=True),
        state(True, comment="State was not run because none of the onchanges reqs changed", __state_ran__=False),
    ],
)
def test_a_state_that_did_not_run(tmp_path, ret):
    case = the_case(written(tmp_path / "j.xml", TargetReturn("web1", ret, "states", 2)))
    assert [child.tag for child in case] == ["skipped"] and case[0].get("message") == ret[TAG]["comment"]


@pytest.mark.parametrize(
    "result, element, kind, words",
    [
        (TargetReturn("a", "x", exit_code=2, retcode=3), "failure", "test.ping", "exit status 3"),
        (
            TargetReturn(
                "a", {"error": {"kind": "exception", "message": "m", "hint": "h", "exception": "KeyError"}}, "error", 2
            ),
            "failure",
            "KeyError",
            "hint: h",
        ),
        (
            TargetReturn("a", {"error": {"kind": "dns_failure", "message": "m", "hint": "h"}}, "error", 3),
            "error",
            "dns_failure",
            "m",
        ),
        (TargetReturn("a", ["no such SLS", "more"], "errors", 2), "error", "compile", "more"),
        (
            TargetReturn("a", True, exit_code=2, retcode=1, check="test.false: returned False"),
            "failure",
            "batch_check",
            "returned",
        ),
    ],
)
def test_other_returns(tmp_path, result, element, kind, words):
    job = JobStart("20260101000000000000", "test.ping", ids=["a"])
    root = written(tmp_path / "j.xml", result, job=job)
    [found] = [child for case in root.iter("testcase") for child in case if child.tag == element]
    assert found.get("type") == kind and words in found.text


def test_not_begun_is_skipped(tmp_path):
    error = {"error": {"kind": "not_begun", "message": "a: not begun: 1 target failed", "hint": "h"}}
    case = the_case(written(tmp_path / "j.xml", TargetReturn("a", error, "error", 2)))
    assert case.find("skipped").get("message") == "a: not begun: 1 target failed"


def test_states_before_contact_was_lost(tmp_path):
    error = {"kind": "connection_lost", "message": "m", "hint": "h", "returned": state()}
    root = written(tmp_path / "j.xml", TargetReturn("a", {"error": error}, "error", 3))
    assert [[child.tag for child in case] for case in root.iter("testcase")] == [[], ["error"]]


def test_targets_without_a_return(tmp_path):
    """After a killed or interrupted job, the file reports that, and is not the file of an earlier job."""
    path = tmp_path / "j.xml"
    path.write_text("old")
    root = written(path, TargetReturn("a", state(), "states"), ids=["a", "b"], end=False)
    assert [error.text for error in root.iter("error")] == ["no return: the job did not end"] * 2
    root = written(path, TargetReturn("a", state(), "states"), ids=["a", "b"])
    assert [error.text for error in root.iter("error")] == ["no return: the job was stopped before the target returned"]


NASTY = "\x00\x01\x1b[31m red \x7f\x85 \ud800 \ufffe \uffff ]]> <&\"' \r\n\t é 💩 \u202e"


def test_characters_that_xml_cannot_have(tmp_path):
    ret = {
        f"cmd_|-{NASTY}_|-{NASTY}_|-run": {**state(False, {NASTY: NASTY}, NASTY)[TAG], "name": NASTY, "__id__": NASTY}
    }
    root = written(tmp_path / "j.xml", TargetReturn(f"web{NASTY}", ret, "states", 2))
    text = next(root.iter("failure")).text
    assert "\\x1b[31m red" in text and "]]> <&\"'" in text and "💩" in text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(st.characters(), max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.text(st.characters(), max_size=9) | st.floats() | st.binary(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
def test_any_return(tmp_path, text, value):
    written(
        tmp_path / "j.xml",
        TargetReturn("a", value),
        TargetReturn("b", {f"m_|-{text}_|-n_|-f": {"result": False, "changes": value, "comment": text}}, "states", 2),
    )


def test_long_texts_are_cut(tmp_path):
    text = next(
        written(tmp_path / "j.xml", TargetReturn("a", state(False, comment="x" * 100_000), "states", 2)).iter("failure")
    ).text
    assert len(text) < 21_000 and text.endswith("80000 more characters")


def test_many_suites_do_not_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("pushsalt.reports.junit._IN_MEMORY", 1000)
    results = [TargetReturn(f"t{number}", state(), "states") for number in range(200)]
    root = written(tmp_path / "j.xml", *results)
    assert [suite.get("name") for suite in root] == [result.id for result in results]
