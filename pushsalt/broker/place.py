"""The paths of a broker's sockets: a private folder, whose file names identify the commands that a broker serves.

====================  =================================================================================================
``KEY.run``           socket for command lines
``KEY.keep``          socket for connections to targets
``KEY.json``          what ``pushsalt session list`` shows of the broker
``KEY.lock``          locked while the broker runs
``KEY.beacons``       locked while the process runs that evaluates the beacons of the session's targets
``@WORDS``            link to a ``KEY.run``, for command lines with equal options, working folder and environment
====================  =================================================================================================

A key depends on all properties that a broker has from its start and that affect a command: the user and its groups, the
namespaces, the installation, the part of the environment that connections use, the configuration and the inventory. So
a command never uses a broker that was started with other properties.
"""

# ruff: noqa: PTH111, PTH115, PTH116, PTH120 - pathlib would delay every command

from __future__ import annotations

import os
import stat
import sys

from pushsalt import __version__

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL
except ImportError:
    from hashlib import blake2b

# names that only annotations use are not imported, since an import would delay every command
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: Length in bytes of a socket's path that every system accepts.
LONGEST_PATH = 100
#: Variables that connections, their programs and the interpreter itself depend on.
_OF_BROKER = frozenset(("HOME", "PATH", "USER", "LOGNAME", "SSH_AUTH_SOCK", "LANG", "LANGUAGE", "TMPDIR"))
#: Variables that decide which configuration, inventory and cache a command has.
_OF_PROJECT = frozenset(("SALT_SALTFILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"))
#: Options that decide the same.
_OPTIONS = ("-c", "-i", "--config", "--config-dir", "--inventory", "--inventory-file", "--roster-file", "--cache-dir")


def folder(env: Mapping[str, str]) -> str:
    """The folder of the user's brokers."""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return f"{runtime}/pushsalt"
    cache = env.get("XDG_CACHE_HOME", "")
    home = env.get("HOME") or os.path.expanduser("~")
    return f"{cache if cache.startswith('/') else home + '/.cache'}/pushsalt/session"


def is_private(path: str) -> bool:
    """Whether the path is a folder (not a link) that belongs to this user, with permissions for no one else."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def key(env: Mapping[str, str], project: Iterable[str]) -> str:
    """The key of the broker for this process. ``project``: the paths of the configuration and the inventory."""
    return _digest((*_process(env), *project))


def alias(words: Sequence[str], env: Mapping[str, str], cwd: str) -> str:
    """The name of the link for a command line in a working folder."""
    said: list[str] = []
    for number, word in enumerate(words):
        if word in _OPTIONS:
            said += words[number : number + 2]
        elif word.startswith(("-c", "-i", *(f"{option}=" for option in _OPTIONS[2:]))):
            said.append(word)
    chosen = [f"{name}={value}" for name, value in sorted(env.items()) if _of_project(name)]
    return "@" + _digest((*_process(env), cwd, *chosen, *said))


def _of_project(name: str) -> bool:
    return name in _OF_PROJECT or name.startswith("PUSHSALT_")


def _process(env: Mapping[str, str]) -> list[str]:
    """What identifies the installation, the user and the part of the environment that a broker depends on."""
    kept = [
        f"{name}={value}"
        for name, value in sorted(env.items())
        if name in _OF_BROKER or name.startswith(("LC_", "PYTHON", "LD_"))
    ]
    own = os.path.dirname(__file__)
    ids = (os.getuid(), os.geteuid(), os.getgid(), os.getegid(), *sorted(os.getgroups()))
    return [__version__, own, str(_changed(own)), sys.executable, sys.version, repr(ids), *_namespaces(), *kept]


def _changed(own: str) -> int:
    """The time at which the installation changed: installing the same version again gives another key."""
    try:
        return os.stat(os.path.dirname(own) + "/__init__.py").st_mtime_ns
    except OSError:
        return 0


def _namespaces() -> list[str]:
    """The network, mount, process and user namespaces, on which a connection depends; empty texts except on Linux."""
    found = []
    for name in ("net", "mnt", "pid", "user"):
        try:
            found.append(os.readlink(f"/proc/self/ns/{name}"))
        except OSError:
            found.append("")
    return found


def _digest(parts: Iterable[str]) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=10).hexdigest()
