"""The broker of a kept session: receives command lines, forks a process for each, and starts the keeper of connections.

It is a process without threads and event loop, which has imported the modules that commands need. A fork of it runs
each command line, so data of a command does not remain in the broker. The connections are in another process, the
keeper (``pushsalt.transport.keeper``). A third process waits to be the starter of commands' render processes
(``pushsalt.children.kept``). Both end with the broker.

==================================  ==========================================================
what happens                        what it does
==================================  ==========================================================
a client sends a signal's number    sends that signal to the command
a client disconnects                stops the command as by Ctrl-C
a command ends                      sends its exit code to the client
this process is killed              the kernel kills commands, keeper and starter
the keeper has been idle, or ended  ends, once no command runs
==================================  ==========================================================
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import __version__
from pushsalt.broker import client, request

if TYPE_CHECKING:
    from pushsalt.children.kept import Waiting

#: Maximum number of clients that wait to be accepted.
BACKLOG: Final = 128
#: Commands, and modules that they import; the forks have them already.
COMMANDS: Final = ("run", "apply", "plan", "grains", "cp", "orchestrate", "target", "clean", "wait")
AHEAD: Final = (
    "pushsalt.cli.app",
    "pushsalt.cli.run",
    "pushsalt.cli.apply",
    "pushsalt.cli.plan",
    "pushsalt.cli.grains",
    "pushsalt.cli.cp",
    "pushsalt.cli.orchestrate",
    "pushsalt.cli.target",
    "pushsalt.cli.job",
    "pushsalt.cli.progress",
    "pushsalt.cli.usage",
    "pushsalt.cli.asking",
    "pushsalt.cli.sessions",
    "pushsalt.api",
    "pushsalt.bundle.docs",
    "pushsalt.cache.grains",
    "pushsalt.cache.intents",
    "pushsalt.cache.pillar",
    "pushsalt.cache.resources",
    "pushsalt.children.pool",
    "pushsalt.display.alike",
    "pushsalt.display.problems",
    "pushsalt.display.safe",
    "pushsalt.files.digests",
    "pushsalt.fileserver.tree",
    "pushsalt.functions.state",
    "pushsalt.index.grains",
    "pushsalt.index.resources",
    "pushsalt.git.lockfile",
    "pushsalt.inventory.load",
    "pushsalt.journal.jobevents",
    "pushsalt.minion.wrappers",
    "pushsalt.modules.resourcetypes",
    "pushsalt.outputters.highstate",
    "pushsalt.outputters.json",
    "pushsalt.outputters.nested",
    "pushsalt.outputters.rich",
    "pushsalt.orchestrate.running",
    "pushsalt.plan",
    "pushsalt.run.answers",
    "pushsalt.run.batchcheck",
    "pushsalt.workers.jobevents",
    "pushsalt.run.jobrecord",
    "pushsalt.run.kinds",
    "pushsalt.run.outliving",
    "pushsalt.run.project",
    "pushsalt.run.rendered",
    "pushsalt.run.returns",
    "pushsalt.run.rollout",
    "pushsalt.run.runner",
    "pushsalt.run.secretcommands",
    "pushsalt.run.secrets",
    "pushsalt.run.single",
    "pushsalt.run.waiting",
    "pushsalt.sdb.vaultpassword",
    "pushsalt.select.inventoryimage",
    "pushsalt.select.lookup",
    "pushsalt.select.managed",
    "pushsalt.select.resources",
    "pushsalt.select.selecting",
    "pushsalt.select.values",
    "pushsalt.session.bootstrap",
    "pushsalt.session.copying",
    "pushsalt.session.fetching",
    "pushsalt.session.keptchannels",
    "pushsalt.session.raw",
    "pushsalt.session.session",
    "pushsalt.targeting.matchers.glob",
    "pushsalt.targeting.matchers.ipcidr",
    "pushsalt.transport.brokered",
    "pushsalt.transport.keeper",
    "pushsalt.transport.local",
    "pushsalt.workers.place",
)


@dataclass
class Command:
    """A client, and the process that runs its command line; until the request is complete, the received part of it."""

    sock: socket.socket
    data: bytearray = field(default_factory=bytearray)
    descriptors: list[int] = field(default_factory=list)
    pid: int = 0
    #: a pipe whose other end closes when the broker ends: the kernel then kills the command
    life: int = -1
    #: its client has disconnected
    alone: bool = False

    def close(self) -> None:
        self.sock.close()
        for number in self.descriptors:
            os.close(number)
        self.descriptors = []
        if self.life >= 0:
            os.close(self.life)
            self.life = -1


def main() -> None:
    """Entry point, with the arguments ``FOLDER KEY SECONDS ABOUT``. ABOUT: the data for ``session list``, as JSON."""
    folder, key, seconds, about = sys.argv[1:5]
    os.chdir("/")
    os.umask(0o77)
    if not _locked(f"{folder}/{key}.lock"):
        return
    ready = _detach()
    _import_ahead()
    runs, keeps = (_listening(f"{folder}/{key}.{name}") for name in ("run", "keep"))
    broker = Broker(folder, key, runs)
    broker.start_keeper(keeps, float(seconds), ready)
    info = {
        **json.loads(about),
        "pid": os.getpid(),
        "version": __version__,
        "since": time.time(),
        "idle": float(seconds),
    }
    _write(Path(folder) / f"{key}.json", info)
    os.close(ready)
    broker.start_starter()
    broker.serve()


def _detach() -> int:
    """Continue in a child process, detached from the caller; the parent ends when the returned descriptor is closed."""
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    os.setsid()
    return write


def _locked(path: str) -> bool:
    """Take the lock that allows one broker per key. Returns whether it was free."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _import_ahead() -> None:
    import gc
    import importlib

    for name in AHEAD:
        try:
            importlib.import_module(name)
        except ImportError:  # a command that needs it reports the error
            continue
    from pushsalt import plugins
    from pushsalt.cli import app, rehearsal
    from pushsalt.redact import Redactor

    app.make_ahead(COMMANDS)
    plugins.mentioned("pushsalt")  # lists the installed distributions
    Redactor()  # compiles its patterns, which Python's re keeps
    with contextlib.suppress(Exception):  # a command reports its own errors
        rehearsal.rehearse()
    gc.collect()
    gc.freeze()


def _listening(path: str) -> socket.socket:
    """A listening socket of this name, which appears atomically."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    fresh = f"{path}.new"
    for name in (fresh, path):
        if os.path.lexists(name):
            Path(name).unlink()
    sock.bind(fresh)
    sock.listen(BACKLOG)
    Path(fresh).rename(path)
    return sock


def _write(path: Path, data: Any) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(data))
    fresh.rename(path)


class Broker:
    """Accepts clients until the keeper has ended and no command runs."""

    def __init__(self, folder: str, key: str, listener: socket.socket) -> None:
        self._folder, self._key, self._listener = folder, key, listener
        self._commands: list[Command] = []
        self._keeper = 0
        self._keeper_life = -1
        self._starter: Waiting | None = None

    def start_keeper(self, listener: socket.socket, seconds: float, ready: int) -> None:
        read, write = os.pipe()
        self._keeper = os.fork()
        if self._keeper:
            os.close(read)
            listener.close()
            self._keeper_life = write
            return
        code = 70
        try:
            os.close(write)
            os.close(ready)
            self._listener.close()
            from pushsalt.transport import keeper

            keeper.main(listener, read, seconds)
            code = 0
        finally:
            os._exit(code)

    def start_starter(self) -> None:
        from pushsalt.children import kept, pool

        try:
            self._starter = kept.Waiting(pool.path_of_starter(), pool.environment())
        except OSError:  # commands start their own
            self._starter = None

    def serve(self) -> None:
        wake, woken = socket.socketpair()
        for end in (wake, woken):
            end.setblocking(False)
        signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, frame: self._leave())
        self._wake = wake, woken
        self._listener.setblocking(False)
        while self._keeper or self._commands:
            socks: list[Any] = [each.sock for each in self._commands if not each.alone]
            ready, _, _ = select.select([*socks, wake, *([self._listener] if self._keeper else [])], [], [])
            if wake in ready:
                self._drain(wake)
            self._reap()
            if self._listener in ready:
                self._accept()
            for command in [each for each in self._commands if each.sock in ready]:
                self._read(command)
        self._remove()

    def _drain(self, wake: socket.socket) -> None:
        try:
            while wake.recv(4096):
                pass
        except BlockingIOError:
            pass

    def _leave(self) -> None:
        """Handle SIGTERM: accept no more clients, and end the keeper and the commands that use it."""
        self._listener.close()
        self._remove()
        os._exit(0)

    def _remove(self) -> None:
        for name in ("run", "keep", "json"):
            Path(f"{self._folder}/{self._key}.{name}").unlink(missing_ok=True)
        for link in Path(self._folder).glob("@*"):
            if link.is_symlink() and str(link.readlink()) == f"{self._key}.run":
                link.unlink(missing_ok=True)

    # --- clients

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        if client.peer_uid(sock) != os.geteuid():
            sock.close()
            return
        sock.setblocking(False)
        try:
            sock.send(request.READY)
        except OSError:
            sock.close()
            return
        self._commands.append(Command(sock))

    def _read(self, command: Command) -> None:
        try:
            data, rights, _, _ = command.sock.recvmsg(65536, socket.CMSG_SPACE(8 * 4))
        except BlockingIOError:
            return
        except OSError:
            data, rights = b"", []
        for _, _, raw in rights:
            command.descriptors += [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw) - 3, 4)]
        for each in command.descriptors:
            os.set_inheritable(each, False)
        if command.pid:
            self._signalled(command, data)
            command.alone = not data
        elif not data or not self._taken(command, data):
            self._commands.remove(command)
            command.close()

    def _taken(self, command: Command, data: bytes) -> bool:
        """Add data to a request, and begin the command when the request is complete. False if it is invalid."""
        command.data += data
        if command.data[:4] != request.MAGIC[: len(command.data)]:
            return False
        if len(command.data) < request.HEAD:
            return True
        size = int.from_bytes(command.data[4:8], "big")
        if size > request.LIMIT or len(command.descriptors) not in (0, 4):
            return False
        if len(command.data) - request.HEAD < size:
            return True
        try:
            wanted = request.decode(bytes(command.data[request.HEAD :]))
        except (ValueError, IndexError):
            return False
        if len(command.descriptors) != 4:
            return False
        self._begin(command, wanted)
        return True

    def _signalled(self, command: Command, data: bytes) -> None:
        """Pass on these signals; the end of the client stops the command as Ctrl-C does."""
        for number in data or bytes([signal.SIGINT]):
            if number == signal.SIGTSTP:
                number = signal.SIGSTOP
            try:
                if number in (signal.SIGSTOP, signal.SIGCONT):
                    os.killpg(command.pid, number)
                else:
                    os.kill(command.pid, number)
            except (OSError, ValueError):
                continue

    # --- commands

    def _begin(self, command: Command, wanted: request.Request) -> None:
        from pushsalt.cli import brokered

        read, command.life = os.pipe()
        try:
            command.pid = os.fork()
        except OSError:  # the client runs it
            os.close(read)
            self._commands.remove(command)
            command.close()
            return
        if command.pid:
            os.close(read)
            for number in command.descriptors:
                os.close(number)
            command.descriptors = []
            try:
                command.sock.send(request.BEGUN)
                os.write(command.life, request.BEGUN)
            except OSError:  # the client did not wait, and runs it: this process has done nothing yet, and ends
                os.close(command.life)
                command.life = -1
            return
        code = 70
        try:
            signal.set_wakeup_fd(-1)
            for end in self._wake:
                end.close()
            self._listener.close()
            os.close(self._keeper_life)
            for other in self._commands:
                if other is not command:
                    other.close()
            os.close(command.life)
            if self._starter is not None:
                self._starter.use()
            code = brokered.run(wanted, command.descriptors, read)
            _tell_at_once(command.sock, code)
        except BaseException:
            code = 70
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._keeper:
                self._keeper = 0
                self._listener.close()
                self._remove()
            for command in [each for each in self._commands if each.pid == pid]:
                self._tell(command, status)
                self._commands.remove(command)
                command.close()

    def _tell(self, command: Command, status: int) -> None:
        if os.WIFSIGNALED(status):
            reply = request.KILLED + bytes([os.WTERMSIG(status)])
        else:
            reply = request.EXITED + bytes([os.WEXITSTATUS(status)])
        try:
            command.sock.send(reply)
        except OSError:
            pass  # the client has disconnected


def _tell_at_once(sock: socket.socket, code: int) -> None:
    """Send the exit code of this process to the client, which then need not wait until the kernel has freed its memory.

    The broker sends it again, or reports what ended the process before.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # by which the broker answers when the client has ended
    with contextlib.suppress(OSError):
        sock.send(request.EXITED + bytes([code]))


if __name__ == "__main__":
    main()
