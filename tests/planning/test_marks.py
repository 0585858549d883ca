"""Marks of states from chunks and their returns, and the footprints of functions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pushsalt.planning.footprints import RULES, of
from pushsalt.planning.marks import MOST, UNKNOWN, Marked, marks
from thin.requisites import tag_of

ROOT = Path(__file__).parents[2]
WOULD: dict[str, Any] = {"result": None, "changes": {"diff": "x"}, "comment": ""}
SAME: dict[str, Any] = {"result": True, "changes": {}, "comment": ""}
FAILS: dict[str, Any] = {"result": False, "changes": {}, "comment": "no"}
NOT_RUN = {"__state_ran__": False}


def chunk(id: str, function: str, /, **arguments: Any) -> dict[str, Any]:
    state, _, fun = function.partition(".")
    return {"state": state, "fun": fun, "__id__": id, "name": id, "__sls__": "s", **arguments}


def marked(*states: tuple[dict[str, Any], dict[str, Any]], details: Any = None, **kwargs: Any) -> dict[str, Marked]:
    """id -> mark, of chunks with their returns in the order of the run."""
    returns = {tag_of(low): {**ret, "__run_num__": number} for number, (low, ret) in enumerate(states)}
    by_id = {low["__id__"]: tag_of(low) for low, _ in states}
    notes = {by_id[id]: found for id, found in (details or {}).items()}
    found = marks([low for low, _ in states], returns, notes, **kwargs)
    return {each.tag.split("_|-")[1]: each for each in found}


def words(found: dict[str, Marked]) -> dict[str, str]:
    return {id: each.mark for id, each in found.items()}


def test_by_themselves() -> None:
    found = marked(
        (chunk("/a", "file.managed"), WOULD),
        (chunk("/b", "file.managed"), SAME),
        (chunk("/c", "file.managed"), FAILS),
    )
    assert words(found) == {"/a": "will", "/b": "none", "/c": "none"}
    assert not any(each.because for each in found.values())


@pytest.mark.parametrize("requisite", ["require", "watch", "onchanges", "onfail", "require_any", "prereq"])
def test_a_requisite_on_a_state_that_changes(requisite: str) -> None:
    low = chunk("b", "test.nop", **{requisite: [{"file": "/a"}]})
    found = marked((chunk("/a", "file.managed"), WOULD), (low, SAME))
    assert found["b"].mark == "may"
    assert found["b"].because == [tag_of(chunk("/a", "file.managed"))]


def test_a_requisite_on_a_state_that_does_not_change() -> None:
    low = chunk("b", "cmd.run", onchanges=[{"file": "/a"}])
    found = marked((chunk("/a", "file.managed"), SAME), (low, {**SAME, **NOT_RUN}))
    assert words(found) == {"/a": "none", "b": "none"}


def test_footprints_of_states() -> None:
    found = marked(
        (chunk("/etc/a", "file.managed"), WOULD),
        (chunk("/etc/b", "file.managed"), WOULD),
        (chunk("other", "file.append", name="/etc/a"), SAME),
        (chunk("/etc", "file.recurse"), SAME),
        (chunk("nothing", "test.nop"), SAME),
        (chunk("Europe/Vienna", "timezone.system"), SAME),
    )
    assert words(found) == {
        "/etc/a": "will",
        "/etc/b": "will",
        "other": "may",
        "/etc": "may",
        "nothing": "none",
        "Europe/Vienna": "may",
    }
    assert len(found["/etc"].because) == 3, "what may change counts too"


def test_a_package_may_bring_anything() -> None:
    found = marked((chunk("nginx", "pkg.installed"), WOULD), (chunk("/etc/nginx.conf", "file.managed"), WOULD))
    assert words(found) == {"nginx": "will", "/etc/nginx.conf": "may"}


@pytest.mark.parametrize(
    ("function", "arguments", "mark"),
    [
        ("cmd.run", {}, "unknown"),
        ("cmd.run", {"creates": "/x"}, "will"),
        ("cmd.run", {"unless": "false", "stateful": True}, "unknown"),
        ("module.run", {}, "unknown"),
        ("http.query", {}, "unknown"),
    ],
)
def test_commands(function: str, arguments: dict[str, Any], mark: str) -> None:
    found = marked((chunk("a", function, **arguments), WOULD))
    assert found["a"].mark == mark
    assert bool(found["a"].why) == (mark == "unknown")


def test_a_command_that_tells_of_no_change() -> None:
    """``test_name`` of ``stateful`` is another command."""
    found = marked((chunk("a", "cmd.run", stateful=[{"test_name": "echo changed=no"}]), SAME))
    assert found["a"].mark == "unknown"


def test_a_guard_keeps_it_from_running() -> None:
    found = marked((chunk("a", "cmd.run", unless="true"), {**SAME, "skip_watch": True}))
    assert found["a"].mark == "none"


def test_modules_of_ones_own() -> None:
    found = marked((chunk("a", "own.done"), WOULD), details={"a": {"own": True}})
    assert found["a"].mark == "unknown"
    assert "__dry_run__" in found["a"].why


def test_missing_requirements_and_states_that_provide_them() -> None:
    missing = {"/d/f": {"missing": "/d"}}
    alone = marked((chunk("/d/f", "file.managed"), WOULD), details=missing)
    assert (alone["/d/f"].mark, alone["/d/f"].fails) == ("none", True)
    both = marked((chunk("/d", "file.directory"), WOULD), (chunk("/d/f", "file.managed"), WOULD), details=missing)
    assert words(both) == {"/d": "will", "/d/f": "may"}
    made = marked((chunk("/d/f", "file.managed", makedirs=True), WOULD), details=missing)
    assert made["/d/f"].mark == "will"
    user = {"/f": {"needs": [["user", "app", "User app is not available"]]}}
    assert marked((chunk("/f", "file.managed", user="app"), WOULD), details=user)["/f"].fails
    app = (chunk("app", "user.present"), WOULD), (chunk("/f", "file.managed", user="app"), WOULD)
    assert words(marked(*app, details=user)) == {"app": "will", "/f": "may"}


def test_what_fails_is_no_ground_for_reactions() -> None:
    found = marked(
        (chunk("/d/f", "file.managed"), WOULD),
        (chunk("b", "cmd.run", onchanges=[{"file": "/d/f"}]), WOULD),
        details={"/d/f": {"missing": "/d"}},
    )
    assert words(found) == {"/d/f": "none", "b": "may"}


def test_a_link_that_replaces_a_file() -> None:
    chunk = {"state": "file", "fun": "symlink", "name": "/l", "__id__": "l", "target": "/t"}
    ret = {"result": False, "changes": {}, "comment": "File or directory exists", "name": "/l"}
    tag = "file_|-l_|-/l_|-symlink"
    assert [each.mark for each in marks([chunk], {tag: ret}, {})] == ["none"]
    assert [each.mark for each in marks([{**chunk, "backupname": "/b"}], {tag: ret}, {})] == ["unknown"]


def test_a_line_of_a_file_that_is_made() -> None:
    chunk = {"state": "file", "fun": "line", "name": "/f", "__id__": "l", "content": "x"}
    ret = {"result": False, "changes": {}, "comment": "/f: file not found", "name": "/f"}
    tag = "file_|-l_|-/f_|-line"
    assert [each.mark for each in marks([chunk], {tag: ret}, {})] == ["none"]
    assert [each.mark for each in marks([{**chunk, "create": True}], {tag: ret}, {})] == ["unknown"]


def test_a_dry_run_that_speaks_of_a_change_that_is_none() -> None:
    chunk = {"state": "cron", "fun": "file", "name": "salt://tab", "__id__": "tab"}
    tag = "cron_|-tab_|-salt://tab_|-file"
    ret = {"result": None, "changes": {}, "comment": "user: keeper", "name": "salt://tab"}
    assert [each.mark for each in marks([chunk], {tag: ret}, {})] == ["will"]
    assert [each.mark for each in marks([chunk], {tag: ret}, {tag: {"same": True}})] == ["none"]


def test_a_dry_run_that_does_not_tell() -> None:
    low = chunk("/r", "git.detached")
    found = marked((low, WOULD), (chunk("/s", "git.detached"), SAME), details={"/r": {"unsure": "it fetches nothing"}})
    assert words(found)["/r"] == "unknown" and "it fetches nothing" in found["/r"].why


def test_a_state_inside_of_another_one() -> None:
    low, tag = chunk("/c", "x509.certificate_managed"), "file_|-/c_|-/c_|-managed"
    inner = {**SAME, "__state_ran__": True, "__id__": "/c", "__run_num__": 1}
    for outer, mark in ((WOULD, "may"), (SAME, "none")):
        found = marks([low], {tag_of(low): {**outer, "__run_num__": 0}, tag: inner}, {})
        assert [(each.tag, each.mark) for each in found][1] == (tag, mark)


def test_two_folders_of_one_archive() -> None:
    """The first keeps the digest of the archive, by which the second may skip it."""
    first, second = (chunk(name, "archive.extracted", source="/a.tar") for name in ("/x", "/y"))
    assert words(marked((first, WOULD), (second, WOULD))) == {"/x": "will", "/y": "may"}
    assert words(marked((first, WOULD), ({**second, "source": "/b.tar"}, WOULD))) == {"/x": "will", "/y": "will"}


def test_failhard() -> None:
    hard = chunk("/a", "file.managed", failhard=True)
    assert words(marked((hard, WOULD), (chunk("/b", "file.managed"), WOULD))) == {"/a": "will", "/b": "may"}
    found = marked((hard, FAILS), (chunk("/b", "file.managed"), WOULD))
    assert words(found) == {"/a": "none", "/b": "none"}
    assert "failhard" in found["/b"].why


def test_reactions_at_the_end() -> None:
    low = chunk("b", "cmd.wait", listen=[{"file": "/a"}])
    found = marked((chunk("/a", "file.managed"), WOULD), (low, SAME))
    assert found["listener_b"].mark == "may"
    assert found["listener_b"].because == [tag_of(chunk("/a", "file.managed"))]
    assert "listener_b" not in marked((chunk("/a", "file.managed"), SAME), (low, SAME))


def test_what_the_run_did_not_come_to() -> None:
    first, second = chunk("/a", "file.managed"), chunk("/b", "file.managed")
    found = marks([first, second], {tag_of(first): {**SAME, "__run_num__": 0}}, {})
    assert [each.mark for each in found] == ["none", "unknown"]


def test_parallel_states() -> None:
    """A parallel state may change something while an earlier one of the list still looks."""
    parallel = chunk("beside", "file.managed", name="/a", parallel=True)
    found = marked((chunk("/a", "file.append"), SAME), (parallel, WOULD))
    assert found["/a"].mark == "may"


def test_many_reasons_are_cut() -> None:
    many = [(chunk(f"/d/{number}", "file.managed"), WOULD) for number in range(MOST + 5)]
    found = marked(*many, (chunk("/d", "file.recurse"), SAME))
    assert len(found["/d"].because) == MOST
    assert "5 more" in found["/d"].why


def test_links_and_templates() -> None:
    low = chunk("/link/f", "file.managed", template="jinja", source="salt://x")
    assert of(low, {"real": "/real/f"}).reads.paths >= {"/link/f", "/real/f"}
    assert of(low, {"asked": True}).reads.everything
    assert not of(low, {}).reads.everything
    assert of({**low, "onlyif": "true"}, {}).reads.everything
    assert of({**low, "contents": "__slot__:salt:test.echo(x)"}, {}).reads.everything


def test_the_page_has_the_functions() -> None:
    text = (ROOT / "docs/plan.md").read_text()
    named = set(re.findall(r"`([\w*]+\.[\w*]+)`", text))
    assert set(RULES) | set(UNKNOWN) <= named


@pytest.mark.parametrize("function", ["file.append", "file.prepend", "file.touch"])
def test_a_link_into_a_directory_that_is_not_there(function: str) -> None:
    low = chunk("/l", function)
    notes = {"/l": {"real": "/d/x", "dangling": True, "nowhere": True}}
    found = marked((low, WOULD), details=notes)
    assert found["/l"].mark == "none" and found["/l"].fails
    found = marked((chunk("/d", "file.directory"), WOULD), (low, WOULD), details=notes)
    assert found["/l"].mark == "may", "a state before makes the directory"
    assert marked((low, WOULD), details={"/l": {"real": "/d/x", "dangling": True}})["/l"].mark == "will"
