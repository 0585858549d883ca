"""What changes on a target between the look of ``apply FILE.plan`` and its run is found, and left as it is.

``check_cmd`` of a state changes files here: it runs in the run only, just before the state writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pushsalt.planning.planfile import PlanFile
from tests.planning.bed import Bed

pytestmark = pytest.mark.slow  # each test plans and runs states


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


def planned(bed: Bed, top: Path, data: dict[str, Any], marks: list[str]) -> PlanFile:
    name = top.parent.name
    bed.write(f"salt/{name}.sls", json.dumps(data))
    told, plan = bed.planned(name)
    assert [state["mark"] for state in told["states"]] == marks, told
    return plan


def drifting(bed: Bed, top: Path, path: Path, script: str = "echo theirs > {path}") -> dict[str, Any]:
    """Three states; while the first is run, a file becomes that of somebody else."""
    bed.write("drift.sh", script.format(path=path) + "\n")
    check = {"check_cmd": f"sh {bed.folder}/drift.sh"}
    data: dict[str, Any] = {f"{top}/a": {"file.managed": [{"contents": "a"}, check]}}
    return data | {f"{top}/{name}": {"file.managed": [{"contents": name}]} for name in ("b", "c")}


def by_name(returns: dict[str, Any]) -> dict[str, Any]:
    assert "error" not in returns, returns
    return {Path(ret["name"]).name: ret for ret in returns.values()}


def test_what_a_later_state_would_change(bed: Bed, top: Path) -> None:
    (top / "b").write_text("before\n")
    plan = planned(bed, top, drifting(bed, top, top / "b"), ["will"] * 3)
    found = by_name(bed.apply_planned(plan))
    assert found["a"]["result"] is True and (top / "a").read_text() == "a\n"
    assert found["b"]["result"] is False and "changed since it was looked at" in found["b"]["comment"]
    assert found["c"]["result"] is False and "changed while the plan was applied" in found["c"]["comment"]
    assert (top / "b").read_text() == "theirs\n" and not (top / "c").exists()
    assert bed.apply_planned(plan)["error"]["kind"] == "plan_stale"
    bed.apply_planned(plan, accept_drift=True)
    assert (top / "b").read_text() == "b\n" and (top / "c").exists()


def test_what_a_later_state_would_leave(bed: Bed, top: Path) -> None:
    """A plan of no change does not put back what somebody changes meanwhile."""
    (top / "b").write_text("b\n")
    plan = planned(bed, top, drifting(bed, top, top / "b"), ["will", "none", "will"])
    found = by_name(bed.apply_planned(plan))
    assert found["b"]["result"] is False and "changed since it was looked at" in found["b"]["comment"]
    assert (top / "b").read_text() == "theirs\n" and not (top / "c").exists()


def test_another_mode(bed: Bed, top: Path) -> None:
    (top / "b").write_text("b\n")
    (top / "b").chmod(0o644)
    data = drifting(bed, top, top / "b", "chmod 0600 {path}")
    data[f"{top}/b"] = {"file.managed": [{"mode": "0600"}]}
    found = by_name(bed.apply_planned(planned(bed, top, data, ["will"] * 3)))
    assert "changed since it was looked at" in found["b"]["comment"], "nothing is left to do, which was not planned"
    assert not (top / "c").exists()


@pytest.mark.parametrize("before", ["before\n", None])
def test_the_file_that_a_state_is_about_to_write(bed: Bed, top: Path, before: str | None) -> None:
    """After the last dry run of this very state."""
    if before is not None:
        (top / "a").write_text(before)
    found = by_name(bed.apply_planned(planned(bed, top, drifting(bed, top, top / "a"), ["will"] * 3)))
    assert found["a"]["result"] is False
    assert f"'{top}/a' has changed since it was looked at" in found["a"]["comment"]
    assert (top / "a").read_text() == "theirs\n" and not (top / "b").exists()
    assert sorted(path.name for path in top.iterdir()) == ["a"], "nothing is left over"


def test_a_file_that_a_link_points_to(bed: Bed, top: Path) -> None:
    (top / "real").write_text("before\n")
    (top / "a").symlink_to("real")
    found = by_name(bed.apply_planned(planned(bed, top, drifting(bed, top, top / "real"), ["will"] * 3)))
    assert found["a"]["result"] is False and (top / "real").read_text() == "theirs\n"


def test_a_state_without_a_change_is_not_called(bed: Bed, top: Path) -> None:
    """Not even one of which the dry run says too little."""
    text = """
__dry_run__ = True
def done(name):
    if not __opts__["test"]:
        open(name, "w").close()
    return {"name": name, "changes": {}, "result": True, "comment": ""}
"""
    own = Bed(top.parent / "own")  # whose modules are not read yet
    (own.folder / "salt/_states").mkdir()
    own.write("salt/_states/mine.py", text)
    (ret,) = own.apply_planned(planned(own, top, {f"{top}/f": {"mine.done": []}}, ["none"])).values()
    assert ret["result"] is True and ret["__run_num__"] == 0 and not ret["changes"]
    assert not (top / "f").exists()
    own.apply(top.parent.name)
    assert (top / "f").exists()


def test_nothing_in_between(bed: Bed, top: Path) -> None:
    """All kinds of states that change files, themselves and one after another, are no drift."""
    for name in ("gone", "changed", "moved", "tree/old"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("one\ntwo\n")
    data = {
        f"{top}/tree": {"file.recurse": [{"source": "salt://tree"}, {"clean": True}, {"dir_mode": "0750"}]},
        f"{top}/dirs/deep": {"file.directory": [{"makedirs": True}, {"mode": "0700"}]},
        f"{top}/changed": {"file.replace": [{"pattern": "one"}, {"repl": "1"}]},
        f"{top}/gone": {"file.absent": []},
        f"{top}/there": {"file.rename": [{"source": f"{top}/moved"}]},
        f"{top}/link": {"file.symlink": [{"target": "/etc/passwd"}]},
        f"{top}/touched": {"file.touch": []},
        f"{top}/secret": {"file.managed": [{"contents": "x"}, {"mode": "0600"}, {"no_log": True}]},
        "told": {"cmd.run": [{"name": f"echo told > {top}/told"}, {"onchanges": [f"{top}/gone"]}]},
        "again": {"file.managed": [{"name": f"{top}/told"}, {"contents": "again"}]},
    }
    plan = planned(bed, top, data, ["will"] * 8 + ["may"] * 2)
    returns = bed.apply_planned(plan, backups=True)
    assert "error" not in returns and all(ret["result"] is True and ret["changes"] for ret in returns.values()), returns
    assert (top / "told").read_text() == "again\n" and not (top / "gone").exists()
