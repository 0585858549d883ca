"""Runs programs on the controller for other layers: gpg, external pillars, inventories."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.discover import Trust, working_folder
from pushsalt.errors import InventoryError
from pushsalt.model import Completed

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

#: Time limit of one program in seconds; targets wait for it.
TIMEOUT: Final = 120.0
#: Seconds without output after which it is checked whether the program has ended.
_LOOK: Final = 0.2
#: Limit of the output of an inventory program in bytes.
MAX_BYTES: Final = 64 * 1024 * 1024
_waiting_threads: Final[set[int]] = set()
#: thread -> what ``interrupt`` calls in it before its next program starts
_interruptions: Final[dict[int, Callable[[], None]]] = {}
#: The running programs that may use the terminal.
_at_terminal: Final[set[subprocess.Popen[bytes]]] = set()


def interrupt(leave: Callable[[], None]) -> None:
    """For signal handlers: call ``leave``, which raises, if ``bounded`` blocks the event loop of this thread.

    Otherwise it is called when ``bounded`` begins in this thread, unless the event loop handles the signal before and
    calls ``forget_interruption``.
    """
    import threading

    if threading.get_ident() in _waiting_threads:
        leave()
    else:
        _interruptions[threading.get_ident()] = leave


def forget_interruption() -> None:
    """Cancel the request of ``interrupt`` in this thread, since the event loop has handled the signal."""
    import threading

    _interruptions.pop(threading.get_ident(), None)


def run_program(argv: Sequence[str], *, input: bytes = b"", terminal: bool = False) -> Completed:
    """Run a program to its end. Raises OSError if it cannot be started, TimeoutError if it was killed.

    ``terminal``: the program may ask the operator.
    """
    import subprocess  # imported late, since every command imports this module

    with _running(argv, stdin=subprocess.PIPE, terminal=terminal) as process:
        try:
            out, err = process.communicate(input, TIMEOUT)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{argv[0]} did not end in {TIMEOUT:.0f} seconds") from None
    return Completed(process.returncode, out, err)


@contextlib.contextmanager
def _running(argv: Sequence[str], *, stdin: int, terminal: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A running program, as a context.

    It is killed when the block is left early, and when this process ends in any way. Programs that it started are
    killed too. If possible the kernel kills them, when this process closes its end of a pipe: if the program needs the
    ``terminal``, which a separate process session would not have, only the program itself; see ``end_running``.
    """
    import subprocess

    life, kept = os.pipe()
    signals = _DeferredSignals()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            start_new_session=not terminal,
            pass_fds=(life,),
        )
        _tie(life, process.pid if terminal else -process.pid)
        with process:
            if terminal:
                _at_terminal.add(process)
            try:
                signals.handle()
                yield process
            except BaseException:
                if terminal:
                    _kill_tree(process)
                process.kill()
                if not terminal:
                    with contextlib.suppress(OSError):
                        os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                _at_terminal.discard(process)
            _tie(life, None)  # processes that it left in the background may continue
    finally:
        signals.restore()
        os.close(life)
        os.close(kept)


class _DeferredSignals:
    """Defers Python's signal handlers while a program starts: one that raises would leave the program running.

    Only the main thread has handlers.
    """

    def __init__(self) -> None:
        import threading

        self._received: list[int] = []
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._replaced: list[int] = []
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    self._replaced.append(number)
                    signal.signal(number, lambda number, frame: self._received.append(number))

    def handle(self) -> None:
        """Restore the handlers, and call those of the received signals."""
        self.restore()
        for number in self._received:
            self._handlers[number](number, None)

    def restore(self) -> None:
        """Install the replaced handlers again; further calls do nothing."""
        while self._replaced:
            signal.signal(self._replaced[-1], self._handlers[self._replaced[-1]])
            self._replaced.pop()


def end_running() -> None:
    """Kill the programs that other threads run at the terminal, and their descendants. For a process that ends soon."""
    for process in list(_at_terminal):
        _kill_tree(process)


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and its descendants; do nothing if it has ended. Without /proc, descendants are not found."""
    if process.poll() is not None:
        return
    pids = [process.pid]
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGSTOP)  # it starts no further ones
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                pids += map(int, children.read_text().split())
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _tie(life: int, owner: int | None) -> None:
    """Make the kernel kill ``owner`` (a process, or a process group if negative) when the other end of the pipe is
    closed.
    """
    if sys.platform != "linux":
        return
    import fcntl

    flags = fcntl.fcntl(life, fcntl.F_GETFL)
    if owner is None:
        fcntl.fcntl(life, fcntl.F_SETFL, flags & ~os.O_ASYNC)
        return
    with contextlib.suppress(OSError):  # the process has ended already
        fcntl.fcntl(life, fcntl.F_SETOWN, owner)
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(life, fcntl.F_SETFL, flags | os.O_ASYNC)


def trusted_program(path: Path) -> Path:
    """The program at a path. Raises OSError, and InventoryError for a program that others can change."""
    program = path.resolve()
    status = program.stat()
    is_open = status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022
    if is_open and not Trust(working_folder(), os.environ, []).names(program):
        raise InventoryError(
            f"{path} is not run, since others can change this program",
            hint="it must belong to you or root, and others must not be able to write to it (chmod go-w);"
            f" if you trust it: PUSHSALT_TRUST={path.parent}",
        )
    return program


def list_inventory(path: Path) -> str:
    """The output of an inventory program for ``--list``. Raises InventoryError.

    It is only run if other users than root cannot change it, or if it is in a trusted folder.
    """
    program = trusted_program(path)
    try:
        done = bounded([str(program), "--list"], MAX_BYTES, TIMEOUT)
    except (OSError, TimeoutError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise InventoryError(f"{path} cannot be run: {reason}", hint="run it yourself with --list") from None
    if done.code != 0:
        error_lines = done.err.decode("utf-8", "replace").strip().splitlines()
        why = f": {error_lines[-1]}" if error_lines else ""
        raise InventoryError(f"{path} --list ended with exit code {done.code}{why}", hint="run it yourself with --list")
    if len(done.out) > MAX_BYTES:
        raise InventoryError(f"{path} --list prints more than {MAX_BYTES // 2**20} MiB", hint="have it print less")
    return done.out.decode("utf-8", "replace")


def bounded(argv: Sequence[str], most: int, seconds: float) -> Completed:
    """Run a program to its end, or until it has printed more than ``most`` bytes. Only the end of stderr is returned.

    Raises OSError if it cannot be started, TimeoutError if it was killed.
    """
    import selectors
    import subprocess
    import threading
    import time

    end = time.monotonic() + seconds
    out, err = bytearray(), bytearray()
    thread = threading.get_ident()
    _waiting_threads.add(thread)
    try:
        if (leave := _interruptions.pop(thread, None)) is not None:
            leave()
        with (
            _running(argv, stdin=subprocess.DEVNULL, terminal=True) as process,
            selectors.DefaultSelector() as waiting,
        ):
            waiting.register(process.stdout, selectors.EVENT_READ, out)  # type: ignore[arg-type]
            waiting.register(process.stderr, selectors.EVENT_READ, err)  # type: ignore[arg-type]
            while waiting.get_map():
                left = end - time.monotonic()
                ready = waiting.select(min(max(0.0, left), _LOOK))
                if not ready and process.poll() is not None:
                    break  # a child process, such as ssh with ControlPersist, still has the output open
                if not ready and left <= 0:
                    raise TimeoutError(f"{argv[0]} did not end in {seconds:g} seconds")
                for key, _ in ready:
                    piece = os.read(key.fd, 65536)
                    if not piece:
                        waiting.unregister(key.fileobj)
                    key.data.extend(piece)
                if len(out) > most:
                    _kill_tree(process)
                    break
                del err[:-65536]
            else:
                process.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{argv[0]} did not end in {seconds:g} seconds") from None
    finally:
        _waiting_threads.discard(thread)
    return Completed(0 if len(out) > most else process.returncode, bytes(out), bytes(err))
