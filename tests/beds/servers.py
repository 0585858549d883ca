"""Servers of Debian packages in a root of their own, without booting it: namespaces and chroot, removed afterwards.

The installation of the packages takes long; it is kept between runs.
"""

from __future__ import annotations

import ast
import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.beds.steps import HERE, THIN
from tests.differential.layers import lower_dirs

#: the first process of the namespace: it starts the servers, then waits until it is killed together with them
_ENTER = """
ip link set lo up
mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; mount -t tmpfs tmpfs "$1/run"; mount -t tmpfs tmpfs "$1/tmp"
exec chroot "$1" sh -c "$2
echo ready
exec sleep infinity"
"""
_NAMESPACES = ["--mount", "--pid", "--net", "--ipc", "--uts"]


class Root:
    """A root with running servers: ``shell`` runs a command in it, ``take`` steps (``tests/beds/steps.py``)."""

    def __init__(self, root: Path, leader: int) -> None:
        self.root, self._leader = root, leader

    def shell(self, command: str, *, check: bool = True) -> str:
        entering = ["nsenter", f"--target={self._leader}", *_NAMESPACES, "chroot", str(self.root), "sh", "-c", command]
        done = subprocess.run(
            entering, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, env=ENV
        )
        if check and done.returncode:
            raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def take(self, steps: Sequence[dict[str, Any]]) -> list[Any]:
        """Run the steps; returns the outcome of each."""
        asked = [{key: value for key, value in step.items() if key not in ("want", "because")} for step in steps]
        (self.root / "opt/steps/asked").write_text(repr(asked), encoding="utf-8")
        text = self.shell("cd / && python3 -I -S /opt/steps/run_steps.py < /opt/steps/asked 2> /opt/steps/errors")
        came: list[Any] = ast.literal_eval(text.split("@@@", 1)[1])
        return came


ENV = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}


@contextlib.contextmanager
def servers(packages: list[str], start: str) -> Iterator[Root]:
    """A root with these packages. ``start`` (sh) has started its servers and waited for them."""
    lower = lower_dirs(packages)
    work = Path(tempfile.mkdtemp(prefix="pushsalt-servers-"))
    for name in ("upper", "work", "merged"):
        (work / name).mkdir()
    options = f"lowerdir={':'.join(map(str, lower))},upperdir={work}/upper,workdir={work}/work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(work / "merged")], check=True)
    root = work / "merged"
    try:
        place = root / "opt" / "steps"
        place.mkdir(parents=True)
        shutil.copy(HERE / "run_steps.py", place)
        shutil.copytree(THIN, place / "thin", ignore=shutil.ignore_patterns("__pycache__"))
        with _started(root, start) as leader:
            yield Root(root, leader)
    finally:
        subprocess.run(["umount", str(root)], check=True)
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _started(root: Path, start: str) -> Iterator[int]:
    inside = ["sh", "-c", _ENTER, "sh", str(root), f"set -e\n{start}"]
    command = ["unshare", *_NAMESPACES, "--fork", "--kill-child", *inside]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV
    ) as unshare:
        assert unshare.stdout is not None
        said = []
        try:
            for line in unshare.stdout:
                if line == "ready\n":
                    break
                said.append(line)
            else:
                raise RuntimeError(f"the servers did not start:\n{''.join(said)[-4000:]}")
            yield _child(unshare.pid)
        finally:
            unshare.kill()


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])


def missing() -> str:
    """The reason why this machine cannot make such roots, or an empty text."""
    from tests.beds import machines

    tools = [tool for tool in ("unshare", "nsenter", "mount") if not shutil.which(tool)]
    return machines.missing() or (f"not installed: {', '.join(tools)}" if tools else "")
