"""The git repository of a project: revisions by name, and the files of a commit in a folder of their own.

Objects are read by their hash, so no program of the repository is run, neither hooks nor filters. Files of Git LFS are
read as git stores them, which is as pointers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pushsalt.errors import UsageError
from pushsalt.git import GitError
from pushsalt.git.objects import LINK, SUBMODULE, TREE, Objects
from pushsalt.git.process import git_argv, run

#: Maximum size in bytes of a file of a commit.
_LARGEST: Final = 256 * 1024 * 1024
_COMMIT: Final = re.compile(rb"[0-9a-f]{40,64}\Z")


@dataclass(frozen=True)
class Repository:
    """``top``: the folder of its working tree; ``git_dir``: where git keeps its own files."""

    top: Path
    git_dir: Path

    @classmethod
    def around(cls, folder: Path) -> Repository | None:
        """The repository that contains a folder; None if there is none."""
        for place in (folder, *folder.parents):
            git = place / ".git"
            if git.is_dir():
                return cls(place, git)
            if git.is_file():  # of a worktree, or a submodule
                return cls(place, place / git.read_text().partition("gitdir:")[2].strip())
        return None

    @property
    def is_shallow(self) -> bool:
        common = self.git_dir / "commondir"
        home = self.git_dir / common.read_text().strip() if common.is_file() else self.git_dir
        return (home / "shallow").is_file()

    def commit(self, revision: str) -> str:
        """The hash of the commit that a revision names. Raises UsageError if there is none."""
        oid = self.find(revision)
        if oid is not None:
            return oid
        text = f"there is no revision {revision!r} in {self.top}"
        if self.is_shallow:
            hint = "the clone is shallow: `git fetch --unshallow` (in a CI: fetch-depth: 0), or fetch that revision"
            raise UsageError(text, hint=hint)
        raise UsageError(text, hint="name a branch, a tag or a commit as `git log` shows it")

    def find(self, revision: str) -> str | None:
        """As ``commit``; None if there is none. Raises UsageError where git cannot be run."""
        if not revision or revision.startswith("-") or any(char in revision for char in "\0\n\r"):
            return None
        argv = git_argv(f"--git-dir={self.git_dir}", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        try:
            done = run(argv)
        except GitError as exc:
            raise UsageError(f"git cannot be asked for {revision!r}: {exc.message}", hint=exc.hint) from None
        out = done.out.strip()
        return out.decode() if done.code == 0 and _COMMIT.match(out) else None

    def write(self, commit: str, folder: Path) -> list[str]:
        """Write the files of a commit into an empty folder. Returns the paths of submodules, which are left out.

        Raises UsageError for a commit that cannot be read.
        """
        objects = Objects(self.git_dir)
        try:
            tree = objects.commit_tree(commit)
            if tree is None:
                raise UsageError(f"the commit {commit[:12]} cannot be read", hint="`git fsck` says what is damaged")
            return list(_written(objects, tree, folder))
        except GitError as exc:
            raise UsageError(f"the commit {commit[:12]} cannot be read: {exc.message}", hint=exc.hint) from None
        finally:
            objects.close()


def _written(objects: Objects, tree: str, folder: Path) -> Iterator[str]:
    """Write what is below a tree; links last, so that nothing is written through one. Yields submodules."""
    links: list[tuple[str, str]] = []
    for path, entry in objects.walk(tree):
        if ".git" in path.lower().split("/"):
            continue
        place = folder / path
        if entry.mode == TREE:
            place.mkdir(mode=0o700)
        elif entry.mode == SUBMODULE:
            place.mkdir(mode=0o700)
            yield path
        elif entry.mode == LINK:
            links.append((path, entry.oid))
        else:
            mode = 0o755 if entry.mode & 0o100 else 0o644
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(objects.blob(entry.oid, _LARGEST) or b"")
            place.chmod(mode)
    for path, oid in links:
        (folder / path).symlink_to(os.fsdecode(objects.blob(oid, 4096) or b"?"))


@contextmanager
def written(repository: Repository, commit: str, cache: Path) -> Iterator[tuple[Path, list[str]]]:
    """(a private folder with the files of a commit, paths of submodules); it is removed at the end."""
    import shutil
    import tempfile

    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="impact-", dir=cache))
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="pushsalt-impact-"))
    try:
        yield folder, repository.write(commit, folder)
    except OSError as exc:
        text = f"the files of {commit[:12]} cannot be written to {folder}: {exc.strerror or exc}"
        raise UsageError(text, hint="make room there, or name another --cache-dir") from exc
    finally:
        shutil.rmtree(folder, ignore_errors=True)
