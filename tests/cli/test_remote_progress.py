"""The live view of git remotes during a fetch."""

from __future__ import annotations

from pushsalt.cli.progress import Board


def shown(board, height=10):
    return ["".join(span.text for span in row) for row in board.lines(0.0, height)]


def test_remotes_are_shown_while_they_are_fetched():
    board = Board()
    board.run_started(["web1"], "apply")
    board.remote_progress("https://example.org/a.git", "fetching")
    board.remote_progress("nginx\x1b[31m", "receiving 42 %, 1.2 MiB")
    rows = shown(board)
    assert rows[1].split() == ["https://example.org/a.git", "fetching"]
    assert rows[2].endswith("receiving 42 %, 1.2 MiB") and "\x1b" not in rows[2]
    board.target_phase("web1", "connect")
    assert shown(board)[-1].split() == ["web1", "connect"]
    for name in ("https://example.org/a.git", "nginx\x1b[31m"):
        board.remote_progress(name, "")
    assert len(shown(board)) == 2


def test_many_remotes_leave_room():
    board = Board()
    for number in range(50):
        board.remote_progress(f"r{number}", "fetching")
    assert len(shown(board, height=6)) <= 6
