"""The engine returns the same as Salt for the same lowstates: result, changes, comment, order of the run."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thin import engine
from thin.requisites import tag_of

CASES = sorted((Path(__file__).parent / "cases" / "engine").glob("*.json"))


def comparable(comment: str) -> str:
    """The comment without volatile parts."""
    if "Traceback" in comment:
        start = comment.split("Traceback")[0]
        name = comment.strip().splitlines()[-1].split(":")[0].rpartition(".")[2]
        return f"{start}...{'KeyError' if name == 'MissingFunction' else name}"
    start = "One or more requisite failed: "
    if comment.startswith(start):
        return start + ", ".join(sorted(comment[len(start) :].split(", ")))
    return comment


#: beginnings of the comments of states that could not be called
REFUSED = ("State '", "Specified state", "Missing ", "ID '", "Invalid umask")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_returns_equal_salts(path: Path, make_loaders: Callable[..., Any]) -> None:
    case = json.loads(path.read_text())
    reported: dict[str, Any] = {}
    loaders = make_loaders(opts={**case["opts"], "test": case["test"]})
    run = engine.Engine(loaders, on_done=lambda tag, ret: reported.update({tag: copy.deepcopy(ret)}))
    declared = dict.fromkeys(tag_of(low) for low in sorted(case["low"], key=lambda low: low["order"]))
    returned = run.run(case["low"], list(declared))

    assert set(returned) == set(case["ret"])
    for tag, expected in case["ret"].items():
        compared = {key: returned[tag].get(key) for key in expected} | {"comment": comparable(returned[tag]["comment"])}
        assert compared == expected, tag
        required = {"__run_num__"}
        if not expected["comment"].startswith(REFUSED):  # Salt omits the other keys if it cannot call a state
            required |= {"__id__", "__sls__", "start_time", "duration"}
        assert required <= set(returned[tag]), tag
    assert reported == returned, "streamed returns equal the result"
