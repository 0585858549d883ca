"""Programs that are started by posix_spawn and by fork get the same environment, and fail with the same errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from thin import process

METHODS = {"posix_spawn": [True], "fork": [False]}


@pytest.fixture(params=METHODS.values(), ids=METHODS)
def method(request, monkeypatch):
    if request.param == [True] and not process._can_spawn():
        pytest.skip("this Python, or its C library, has no usable posix_spawn")
    monkeypatch.setattr(process, "_spawns", list(request.param))
    forks = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or fork())
    yield forks
    assert bool(forks) == (request.param == [False])


def _sh(text: str, **kwargs):
    return process.run(["/bin/sh", "-c", text], **kwargs)


def test_a_program_gets_its_folder_and_umask(method, tmp_path):
    before = os.getcwd(), os.umask(0o022)
    assert _sh("pwd; umask", cwd=str(tmp_path), umask=0o077).stdout == f"{tmp_path}\n0077\n".encode()
    assert (os.getcwd(), os.umask(before[1])) == (before[0], 0o022)


def test_a_program_gets_standard_streams_only(method):
    """A program gets its three standard descriptors, and none that Python has opened."""
    reader, writer = os.pipe()
    result = process.run(["ls", "/proc/self/fd"])
    os.close(reader)
    assert not {b"%d" % reader, b"%d" % writer} - {b"3"} & set(result.stdout.split())  # 3 is that of ls itself
    os.close(writer)
    assert _sh("cat", stdin=b"in").stdout == b"in"
    assert _sh("echo out; echo err >&2", merge=True).stdout == b"out\nerr\n"
    assert _sh("read line || echo none").stdout == b"none\n"


def test_signals_have_their_default_actions(method):
    """Signals that this process ignores or blocks have their default actions in a program."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        result = _sh("grep -E '^Sig(Blk|Ign)' /proc/self/status")
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        signal.signal(signal.SIGHUP, former)
    blocked, ignored = (int(line.split()[1], 16) for line in result.stdout.splitlines())
    assert blocked == 0
    assert not ignored & (1 << (signal.SIGHUP - 1) | 1 << (signal.SIGPIPE - 1))


def _error_cases(tmp_path):
    (tmp_path / "plain").write_text("no program\n")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "lost").chmod(0o755)
    (tmp_path / "sh").mkdir()  # a folder in PATH that has the name of a program
    return {
        "missing": (["no-such-program"], {}, FileNotFoundError, "no-such-program"),
        "no program": ([f"{tmp_path}/plain"], {}, PermissionError, f"{tmp_path}/plain"),
        "no interpreter": ([f"{tmp_path}/lost"], {}, FileNotFoundError, f"{tmp_path}/lost"),
        "no folder": (["true"], {"cwd": "/no/such"}, FileNotFoundError, "/no/such"),
        "a file as folder": (["true"], {"cwd": f"{tmp_path}/plain"}, NotADirectoryError, f"{tmp_path}/plain"),
    }


@pytest.mark.parametrize("case", ["missing", "no program", "no interpreter", "no folder", "a file as folder"])
def test_a_program_that_cannot_start_is_an_error_with_its_path(method, tmp_path, case):
    argv, options, error, name = _error_cases(tmp_path)[case]
    descriptors = os.listdir("/proc/self/fd")
    with pytest.raises(error) as caught:
        process.run(argv, stdin=b"in", **options)
    assert caught.value.filename == name
    assert os.listdir("/proc/self/fd") == descriptors
    assert os.getcwd() != "/no/such"


def test_a_folder_in_path_with_the_name_is_skipped(method, tmp_path):
    _error_cases(tmp_path)
    assert process.run(["sh", "-c", "echo ran"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).stdout == b"ran\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_a_program_starts_in_a_folder_that_the_user_cannot_enter(tmp_path):
    """As after sudo to another user in the home of the first one: the program is forked."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from thin import process; os.setgid(65534); os.setuid(65534);"
        " print(process.run(['id', '-u']).stdout.decode(), end='')"
    )
    tmp_path.chmod(0o700)
    command = [sys.executable, "-I", "-c", script, str(Path(process.__file__).parents[1])]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.stdout, result.returncode) == ("65534\n", 0), result.stderr


def test_a_program_of_another_user_is_forked(monkeypatch):
    """It changes its user and groups before it is executed."""
    monkeypatch.setattr(process, "_spawn", lambda *_: pytest.fail("spawned"))
    result = _sh("id -u", identity=process.Identity())
    assert result.stdout == f"{os.geteuid()}\n".encode()
