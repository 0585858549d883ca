"""The comparison of states accepts differences of wording, and reports all others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential import alike, changed
from tests.differential.casefiles import load

TAG = "file_|-a_|-/srv/a_|-managed"
LOW = [{"state": "file", "fun": "managed", "__id__": "a", "name": "/srv/a", "mode": "0644", "user": "keeper"}]


def ret(result: Any = True, changes: Any = None, comment: Any = "File /srv/a updated") -> dict[str, Any]:
    return {TAG: {"result": result, "changes": changes or {}, "comment": comment, "__run_num__": 0}}


def differences(theirs: Any, ours: Any, refused: bool = False) -> str:
    return "\n".join(alike.returns(theirs, ours, LOW, lambda text: text.replace("12:00", "<time>"), refused))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (ret(), ret(comment="/srv/a was made new")),  # the same names in another wording
        (ret(comment="at 12:00"), ret(comment="at <time>")),
        (ret(changes={"pid": 1}), ret(changes={"pid": 2})),
        (ret(changes={"removed": ["a", "b"]}), ret(changes={"removed": ["b", "a"]})),
        (ret(False, comment="An exception occurred in this state: Traceback ..."), ret(False, comment="no such file")),
    ],
)
def test_equal_results_have_no_differences(theirs, ours):
    assert differences(theirs, ours) == ""


@pytest.mark.parametrize(
    ("theirs", "ours", "text"),
    [
        (ret(), ret(None), "result"),
        (ret(changes={"mode": "0644"}), ret(), "changes"),
        (ret(), ret(comment="made"), "not named: /srv/a"),
        (ret(comment="mode 0644 set"), ret(comment="mode set"), "not named: 0644"),
        (ret(), ret(comment=""), "comment"),
        (ret(), {}, "another order"),
        (ret(), ["no such state"], "one of them refuses it"),
        (["no such state"], ["no such state"], "is that meant?"),
        (ret(changes={"new": ["a", "b"]}), ret(changes={"new": ["b", "a"]}), "changes"),
    ],
)
def test_different_results_are_reported(theirs, ours, text):
    assert text in differences(theirs, ours)


def test_a_case_can_expect_a_refusal():
    assert differences(["no"], {"raised": "no"}, refused=True) == ""
    assert "neither refuses it" in differences(ret(), ret(), refused=True)


def test_files_are_compared_by_kind_mode_owner_and_content(tmp_path):
    upper = tmp_path / "upper"
    (upper / "etc").mkdir(parents=True)
    (upper / "etc/kept").write_text("kept")
    (upper / "etc/gone").write_text("gone")
    before = changed.snapshot(upper)
    (upper / "etc/gone").unlink()
    (upper / "etc/new").symlink_to("kept")
    (upper / "var/log").mkdir(parents=True)
    (upper / "var/log/syslog").write_text("now")
    paths = changed.changed_paths(before, changed.snapshot(upper))
    assert {"/etc/gone", "/etc/new"} <= paths and not any(path.startswith("/var/log") for path in paths)
    assert changed.entry(upper, "/etc/gone") == changed.ABSENT
    assert changed.entry(upper, "/etc/new")[0::3] == ("link", "-> kept")
    assert changed.entry(upper, "/etc/kept") != changed.entry(upper, "/etc/kept", content=False)


def test_an_invalid_case_file_is_reported_with_the_reason(tmp_path):
    file = tmp_path / "wrong.yaml"
    file.write_text("cases:\n- {covers: [a.b], title: t, sls: 'x: {}', lok: x}\n")
    with pytest.raises(ValueError, match=r"wrong.yaml, case 1: lok: not known; known are"):
        load(file)
    file.write_text("cases:\n- {covers: [a.b], title: t, sls: 'x: {}', call: {fun: a.b}}\n")
    with pytest.raises(ValueError, match="either `sls` or `call`"):
        load(file)
