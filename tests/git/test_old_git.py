"""A git that is too old is an error that says so, before it contacts a server.

A stand-in in PATH represents the old git: it reports the old version, refuses options that git 1.8.3 lacks with the
same exit codes (unknown options: usage, code 129; ``-c key=`` with an empty value: code 128), and calls this machine's
git otherwise.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pushsalt.git import GitError
from pushsalt.git.mirror import Mirror
from pushsalt.git.process import OldGitError
from pushsalt.git.settings import gitfs_remotes

UNKNOWN = (
    "--no-write-fetch-head --no-auto-maintenance --symref --end-of-options --object-format* --filter* --stdin "
    "--no-show-signature -k --missing* --no-object-names --exclude-promisor-objects"
).replace(" ", "|")
STAND_IN = """#!/bin/sh
echo "$*" >>{log}
[ "$1" = --version ] && {{ echo "{says}"; exit; }}
if [ {old} = yes ]; then
    for word in "$@"; do
        case $word in
        core.askPass=|credential.helper=)
            echo "error: Missing value for '${{word%=}}'" >&2; echo "fatal: unable to parse command-line config" >&2
            exit 128 ;;
        {unknown}) echo "error: unknown option \\`${{word#--}}'" >&2; echo "usage: git fetch" >&2; exit 129 ;;
        esac
    done
fi
exec {git} "$@"
"""


class Git:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.log, self.real = folder, folder / "log", shutil.which("git")
        self.folder.mkdir()
        self.before, self.monkeypatch = os.environ["PATH"], monkeypatch

    def says(self, words: str, old: bool = True) -> None:
        path = self.folder / "git"
        path.write_text(
            STAND_IN.format(log=self.log, says=words, old="yes" if old else "no", unknown=UNKNOWN, git=self.real)
        )
        path.chmod(0o755)
        self.log.write_text("")
        self.monkeypatch.setenv("PATH", f"{self.folder}:{self.before}")

    def asked(self) -> list[str]:
        """Its calls that contacted a server."""
        return [line for line in self.log.read_text().splitlines() if " fetch " in line or " ls-remote " in line]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    return Git(tmp_path / "bin", monkeypatch)


@pytest.mark.parametrize("version", ["1.8.3.1", "1.8.3", "2.3.0", "2.28.0", "2.28.0.rc1"])
def test_an_old_git_is_an_error_that_names_the_version(
    repo: Any, serve: Any, git: Git, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = repo({"a": "1"})
    git.says(f"git version {version}")
    said = f"this machine has git {version}; pushsalt needs git >= 2.29 for git remotes"
    with pytest.raises(GitError) as caught:
        serve(one).read("a")
    assert f"{one.url} has never been fetched: {said}; install git 2.29 or newer" in caught.value.message
    assert f"git: {one.url} cannot be fetched: {said} (install git" in caplog.text
    assert set(git.log.read_text().splitlines()) == {"--version"}


@pytest.mark.parametrize(
    "words", ["git version 2.29.0", "git version 2.39.5 (Apple Git-154)", "git version 3.0.GIT", "git version next", ""]
)
def test_others_are_taken(repo: Any, serve: Any, git: Git, words: str) -> None:
    git.says(words, old=False)
    assert serve(repo({"a": "1"})).read("a") == b"1" and git.asked()


def test_a_copy_that_is_there_is_not_read_by_it(
    repo: Any, serve: Any, git: Git, caplog: pytest.LogCaptureFixture
) -> None:
    one = repo({"a": "1"})
    assert serve(one).read("a") == b"1"
    git.says("git version 1.8.3.1")
    for more in ({}, {"gitfs_update_interval": 600}):  # it is due, and not fetched
        with pytest.raises(GitError, match=r"git 1\.8\.3\.1; pushsalt needs git >= 2\.29"):
            serve(one, **more).read("a")
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"git: {one.url} cannot be fetched: this machine has git 1.8.3.1;") and "is used" not in said
    assert set(git.log.read_text().splitlines()) == {"--version"}


@pytest.mark.parametrize(
    "call",
    [
        lambda mirror: mirror.head_branch(),
        lambda mirror: mirror.update(),
        lambda mirror: mirror.update(wanted="1" * 40),
    ],
)
def test_nothing_is_asked_of_a_server(repo: Any, git: Git, tmp_path: Path, call: Callable[[Mirror], object]) -> None:
    one = repo({"a": "1"})
    [remote] = gitfs_remotes({"gitfs_remotes": [one.url]})
    git.says("git version 1.8.3.1")
    with pytest.raises(OldGitError, match=r"pushsalt needs git >= 2\.29"):
        call(Mirror(tmp_path / "cache", remote))
    assert set(git.log.read_text().splitlines()) <= {"--version"} and not list((tmp_path / "cache").glob("git/*/*.git"))


def test_a_newer_git_put_in_its_place_is_seen(repo: Any, serve: Any, git: Git) -> None:
    one = repo({"a": "1"})
    git.says("git version 1.8.3.1")
    with pytest.raises(GitError, match="pushsalt needs git"):
        serve(one).read("a")
    path = git.folder / "git"
    changed = path.stat().st_mtime_ns
    git.says("git version 2.43.0", old=False)
    os.utime(path, ns=(changed + 1, changed + 1))
    assert serve(one).read("a") == b"1"
