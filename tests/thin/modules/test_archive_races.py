"""Root extracts, clones and cleans in a folder whose owner swaps in links: no other file is affected.

``PUSHSALT_RACE_ROUNDS`` is the number of rounds of each case (use 1000 by hand); without it, each case takes seconds.
Control tests race against code that works by paths, and must find damage: they show that the tests can fail.
"""

from __future__ import annotations

import io
import os
import random
import signal
import stat
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can work in folders of other users"),
]

ROUNDS = int(os.environ.get("PUSHSALT_RACE_ROUNDS", "0"))
SECONDS = 2.5
NOBODY = 65534
#: names that the user swaps, below the folder; root creates those that begin with a dot
NAMES = ["d", "d/sub", "d/x", "d/sub/y", "app", "venv"]


class Arena:
    """``top`` belongs to the user; ``canary`` belongs to root and has the same names."""

    def __init__(self, base: Path, make_loaders: Callable[..., Any]) -> None:
        base.chmod(0o755)
        for folder in base.parents:
            if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o011)
        self.top, self.canary, self.base = base / "top", base / "canary", base
        (self.canary / "d/sub").mkdir(parents=True)
        for name in ("app", "venv"):
            (self.canary / name).mkdir()
        for name in ("d/x", "d/sub/y", "shadow", "app/kept", "venv/kept"):
            (self.canary / name).write_text("of root\n")
            (self.canary / name).chmod(0o600)
        self.top.mkdir()
        os.chown(self.top, NOBODY, NOBODY)
        self.loaders = make_loaders(opts={"cachedir": str(base / "cache")}, extra={"__env__": "base"})
        self.before = self.snapshot()
        self.archives()

    def archives(self) -> None:
        """Create archives with a directory that is a member, and one that is not."""
        members = {"d/x": b"new\n", "d/sub/y": b"new\n", "f": b"new\n"}
        with tarfile.open(self.base / "a.tar", "w") as tar, zipfile.ZipFile(self.base / "a.zip", "w") as archive:
            info = tarfile.TarInfo("d")
            info.type, info.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(info)
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size, info.mode, info.uid, info.gid = len(data), 0o666, NOBODY, NOBODY
                tar.addfile(info, io.BytesIO(data))
                plain = zipfile.ZipInfo(name)
                plain.external_attr = (stat.S_IFREG | 0o666) << 16
                archive.writestr(plain, data)

    def snapshot(self) -> dict[str, Any]:
        properties = {}
        for path in sorted([self.canary, *self.canary.rglob("*")]):
            st = path.lstat()
            content = path.read_text() if stat.S_ISREG(st.st_mode) else ""
            properties[str(path.relative_to(self.canary))] = (st.st_mode, st.st_uid, st.st_gid, st.st_nlink, content)
        return properties

    def harm(self) -> str:
        now = self.snapshot()
        for path in sorted(set(now) | set(self.before)):
            if now.get(path) != self.before.get(path):
                return f"{path}: {self.before.get(path)} is {now.get(path)}"
        return ""

    def restore(self) -> None:
        subprocess.run(["rm", "-rf", str(self.top)], check=True)
        self.top.mkdir()
        os.chown(self.top, NOBODY, NOBODY)

    @contextmanager
    def racing(self) -> Iterator[None]:
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.chdir(self.top)
                self.swap_forever()
            finally:
                os._exit(1)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def swap_forever(self) -> None:
        """Swap as fast as possible, without end."""
        while True:
            os.chdir(self.top)
            fresh = [name for name in os.listdir(".") if name.startswith(".") and not name.endswith(".was")]
            for name in [random.choice(NAMES), *fresh]:
                with suppress(OSError):
                    self.swap(name)

    def swap(self, name: str) -> None:
        aside, target = name + ".was", self.canary / ("" if name.startswith(".") else name)
        with suppress(OSError):
            os.rename(name, aside)
        os.symlink(target, name)
        time.sleep(random.choice([0, 0, 0.0001, 0.002]))
        os.unlink(name)
        if random.random() < 0.8:
            with suppress(OSError):
                os.rename(aside, name)
        elif os.path.isdir(aside):
            os.mkdir(name)  # a new folder of the user; root continues in the moved one

    def rounds(self, work: Callable[[], Any]) -> tuple[int, int]:
        """(rounds, number of rounds that succeeded)."""
        count = succeeded = 0
        start = time.monotonic()
        while count < ROUNDS if ROUNDS else time.monotonic() - start < SECONDS:
            if count % 5 == 0:
                self.restore()
            with self.racing():
                for _ in range(5):
                    succeeded += bool(work())
                    count += 1
            assert not self.harm(), f"round {count}: {self.harm()}"
        return count, succeeded


@pytest.fixture
def arena(tmp_path: Path, make_loaders: Callable[..., Any]) -> Arena:
    return Arena(tmp_path, make_loaders)


def extracted(arena: Arena, source: str, **kwargs: Any) -> bool:
    arguments = {"enforce_toplevel": False, "overwrite": True, "force": True, **kwargs}
    ret = arena.loaders.states["archive.extracted"](name=str(arena.top), source=str(arena.base / source), **arguments)
    assert ret["result"] in (True, False), ret
    return ret["result"] is True


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "tar": ("a.tar", {}),
    "tar with options": ("a.tar", {"options": "--no-same-owner"}),
    "tar and owners": ("a.tar", {"user": "nobody", "group": "root"}),
    "tar after a clean": ("a.tar", {"clean": True, "user": "root"}),
    "zip": ("a.zip", {"user": "nobody"}),
    "zip by its program": ("a.zip", {"use_cmd_unzip": True}),
}


@pytest.mark.timeout(3000 if ROUNDS else 120)
@pytest.mark.parametrize("method", METHODS)
def test_archives_are_extracted_only_into_their_folder(arena: Arena, method: str) -> None:
    source, options = METHODS[method]
    count, succeeded = arena.rounds(lambda: extracted(arena, source, **options))
    print(f"{method}: {count} rounds, {succeeded} succeeded")
    assert succeeded
    assert not [path for path in arena.base.rglob("*") if path.name.startswith(".pushsalt") and path.is_file()]


@pytest.mark.timeout(3000 if ROUNDS else 120)
def test_repositories_are_cloned_only_into_their_folder(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "x@y")
    monkeypatch.setenv("HOME", str(arena.base))
    script = "git init -q o && cd o && mkdir d && echo x > d/x && echo new > kept && git add -A && git commit -qm 1"
    subprocess.run(script, shell=True, cwd=arena.base, check=True)

    def work() -> bool:
        from thin.exceptions import CommandExecutionError

        try:
            arena.loaders.modules["git.clone"](str(arena.top / "app"), str(arena.base / "o"), ignore_retcode=True)
            arena.loaders.modules["git.reset"](str(arena.top / "app"), opts="--hard", ignore_retcode=True)
            return True
        except CommandExecutionError:
            return False
        finally:
            subprocess.run(["rm", "-rf", "--", *arena.top.glob("app*")], check=False)

    print(arena.rounds(work))


@pytest.mark.timeout(3000 if ROUNDS else 120)
def test_only_a_failed_environment_is_removed(arena: Arena) -> None:
    """``virtualenv`` removes its folder after a program that created it and failed."""
    program = arena.base / "virtualenv"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo 20.0.0 && exit\n'
        'for path; do :; done; mkdir -p "$path/bin"; echo > "$path/bin/python"; exit 1\n'
    )
    program.chmod(0o755)

    def work() -> bool:
        path = arena.top / "venv"
        subprocess.run(["rm", "-rf", "--", path], check=False)
        arena.loaders.modules["virtualenv.create"](str(path), venv_bin=str(program))
        return not path.exists()

    # the program itself follows links, and creates these files through one
    for name in ("bin", "bin/python"):
        path = arena.canary / "venv" / name
        path.mkdir() if name == "bin" else path.write_text("\n")
    arena.before = arena.snapshot()
    print(arena.rounds(work))


def control(arena: Arena, work: Callable[[], Any]) -> None:
    """The same race causes damage if the code works by paths."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        arena.restore()
        with arena.racing():
            for _ in range(10):
                with suppress(OSError):
                    work()
        if arena.harm():
            return
    pytest.fail("no damage: the race does not test anything")


def test_control_tar_by_a_path(arena: Arena) -> None:
    command = ["tar", "-xpf", str(arena.base / "a.tar"), "-C", str(arena.top)]
    control(arena, lambda: subprocess.run(command, stderr=subprocess.DEVNULL, check=False))


def test_control_a_stage_by_its_path(arena: Arena) -> None:
    """A private folder does not suffice: the owner of its parent can move it away."""

    def work() -> None:
        stage = arena.top / f".pushsalt-extract-{os.urandom(4).hex()}"
        stage.mkdir(mode=0o700)
        subprocess.run(
            ["tar", "-xpf", str(arena.base / "a.tar"), "-C", str(stage)], stderr=subprocess.DEVNULL, check=False
        )

    control(arena, work)


def test_control_owners_by_paths(arena: Arena) -> None:
    def work() -> None:
        (arena.top / "d/sub").mkdir(parents=True, exist_ok=True)
        (arena.top / "d/sub/y").touch()
        for folder, folders, files in os.walk(arena.top):
            for name in folders + files:
                os.chown(os.path.join(folder, name), NOBODY, NOBODY)

    control(arena, work)
