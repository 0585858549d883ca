"""The files of plans: looked up once for several targets, and again when they change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pushsalt.files.found import FoundFile
from pushsalt.fileserver import FileServer
from pushsalt.minion import files
from pushsalt.minion.files import PlanFiles


class Counting(FileServer):
    """A file server that notes the paths it was asked for."""

    def __init__(self, *roots: Path) -> None:
        super().__init__({"file_roots": {"base": [str(root) for root in roots]}})
        self.asked: list[str] = []

    def find(self, path: str, saltenv: str = "base") -> FoundFile | None:
        self.asked.append(path)
        return super().find(path, saltenv)


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "first", tmp_path / "second"
    for root in (first, second):
        root.mkdir()
    (second / "a").write_text("one")
    return first, second


def text(found: PlanFiles, path: str = "a") -> bytes | None:
    file = found.find(path, "base")
    return None if file is None else file.read()


def test_a_file_is_searched_once_for_several_plans(roots: tuple[Path, Path]) -> None:
    server = Counting(*roots)
    found = PlanFiles(server)
    assert text(found) == text(found) == b"one"
    assert server.asked == ["a"]


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "by another file"])
def test_a_changed_file_has_its_new_digest(roots: tuple[Path, Path], in_place: bool) -> None:
    found = PlanFiles(Counting(*roots))
    file = roots[1] / "a"
    before = found.find("a", "base")
    assert before is not None
    digest = before.digest()
    if in_place:
        file.write_text("other")
    else:
        (roots[1] / "b").write_text("two")
        os.replace(roots[1] / "b", file)
    after = found.find("a", "base")
    assert after is not None
    assert after.digest() != digest
    assert after.size == file.stat().st_size


def test_a_removed_file_is_not_found_and_one_that_is_missing_is_searched_each_time(roots: tuple[Path, Path]) -> None:
    server = Counting(*roots)
    found = PlanFiles(server)
    assert text(found) == b"one"
    (roots[1] / "a").unlink()
    assert text(found) is None
    (roots[0] / "a").write_text("first")
    assert text(found) == b"first"
    assert server.asked == ["a"] * 3


def test_they_are_used_for_a_limited_time_only(roots: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file in an earlier root hides one that was found; that is seen when they are made anew."""
    found = PlanFiles(Counting(*roots))
    assert found.is_fresh()
    monkeypatch.setattr(files, "FRESH", 0.0)
    assert not found.is_fresh()
