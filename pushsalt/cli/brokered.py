"""Runs a command line in a fork of the broker, with the environment that the client's process has."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import io
import locale
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, cast

from pushsalt.broker.request import Request

#: Signals whose handling a command inherits from its caller.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(request: Request, descriptors: Sequence[int], life: int) -> int:
    """Run the command line; returns its exit code. ``life``: a pipe that ends with the broker, and on which a byte says
    that the client knows of this process."""
    os.setsid()
    if not os.read(life, 1):
        return 70
    _tie(life)
    _take(descriptors)
    _become(request)
    _streams()
    from pushsalt.cli.__main__ import main

    code = 0
    try:
        main(sys.argv[1:])
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]  # as at the end of every Python
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return code & 0xFF


def _tie(life: int) -> None:
    """Make the kernel kill this process group when the broker ends, for any reason (as ``thin.__main__`` does)."""
    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpid())
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    else:
        signal.signal(signal.SIGIO, lambda number, frame: os.killpg(0, signal.SIGKILL))
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)


def _take(descriptors: Sequence[int]) -> None:
    """Use the client's streams and working folder."""
    *streams, folder = descriptors
    os.fchdir(folder)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)


def _become(request: Request) -> None:
    """Set environment, arguments, import path, limits and signals to those of the client."""
    for number in _SIGNALS:
        ignored = number in request.ignored
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if ignored else default)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.umask(request.mask)
    if request.files:
        with contextlib.suppress(OSError, ValueError):
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(request.files, most) if most > 0 else request.files, most))
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_CTYPE, "")
    sys.argv[:] = request.words
    sys.path[:] = request.path


def _streams() -> None:
    """Create Python's standard streams for these descriptors, as the interpreter does at its start."""
    encoding = locale.getpreferredencoding(False)
    if sys.flags.utf8_mode:
        encoding = "utf-8"
    given, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    encoding = given or encoding

    def opened(number: int, mode: str, handler: str) -> IO[str]:
        raw = open(number, mode, closefd=False)  # noqa: SIM115
        shown = os.isatty(number)
        return io.TextIOWrapper(cast("IO[bytes]", raw), encoding, handler, line_buffering=shown or number == 2)

    handler = errors or "strict"
    sys.stdin = sys.__stdin__ = cast("io.TextIOWrapper", opened(0, "rb", handler))  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = cast("io.TextIOWrapper", opened(1, "wb", handler))  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = cast("io.TextIOWrapper", opened(2, "wb", "backslashreplace"))  # type: ignore[misc]


__all__ = ["run"]
