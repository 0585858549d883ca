"""The live view as lines: the height of the terminal, batches, failures; and plain lines without a terminal."""

from __future__ import annotations

import pytest

from pushsalt.cli import progress
from pushsalt.cli.progress import Board
from pushsalt.model import TargetReturn


def shown(board: Board, height: int) -> list[str]:
    return ["".join(span.text for span in row) for row in board.lines(61.0, height)]


@pytest.fixture
def board() -> Board:
    board = Board()
    board.run_started([f"web{number}" for number in range(100)], "apply web")
    for number in range(60):
        board.target_phase(f"web{number}", "render")
    return board


def test_all_the_height_is_used(board: Board) -> None:
    assert len(shown(board, 40)) == 40 and shown(board, 40)[-1].strip() == "and 22 more"
    assert len(shown(board, 100)) == 61
    assert len(shown(board, 3)) == 3


def test_failures_have_their_share(board: Board) -> None:
    for number in range(30):
        ret = {"error": {"kind": "offline", "message": "x", "hint": "y"}}
        board.target_done(TargetReturn(f"web{number}", ret, "error", 3))
    assert sum("offline" in row for row in shown(board, 60)) == 20
    assert sum("offline" in row for row in shown(board, 10)) == 4
    assert not any("offline" in row for row in shown(board, 3))


def test_numbers_are_those_of_the_summary(board: Board) -> None:
    ran = {"a": {"result": True, "changes": {"a": 1}}, "b": {"result": True, "changes": {}}}
    failed = {"a": {"result": False, "changes": {"a": 1}}}
    board.target_done(TargetReturn("web0", ran, "states", 0, changes=True))
    board.target_done(TargetReturn("web1", failed, "states", 2, changes=True))
    board.target_done(TargetReturn("web2", {"a": {"result": None, "changes": {}}}, "states", 0, changes=True))
    board.target_done(TargetReturn("web3", {}, "plan", 0, changes=True))
    assert "4/100 targets done  1 failed  1 changed  2 would change" in shown(board, 5)[0]


def test_batches_are_counted(board: Board) -> None:
    assert "batch" not in shown(board, 5)[0]
    board.run_batched(30)
    assert "batch 1 of 4" in shown(board, 5)[0]
    for number in range(31):
        board.target_done(TargetReturn(f"web{number}", True))
    assert "batch 2 of 4" in shown(board, 5)[0]


def test_off_a_terminal_there_is_a_line_now_and_then(
    invoke: object, fleet: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.05)
    fleet({"web1": [0, "value", True, 0], "web2": [0.5, "value", True, 0]})  # type: ignore[operator]
    result = invoke("run", "--out", "json", "*", "test.ping")  # type: ignore[operator]
    lines = result.err.splitlines()
    assert lines and all(line.startswith("pushsalt: run test.ping  ") for line in lines)
    assert any("1/2 targets done" in line and "running: web2 (connect)" in line for line in lines)
    quiet = invoke("run", "--out", "quiet", "*", "test.ping")  # type: ignore[operator]
    assert quiet.err == ""


def test_the_sites_of_workers_have_lines(board: Board) -> None:
    board.run_sited({f"web{number}": "berlin" if number < 40 else "tokyo" for number in range(100)})
    board.sites_manned({"berlin": 2, "oslo": 1})
    for number in range(3):
        board.target_done(TargetReturn(f"web{number}", True))
    lines = shown(board, 40)
    assert len(lines) == 40
    assert [each.split() for each in lines[1:3]] == [
        ["berlin", "3/40", "done", "2", "workers"],
        ["tokyo", "0/60", "done", "no", "worker"],
    ]
    assert "; sites: berlin 3/40 (2 workers), tokyo 0/60 (no worker); running: " in board.in_a_line(1.0)
    for number in range(3, 40):
        board.target_done(TargetReturn(f"web{number}", True))
    assert shown(board, 8)[1:3] == ["  tokyo   0/60 done  no worker", "  berlin  40/40 done  2 workers"]
    assert [each for each in shown(board, 6) if "site" in each] == ["  and 2 more sites"]
    assert len(shown(board, 3)) == 3


def test_without_workers_there_are_no_sites(board: Board) -> None:
    assert "sites" not in board.in_a_line(1.0) and "worker" not in "".join(shown(board, 40))
