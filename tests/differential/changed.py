"""Files of a machine that changed since a point in time: the upper folder of its overlay is read before and after."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

#: paths that are not compared, with the reason
LEFT_OUT = {
    # different on each side
    "/var/cache/salt": "Salt's own cache",
    "/etc/salt/pki": "Salt's own keys",
    "/etc/salt/minion_id": "Salt's own",
    "/var/run/salt": "Salt's own sockets",
    "/var/log/salt": "Salt's own log",
    "/opt/pushsalt": "pushsalt's own runtime",
    "/srv/reference": "what the bed mounts",
    "/srv/repository": "what the bed mounts",
    "/srv/roots": "what the bed mounts",
    # they contain times, or a history instead of a state
    "/var/log": "logs",
    "/run": "runtime state, which does not survive a reboot; `look` can show it",
    "/proc": "the kernel's",
    "/sys": "the kernel's",
    "/dev": "devices",
    "/var/lib/systemd/random-seed": "random",
    "/var/lib/systemd/timers": "when timers ran",
    "/var/lib/systemd/timesync": "when the clock was set",
    "/var/lib/systemd/linger": "logins",
    "/var/lib/private": "services' own",
    "/var/lib/logrotate": "when logs were rotated",
    "/var/tmp/systemd-private-*": "random names of services",
    "/tmp/systemd-private-*": "random names of services",
    "/root/.cache": "caches of commands",
    "/var/cache/apt": "apt's caches",
    "/var/lib/apt/lists": "apt's indexes: the repository is one and the same",
    "/var/lib/apt/periodic": "when apt ran",
    "/var/cache/ldconfig": "ldconfig's cache: inode numbers and times",
    "/var/cache/man": "man's index",
    "/var/cache/debconf/*-old": "the state before the last change, however many there were",
    "/var/lib/dpkg/*-old": "the state before the last change, however many there were",
    "/var/lib/dpkg/lock*": "locks",
    "/etc/.pwd.lock": "a lock",
    "/etc/passwd-": "the state before the last change, however many there were",
    "/etc/group-": "the state before the last change, however many there were",
    "/etc/shadow-": "the state before the last change, however many there were",
    "/etc/gshadow-": "the state before the last change, however many there were",
    "/etc/subuid-": "the state before the last change, however many there were",
    "/etc/subgid-": "the state before the last change, however many there were",
    "*/__pycache__": "compiled when a module was first imported",
    "*.pyc": "compiled when a module was first imported",
}


class Entry(NamedTuple):
    """The compared properties of a path; ``content`` is a file's digest, a link's target, or a device's number."""

    kind: str
    mode: str
    owner: str
    content: str
    attributes: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


ABSENT = Entry("absent", "", "", "")
Snapshot = dict[str, tuple[int, ...]]


def left_out(path: str) -> bool:
    """Whether the path, or a folder above it, is excluded."""
    parts = path.split("/")
    above = ["/".join(parts[:number]) for number in range(2, len(parts) + 1)]
    return any(fnmatch.fnmatchcase(folder, pattern) for folder in above for pattern in LEFT_OUT)


def snapshot(upper: Path) -> Snapshot:
    """Each path below the upper folder, by its name in the machine, with the values that a change would affect."""
    entries: Snapshot = {}
    _walk(str(upper), "", entries)
    return entries


def _walk(folder: str, prefix: str, result: Snapshot) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = f"{prefix}/{entry.name}"
            if left_out(path):
                continue
            try:
                info = entry.stat(follow_symlinks=False)
                result[path] = (info.st_mode, info.st_uid, info.st_gid, info.st_size, info.st_ctime_ns, info.st_ino)
                if entry.is_dir(follow_symlinks=False):
                    _walk(entry.path, path, result)
            except FileNotFoundError:
                continue  # deleted meanwhile: a temporary file of a service


def changed_paths(before: Snapshot, after: Snapshot) -> set[str]:
    """The paths that were created, written or removed; folders of which only the times changed are left out."""
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


def entry(root: Path, path: str, content: bool = True) -> Entry:
    """The entry at the path in a machine's whole file system."""
    full_path = f"{root}{path}"
    try:
        info = os.lstat(full_path)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    kind = {
        stat.S_IFDIR: "directory",
        stat.S_IFREG: "file",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "fifo",
        stat.S_IFCHR: "character device",
        stat.S_IFBLK: "block device",
        stat.S_IFSOCK: "socket",
    }[stat.S_IFMT(info.st_mode)]
    detail = ""
    if kind == "file":
        detail = _digest(full_path) if content else "(not compared)"
    elif kind == "link":
        detail = "-> " + os.readlink(full_path)
    elif kind.endswith("device"):
        detail = f"{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}"
    mode = "" if kind == "link" else f"{stat.S_IMODE(info.st_mode):04o}"
    return Entry(kind, mode, f"{info.st_uid}:{info.st_gid}", detail, _attributes(full_path))


def _digest(full_path: str) -> str:
    digest = hashlib.sha256()
    with open(full_path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _attributes(full_path: str) -> str:
    """Access control lists, capabilities and user attributes."""
    try:
        names = os.listxattr(full_path, follow_symlinks=False)
        compared = [
            name for name in sorted(names) if name.startswith(("system.posix_acl", "security.capability", "user."))
        ]
        return ", ".join(f"{name}={os.getxattr(full_path, name, follow_symlinks=False).hex()}" for name in compared)
    except OSError:
        return ""


def text(root: Path, path: str) -> str | None:
    """The content of a file for display; None if it is binary or too large."""
    try:
        full_path = Path(f"{root}{path}")
        if not full_path.is_file():  # reading a pipe would wait for a writer
            return None
        data = full_path.read_bytes()
        return data.decode("utf-8") if len(data) < 100_000 else None
    except (OSError, UnicodeDecodeError):
        return None
