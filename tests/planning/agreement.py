"""Whether a plan was right about the run that followed."""

from __future__ import annotations

from typing import Any


def wrong(
    planned: dict[str, Any], returns: dict[str, Any], after: dict[str, str | None], failures: bool = False
) -> list[str]:
    """Differences between plan and run. ``after``: tag -> the text of the state's file, if no other state changed it
    later. ``failures``: states that fail in the run need not be foreseen.
    """
    found = []
    for state in planned["states"]:
        ret = returns.get(state["tag"], {"changes": {}, "result": None, "comment": "not reached"})
        changed = bool(ret["changes"])
        if failures and state["mark"] == "will" and not changed and ret["result"] is False:
            continue  # it would change this, and says nothing of success
        if state["comment"].startswith("It would fail: ") and ret["result"] is False:
            changed = changed and state["changes"] != ret["changes"]  # a state may report what it failed to change
        if (state["mark"] == "none" and changed) or (state["mark"] == "will" and not changed):
            found.append(f"{state}\n  the run: {ret}")
        diff = ret["changes"].get("diff") if isinstance(ret["changes"], dict) else None
        if state["mark"] == "will" and isinstance(diff, str) and diff.startswith("---") and diff != state["diff"]:
            found.append(f"another diff: {state}\n  the run: {ret}")
        if state["mark"] == "will" and diff == "New file" and after.get(state["tag"]) is not None:
            lines = after[state["tag"]].splitlines(keepends=True)
            if [row[1:] for row in (state["diff"] or "").split("\n")[3:] if row] != [row.rstrip("\n") for row in lines]:
                found.append(f"another content: {state}\n  the file: {after[state['tag']]!r}")
    missing = [tag for tag in returns if tag not in {state["tag"] for state in planned["states"]}]
    return found + [f"not in the plan: {tag}: {returns[tag]}" for tag in missing if returns[tag]["changes"]]
