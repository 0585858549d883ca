"""Beds of race tests: root works in a folder of the user nobody, who swaps in links to files that must not change.

``Arena`` has the folder ``top`` of the user nobody, and a canary tree of root with the same names, so that every
misdirected path leads to a canary. ``Steps`` swaps before the nth system call of a function (exactly, by an audit
hook), ``Racer`` is a process of that user that swaps as fast as possible.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.thin.filebed import Bed
from thin import link

NOBODY = 65534
SECRET = "root:$6$secret-of-the-canary"
#: the content of a user's folder and of the canary: a name with a slash at its end is a folder
NAMES = [
    "f",
    "g",
    "d/",
    "d/f",
    "d/x",
    "tree/",
    "tree/a",
    "tree/sub/",
    "tree/sub/b",
    "tree/sub/deep/",
    "tree/sub/deep/c",
    ".ssh/",
    ".ssh/authorized_keys",
    ".ssh/known_hosts",
    "bin/",
    "bin/s",
]


class Arena:
    """The folders and the canary; ``harm()`` describes changes of the canary."""

    def __init__(self, base: Path) -> None:
        os.chmod(base, 0o755)
        self.bed = Bed(base / "bed")
        self.top = Path(self.bed.target)
        self.out = base / "out"
        self.canary = base / "canary"
        self.out.mkdir(mode=0o700)
        fill(self.canary, SECRET + "\n", 0)
        for folder, _, files in os.walk(self.canary):
            os.chmod(folder, 0o700)
            for name in ["shadow", *files, *(plain.strip("/").rpartition("/")[2] for plain in NAMES)]:
                if not os.path.isdir(os.path.join(folder, name)):
                    Path(folder, name).write_text(SECRET + "\n")
                    os.chmod(os.path.join(folder, name), 0o600)
        for name in ("a", "sub/b", "sub/deep/c", "f"):
            self.bed.source(f"served/{name}", f"served {name}\n")
        fill(base / "mine", "of root\n", 0)
        self.mine = base / "mine"
        self.before = snapshot(self.canary)
        self.reset()

    def reset(self) -> None:
        """Restore the user's folder."""
        for folder in (self.top, self.out):
            wipe(folder)
        fill(self.top, "theirs\n", NOBODY)

    def harm(self) -> str:
        """The changes of the canary, or which file contains its secret; "" for none."""
        now = snapshot(self.canary)
        for path in sorted(set(now) | set(self.before)):
            if now.get(path) != self.before.get(path):
                return f"{path}: {self.before.get(path)} is {now.get(path)}"
        for top in (self.top, self.out):
            for folder, _, files in os.walk(top):
                for name in files:
                    path = os.path.join(folder, name)
                    if stat.S_ISREG(os.lstat(path).st_mode) and SECRET in Path(path).read_text("latin-1"):
                        return f"{path} holds what only root may read"
        return ""

    def swap(self, name: str) -> bool:
        """Replace a name by the user's link to the canary; False if that user could not."""
        path = self.top / name
        parent = path.parent
        if os.path.realpath(parent) != str(parent) or not parent.is_dir() or os.lstat(parent).st_uid != NOBODY:
            return False
        if os.path.islink(path):
            return False
        folder = name + "/" in NAMES
        if os.path.lexists(path):
            os.rename(path, f"{path}.was")
        os.symlink(self.canary / name if folder else self.canary / "shadow", path)
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        return True

    def swap_back(self, name: str) -> None:
        path = self.top / name
        if os.path.islink(path):
            os.unlink(path)
        if os.path.lexists(f"{path}.was") and not os.path.lexists(path):
            os.rename(f"{path}.was", path)


def fill(top: Path, text: str, uid: int) -> None:
    """Create all NAMES in a folder."""
    top.mkdir(exist_ok=True)
    for name in NAMES:
        path = top / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_text(text)
        os.chown(path, uid, uid)
    os.chown(top, uid, uid)


def wipe(top: Path) -> None:
    for folder, folders, files in os.walk(top, topdown=False):
        for name in files + folders:
            path = os.path.join(folder, name)
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def snapshot(top: Path) -> dict[str, Any]:
    """{path: properties that must not change} of a tree."""
    properties = {}
    for folder, folders, files in os.walk(top):
        for path in [folder, *(os.path.join(folder, name) for name in folders + files)]:
            st = os.lstat(path)
            content = Path(path).read_bytes() if stat.S_ISREG(st.st_mode) else None
            properties[os.path.relpath(path, top)] = (
                st.st_uid,
                st.st_gid,
                oct(st.st_mode),
                st.st_nlink,
                st.st_ctime_ns,
                content,
            )
    return properties


class Steps:
    """System calls that Python reports before it makes them."""

    EVENTS = frozenset(
        (
            "open",
            "os.chmod",
            "os.chown",
            "os.link",
            "os.listdir",
            "os.mkdir",
            "os.remove",
            "os.rename",
            "os.rmdir",
            "os.scandir",
            "os.symlink",
            "os.utime",
        )
    )
    act: Callable[[int], None] | None = None
    count = 0
    hooked = False
    top = "/"

    @classmethod
    def _hook(cls, event: str, args: tuple[object, ...]) -> None:
        if cls.act is not None and event in cls.EVENTS and not (event == "open" and cls._above(args[0])):
            act, cls.act = cls.act, None
            cls.count += 1
            try:
                act(cls.count)
            finally:
                cls.act = act

    @classmethod
    def _above(cls, path: object) -> bool:
        """Whether a step is on the way to the user's folder or concerns another file.

        A swap before it has the effect of a swap before the next step.
        """
        if not isinstance(path, str):
            return False
        return not path.startswith(cls.top) if path.startswith("/") else path in cls.top.split("/")

    @classmethod
    @contextmanager
    def watched(cls, top: Path, act: Callable[[int], None]) -> Iterator[None]:
        """Call ``act(number)`` before each system call that concerns ``top``."""
        if not cls.hooked:
            sys.addaudithook(cls._hook)
            cls.hooked = True
        cls.count, cls.act, cls.top = 0, act, str(top)
        try:
            yield
        finally:
            cls.act = None


class Racer:
    """A process of the user nobody that swaps names of its folder, until the ``with`` ends."""

    def __init__(self, arena: Arena, names: list[str]) -> None:
        self.arena = arena
        self.names = names

    def __enter__(self) -> Racer:
        self.pid = os.fork()
        if not self.pid:
            try:
                os.chdir(self.arena.top)
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                while os.getppid() != 1:
                    for name in self.names:
                        self._once(name)
            finally:
                os._exit(0)
        return self

    def __exit__(self, *exc: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def harm(self) -> str:
        """``Arena.harm()`` while the racer is paused."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)
        try:
            return self.arena.harm()
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def _once(self, name: str) -> None:
        canary = self.arena.canary
        if name + "/" in NAMES:
            self._try(os.rename, name, ".was")
            self._try(os.symlink, canary / name, name)
            self._wait()
            self._try(os.unlink, name)
            self._try(os.rename, ".was", name)
            if not os.path.lexists(name):
                for inner in NAMES:
                    if inner.startswith(name + "/"):
                        if inner.endswith("/"):
                            self._try(os.makedirs, inner)
                        else:
                            self._try(self._write_file, inner)
        else:
            self._try(os.symlink, canary / "shadow", ".link")
            self._try(os.rename, ".link", name)
            self._wait()
            self._try(self._write_file, name)
        self._wait()

    @staticmethod
    def _write_file(name: str) -> None:
        with open(".honest", "w") as target:
            target.write("theirs\n")
        os.rename(".honest", name)

    @staticmethod
    def _try(function: Callable[..., object], *args: object) -> None:
        try:
            function(*args)
        except OSError:
            pass

    @staticmethod
    def _wait() -> None:
        until = time.perf_counter() + random.random() * 0.0003
        while time.perf_counter() < until:
            pass


@contextmanager
def folder(other: Path) -> Iterator[Path]:
    """A folder in memory if possible, since its content need not reach a disk."""
    if not os.access("/dev/shm", os.W_OK):
        yield other
        return
    path = Path(tempfile.mkdtemp(prefix="pushsalt-race-", dir="/dev/shm"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextmanager
def arena(base: Path) -> Iterator[Arena]:
    arena = Arena(base)
    before, umask = link.connect(arena.bed.link), os.umask(0o022)
    try:
        yield arena
    finally:
        os.umask(umask)
        link.connect(before)
