"""A temporary copy of this machine's root, in which functions that are declared as reading are called (see
``run_reads``).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.beds.steps import HERE, THIN

#: Separate namespaces: the root below a temporary layer, no network, and only harmless devices.
_ROOM = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mkdir -p root/opt/reads
mount -t tmpfs tmpfs root/opt/reads
mkdir root/opt/reads/upper root/opt/reads/lower
mount --bind upper root/opt/reads/upper
mount --bind / root/opt/reads/lower
mount -o remount,bind,ro root/opt/reads/lower
mount -t proc proc root/proc
mount --bind root/proc/sys root/proc/sys
mount -o remount,bind,ro root/proc/sys
mount -t sysfs -o ro sysfs root/sys
mount -t tmpfs tmpfs root/dev
for each in "null 1 3" "zero 1 5" "random 1 8" "urandom 1 9" "tty 5 0"; do
    set -- "$1" $each; mknod -m 666 "root/dev/$2" c "$3" "$4"
done
cp -r "$COPIED"/. root/opt/reads
exec chroot root "$PYTHON" -I /opt/reads/run_reads.py
"""


def python() -> str | None:
    """A Python on the file system of the root."""
    for path in (os.path.realpath(sys.executable), shutil.which("python3", path="/usr/bin")):
        if path and os.stat(path).st_dev == os.stat("/").st_dev:
            return path
    return None


def missing() -> str:
    """The reason why this machine cannot make such a root, or an empty text."""
    if os.geteuid() != 0:
        return "only root can mount"
    filesystems = Path("/proc/filesystems")
    if not shutil.which("unshare") or not filesystems.exists() or "overlay" not in filesystems.read_text():
        return "no namespaces, or no overlayfs"
    return "" if python() else "no Python on the root's file system"


def call(asked: dict[str, Any], seconds: float) -> list[list[Any]]:
    """``[module, function, outcome of each call, paths that changed]`` of each function, in order."""
    with tempfile.TemporaryDirectory(prefix="pushsalt-reads-") as work:
        copied, place = Path(work, "copied"), Path(work, "place")
        place.mkdir()
        shutil.copytree(THIN, copied / "thin", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(HERE / "run_reads.py", copied)
        (copied / "calls.json").write_text(json.dumps(asked))
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts"]
        done = subprocess.run(
            [*apart, "sh", "-c", _ROOM, "sh", str(place)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={
                "PATH": os.environ["PATH"],
                "HOME": "/root",
                "LC_ALL": "C.UTF-8",
                "COPIED": str(copied),
                "PIP_RETRIES": "0",
                "PIP_DEFAULT_TIMEOUT": "1",
                "PYTHON": str(python()),
            },
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
