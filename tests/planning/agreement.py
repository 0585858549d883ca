"""Whether a plan was right about the run that followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pushsalt.planning.forecast import FAILS


def wrong(
    planned: dict[str, Any], returns: dict[str, Any], after: Mapping[str, str | None], failures: bool = False
) -> list[str]:
    """Differences between plan and run. ``after``: path -> its text after the run, of files that only one state
    changed. ``failures``: states that fail in the run need not be foreseen.
    """
    found = []
    for state in planned["states"]:
        ret = returns.get(state["tag"], {"changes": {}, "result": None, "comment": "not reached"})
        changed = bool(ret["changes"])
        if failures and state["mark"] == "will" and not changed and ret["result"] is False:
            continue  # it would change this, and says nothing of success
        if state["comment"].startswith(FAILS) and ret["result"] is False:
            changed = changed and state["changes"] != ret["changes"]  # a state may report what it failed to change
        if (state["mark"] == "none" and changed) or (state["mark"] == "will" and not changed):
            found.append(f"{state}\n  the run: {ret}")
        elif state["mark"] == "will":
            found += [f"{words}: {state}\n  the run: {ret}" for words in _differences(state, ret, after)]
    told = {state["tag"] for state in planned["states"]}
    missing = [tag for tag, ret in returns.items() if tag not in told and not _within(ret, planned)]
    return found + [f"not in the plan: {tag}: {returns[tag]}" for tag in missing if returns[tag]["changes"]]


def _within(ret: Mapping[str, Any], planned: Mapping[str, Any]) -> bool:
    """Whether another state of the same ID, which the plan does not call unchanged, ran this one inside of itself."""
    ids = [state["__id__"] for state in planned["states"] if state["mark"] != "none"]
    return ret.get("__state_ran__") is True and ret.get("__id__") in ids


def _differences(state: dict[str, Any], ret: dict[str, Any], after: Mapping[str, str | None]) -> Iterator[str]:
    """What is wrong about the differences of texts in the plan of a state that has changed something."""
    changes, told = ret["changes"], state["diff"] or ""
    if not isinstance(changes, Mapping):
        return
    whole = changes.get("diff")
    if isinstance(whole, str):
        if whole.startswith("---") and whole != told:
            yield "another diff"
        text = after.get(str(ret["name"]))
        hidden = state["tag"].startswith("x509_|-")  # these never show what they write
        if whole == "New file" and text is not None and not hidden and _rows(told) != _lines(text):
            yield f"another content than {text!r}"
    for path, one in changes.items():
        diff = one.get("diff") if isinstance(one, Mapping) else None
        text = after.get(str(path))
        if isinstance(diff, str) and diff.startswith("---") and diff != told and not _has(told, path, diff):
            yield f"another diff of {path}"
        elif diff == "New file" and text and _rows(told) != _lines(text) and not _has(told, path, _of_new(text)):
            yield f"another content of {path} than {text!r}"


def _rows(diff: str) -> list[str]:
    """The lines that a diff of a new file has."""
    return [row[1:] for row in diff.split("\n")[3:] if row]


def _lines(text: str) -> list[str]:
    return [row.rstrip("\n") for row in text.splitlines(keepends=True)]


def _of_new(text: str) -> str:
    lines = text.splitlines(keepends=True)
    count = "1" if len(lines) == 1 else f"1,{len(lines)}"
    return f"--- \n+++ \n@@ -0,0 +{count} @@\n" + "".join(f"+{line}" for line in lines)


def _has(told: str, path: str, diff: str) -> bool:
    """Whether a plan that has the diffs of several files has this one, with the name of the file."""
    body = diff.split("\n", 2)[2]
    named = f"--- {path}\n+++ {path}\n{body}" + ("" if body.endswith("\n") else "\n")
    return f"\n{named}" in f"\n{told}"
