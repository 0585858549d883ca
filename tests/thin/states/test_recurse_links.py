"""file.recurse with links, empty directories and several sources, from a real file server's listing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.fileserver.tree import tree
from thin import link
from thin.utils.files import trees

#: below the file root: a text is a file's, None an empty directory, "-> x" a link
TREE = {
    "base/dir/file": "1",
    "base/file": "2",
    "base/empty": None,
    "base/to_dir": "-> dir",
    "base/to_file": "-> file",
    "base/to_empty": "-> empty",
    "base/to_to_empty": "-> to_empty",
    "base/broken": "-> nowhere",
    "base/outside": "-> ../over/taken",
    "base/deep/up": "-> ../dir",
    "base/taken": "3",
    "base/to_taken": "-> taken",
    "base/to_changed": "-> changed",
    "base/changed/x": "4",
    "over/taken": "9",
    "over/changed": "8",
    "over/over_link": "-> 42",
}


class Server:
    """Answers thin.link's questions from the file server."""

    def __init__(self, root: Path) -> None:
        self.files = FileServer({"file_roots": {"base": [str(root)]}, "fileserver_backend": ["roots"]})

    def tree(self, url: str, saltenv: str) -> Any:
        return tree(self.files, url.removeprefix("salt://"), saltenv)

    def file_digest(self, url: str, saltenv: str) -> str | None:
        found = self.files.find(url.removeprefix("salt://"), saltenv)
        return None if found is None else found.digest()


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    for name, what in TREE.items():
        path = tmp_path / name
        (path if what is None else path.parent).mkdir(parents=True, exist_ok=True)
        if what is not None and what.startswith("-> "):
            path.symlink_to(what[3:])
        elif what is not None:
            path.write_text(what)
    before = link.connect(Server(tmp_path))

    def planned(*sources: str, **options: Any) -> dict[str, Any]:
        made = trees.plan("/t", [f"salt://{one}" for one in sources], "base", merge=len(sources) > 1, **options)
        names = {"files": made.files, "directories": made.directories, "links": made.links}
        return {kind: sorted(os.path.relpath(name, "/t") for name in found) for kind, found in names.items()}

    yield planned
    link.connect(before)


def test_links_are_followed(plan: Callable[..., dict[str, Any]]) -> None:
    found = plan("base")
    assert found["links"] == [] and "to_dir/file" in found["files"] and "to_file" in found["files"]
    assert "broken" not in found["files"]
    assert {"to_empty", "to_to_empty", "empty"} <= set(plan("base", include_empty=True)["directories"])


def test_links_are_kept(plan: Callable[..., dict[str, Any]]) -> None:
    found = plan("base", keep_symlinks=True)
    kept = ["broken", "deep/up", "outside", "to_changed", "to_dir", "to_file", "to_taken"]
    assert found["links"] == kept  # links to an empty directory would be dangling
    assert found["files"] == ["changed/x", "dir/file", "file", "taken"]
    found = plan("base", keep_symlinks=True, include_empty=True)
    assert found["links"] == sorted([*kept, "to_empty", "to_to_empty"])
    assert "empty" in found["directories"] and "to_empty" not in found["directories"]


def test_the_first_source_wins(plan: Callable[..., dict[str, Any]]) -> None:
    for empty in (False, True):
        found = plan("over", "base", keep_symlinks=True, include_empty=empty)
        assert "over_link" in found["links"] and "to_taken" in found["links"]
        assert "changed" in found["files"] and "changed/x" not in found["files"]
        assert not {"to_changed"} & {*found["links"], *found["directories"]}  # a file was a directory before
    assert "to_changed/x" in plan("over", "base")["files"]
