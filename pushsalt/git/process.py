"""Runs git with our arguments and environment, in its own process group, with time limits."""

from __future__ import annotations

import logging
import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from pushsalt.git import GitError, UnreachableError

log = logging.getLogger(__name__)

#: The oldest git that works. It has ``fetch`` with --no-write-fetch-head, --no-auto-maintenance and --stdin, and
#: ``init`` with --object-format. Older ones ignore some security settings of CONFIG silently, and 1.8 rejects
#: ``-c key=`` without a value.
OLDEST: Final = (2, 29)

#: Maximum bytes of a program's output.
MAX_OUTPUT: Final = 256 * 1024 * 1024
MAX_WORDS: Final = 256 * 1024

#: Configuration of every git that is run: no programs of the repository, no automatic maintenance.
CONFIG: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.askPass": "",
    "core.quotePath": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "transfer.bundleURI": "false",
}
#: Environment variables that git inherits; others, GIT_* in particular, are removed.
_KEPT: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "LD_LIBRARY_PATH",
)
_FIXED: Final = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}


class TimedOutError(UnreachableError):
    """Git sent no output for too long, or took too long in all."""


class StoppedError(GitError):
    """The command is stopping."""


class OldGitError(GitError):
    """The git of this machine is too old."""

    def __init__(self, version: str) -> None:
        wanted = ".".join(map(str, OLDEST))
        super().__init__(
            f"this machine has git {version}; pushsalt needs git >= {wanted} for git remotes",
            hint=f"install git {wanted} or newer on this machine, or serve a clone of the repository by file_roots",
        )


@dataclass(frozen=True)
class Done:
    """A finished program. ``words`` are the lines of its stderr, without progress."""

    code: int
    out: bytes
    words: str


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The complete environment of a git."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if "SSL_CERT_FILE" in kept:  # not every libcurl reads it
        kept.setdefault("GIT_SSL_CAINFO", kept["SSL_CERT_FILE"])
    return {**kept, **_FIXED, **(more or {})}


def git_argv(*words: str, config: Mapping[str, str] | None = None) -> list[str]:
    """The argument list: ``git``, our configuration, and ``words``. Raises OldGitError."""
    _require_git()
    argv = ["git"]
    for key, value in {**CONFIG, **(config or {})}.items():
        argv += ["-c", f"{key}={value}"]
    return [*argv, *words]


def _require_git() -> None:
    """Raises OldGitError if the git on PATH is too old; an unknown version is accepted."""
    path = shutil.which("git")
    version = _version(path, Path(path).stat().st_mtime_ns) if path else ""  # if missing, starting it raises the error
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise OldGitError(version)


@lru_cache(maxsize=8)
def _version(git: str, changed: int) -> str:
    """The version of a git, ``2.39.5``, or "". ``changed``: mtime of the program, so that an update is noticed."""
    try:
        done = subprocess.run(
            [git, "--version"],
            env=environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.match(r"git version (\S+)", done.stdout.decode("utf-8", "replace"))
    return match[1] if match else ""


class Running:
    """The running programs, which another thread can end."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def start(self, argv: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self.stopped:
                raise StoppedError("stopped")
            try:
                process = subprocess.Popen(
                    argv,
                    env=dict(env),
                    cwd="/",
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=tuple(pass_fds),
                    start_new_session=True,
                    umask=0o077,  # the cache must be private
                )
            except FileNotFoundError:
                raise GitError(
                    "there is no git on this machine", hint="install the package git, which fetches remotes"
                ) from None
            self._processes.add(process)
        return process

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)

    def stop(self) -> None:
        """End all programs and their children."""
        with self._lock:
            self.stopped = True
            for process in self._processes:
                _kill(process)


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    silence: float = 60.0,
    total: float = 1800.0,
    stdin: bytes = b"",
    pass_fds: Sequence[int] = (),
    running: Running | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Done:
    """Run a program to its end. ``on_line`` is called with each line of stderr, also with those that end in ``\\r``.

    Raises TimedOutError after ``silence`` seconds without output, or ``total`` seconds in all.
    """
    running = running or Running()
    process = running.start(argv, environment() if env is None else env, pass_fds)
    assert process.stdin and process.stdout and process.stderr
    out, err = bytearray(), bytearray()
    line = bytearray()
    try:
        _give(process, stdin)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, out)
            selector.register(process.stderr, selectors.EVENT_READ, err)
            end = time.monotonic() + total
            while selector.get_map():
                wait = min(silence, end - time.monotonic())
                ready = selector.select(wait) if wait > 0 else []
                if not ready:
                    raise TimedOutError(f"it sent nothing for {silence:g} seconds" if wait > 0 else "it takes too long")
                for key, _ in ready:
                    data = os.read(key.fd, 65536)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.data is out:
                        out += data
                        if len(out) > MAX_OUTPUT:
                            raise GitError("its answer is too long")
                    else:
                        err += data[: max(0, MAX_WORDS - len(err))]
                        if on_line:
                            _lines(line, data, on_line)
            process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        raise TimedOutError("it did not end") from None
    finally:
        if process.poll() is None:
            _kill(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        process.wait()
        running.forget(process)
    if running.stopped:
        raise StoppedError("stopped")
    return Done(process.returncode, bytes(out), _words(bytes(err)))


def _give(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Write stdin before output is read: only for small data, or programs that read all of stdin first."""
    assert process.stdin
    try:
        process.stdin.write(data)
        process.stdin.close()
    except BrokenPipeError:
        pass


def _lines(line: bytearray, data: bytes, on_line: Callable[[str], None]) -> None:
    for byte in data.replace(b"\r", b"\n").splitlines(keepends=True):
        line += byte
        if line.endswith(b"\n") or len(line) > 1000:
            on_line(line.decode("utf-8", "replace").strip())
            line.clear()


def _words(err: bytes) -> str:
    """The lines of stderr; of lines that ``\\r`` overwrites, the last version."""
    lines = [line.rsplit(b"\r", 1)[-1].strip() for line in err.replace(b"\r\n", b"\n").split(b"\n")]
    return "\n".join(line.decode("utf-8", "replace") for line in lines if line)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
