"""What the record keeps of the project that a job ran in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pushsalt.run.projectstate import revision_of


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for words in (
        ["init", "-q"],
        ["config", "user.email", "t@example.com"],
        ["config", "user.name", "t"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "a").write_text("1\n")
    (folder / ".gitattributes").write_text("a filter=own\n")
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "x"], cwd=folder, check=True)
    return folder


def test_the_revision_and_whether_the_folder_is_changed(repository: Path) -> None:
    found = revision_of(repository)
    assert found is not None and len(found["revision"]) == 40 and found["dirty"] is False
    (repository / "a").write_text("2\n")
    found = revision_of(repository)
    assert found is not None and found["dirty"] is True


@pytest.mark.parametrize("name", ["own", "o=n"])
@pytest.mark.parametrize("kind", ["clean", "process"])
def test_no_program_of_the_repository_is_run(repository: Path, tmp_path: Path, name: str, kind: str) -> None:
    if name != "own":
        (repository / ".gitattributes").write_text(f"a filter={name}\n")
    ran = tmp_path / "ran"
    with (repository / ".git" / "config").open("a") as file:
        file.write(f'[filter "{name}"]\n\t{kind} = touch {ran}; cat\n\trequired = true\n')
    (repository / "a").write_text("2\n")
    os.utime(repository / "a", (1, 1))
    found = revision_of(repository)
    assert found is not None and len(found["revision"]) == 40
    assert not ran.exists()
