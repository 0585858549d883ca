"""The steps of an undo, planned or done, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pushsalt.display.forecast import parts
from pushsalt.display.states import DIFF_LIMIT, Detail, diff_lines
from pushsalt.display.style import Line, line

_WORDS: Final = {
    "remove": ("remove", "removed"),
    "write": ("put back", "changed"),
    "dress": ("put back owner and mode of", "changed"),
    "make": ("make again", "added"),
    "none": ("is as it was:", "dim"),
    "lost": ("cannot be put back:", "bad"),
}


def lines(data: Mapping[str, Any], detail: Detail, accept_drift: bool = False) -> Iterator[Line]:
    """The lines of the report. ``data``: id -> the result of ``planning.undoing`` for it, or an error."""
    for id, undo in data.items():
        yield line((id, "title"))
        if "error" in undo:
            yield line((str(undo["error"].get("message")), "bad"), indent=2)
            continue
        for each in undo["files"]:
            yield from _file(each, detail, accept_drift)
        if not undo["files"]:
            yield line(("this target has no stored files of the job", "dim"), indent=2)
        for each in undo["not_undone"]:
            function, _, name = parts(each["tag"])
            yield line(("not undone: ", "bad"), f"{function} {name}: {each['why']}", indent=2)


def _file(each: Mapping[str, Any], detail: Detail, accept_drift: bool) -> Iterator[Line]:
    words, style = _WORDS[each["action"]]
    changes = ", ".join(f"{key} {' -> '.join(map(str, pair))}" for key, pair in each["changes"].items())
    text = f"{each['path']}" + (f"  ({changes})" if changes else "")
    if each.get("result") is False:
        yield line(("failed: ", "bad"), f"{words} {text}: {each['comment']}", indent=2)
        return
    yield line((f"{words} ", style), text + (f": {each['comment']}" if each["comment"] else ""), indent=2)
    if each.get("result") is None and each["drift"]:
        then = "and that change is lost" if accept_drift else "so it stays (--accept-drift)"
        yield line((f"it was changed after the job, {then}", "bad"), indent=6)
    if each["diff"] and "result" not in each:
        yield from detail.cap([*diff_lines(each["diff"], 6)], DIFF_LIMIT, 6)
