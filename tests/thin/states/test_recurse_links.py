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
        file = self.files.find(url.removeprefix("salt://"), saltenv)
        return None if file is None else file.digest()


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    for name, content in TREE.items():
        path = tmp_path / name
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None and content.startswith("-> "):
            path.symlink_to(content[3:])
        elif content is not None:
            path.write_text(content)
    before = link.connect(Server(tmp_path))

    def relative_plan(*sources: str, **options: Any) -> dict[str, Any]:
        plan = trees.plan("/t", [f"salt://{source}" for source in sources], "base", merge=len(sources) > 1, **options)
        paths = {"files": plan.files, "directories": plan.directories, "links": plan.links}
        return {kind: sorted(os.path.relpath(path, "/t") for path in paths[kind]) for kind in paths}

    yield relative_plan
    link.connect(before)


def test_links_are_followed_by_default(plan: Callable[..., dict[str, Any]]) -> None:
    planned = plan("base")
    assert planned["links"] == [] and "to_dir/file" in planned["files"] and "to_file" in planned["files"]
    assert "broken" not in planned["files"]
    assert {"to_empty", "to_to_empty", "empty"} <= set(plan("base", include_empty=True)["directories"])


def test_links_are_created_with_keep_symlinks(plan: Callable[..., dict[str, Any]]) -> None:
    planned = plan("base", keep_symlinks=True)
    links = ["broken", "deep/up", "outside", "to_changed", "to_dir", "to_file", "to_taken"]
    assert planned["links"] == links  # links to an empty directory would be dangling
    assert planned["files"] == ["changed/x", "dir/file", "file", "taken"]
    planned = plan("base", keep_symlinks=True, include_empty=True)
    assert planned["links"] == sorted([*links, "to_empty", "to_to_empty"])
    assert "empty" in planned["directories"] and "to_empty" not in planned["directories"]


def test_the_first_source_has_precedence(plan: Callable[..., dict[str, Any]]) -> None:
    for empty in (False, True):
        planned = plan("over", "base", keep_symlinks=True, include_empty=empty)
        assert "over_link" in planned["links"] and "to_taken" in planned["links"]
        assert "changed" in planned["files"] and "changed/x" not in planned["files"]
        assert not {"to_changed"} & {
            *planned["links"],
            *planned["directories"],
        }  # the first source has a file with the name of the directory
    assert "to_changed/x" in plan("over", "base")["files"]
