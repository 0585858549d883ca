"""The client of a command line that a broker runs.

The broker's process uses the streams of this one. The client forwards signals to it, and ends with the exit status, or
by the signal, with which the command ended. Almost all that this module imports is loaded by Python at its start.
"""

# ruff: noqa: PTH108, PTH109, PTH112, PTH115 - pathlib would delay every command

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself would import enum
import os
import sys

from pushsalt.broker import place

# names that only annotations use are not imported, since an import would delay every command
TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Sequence

#: Commands that a broker runs. The others use no targets, or need a terminal on which they ask questions.
COMMANDS = frozenset(("run", "apply", "plan", "grains", "cp", "clean", "wait", "target", "orchestrate"))
#: Names of all commands, so that a value before the command is not taken for one.
OTHERS = frozenset(
    (
        *("impact", "runner", "events", "check", "inventory", "jobs", "resource", "cache", "formula", "ca", "init"),
        *("demo", "session", "undo", "react", "watch", "serve", "worker", "state", "shell", "diff"),
    )
)
#: Options with which a command asks questions on the terminal.
ASKING = ("--ask", "--rerun-failed", "--confirm", "--askpass")
#: Values of --session with which a command runs by itself.
OFF = (["0"], ["off"], ["no"], ["false"], ["none"], [""])
#: Seconds to wait for a broker: one that listens answers at once.
PATIENCE = 5
PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def answered(words: Sequence[str]) -> int | None:
    """Have a broker run the command line and return its exit code; None if no broker runs it: the caller does then."""
    env = os.environ
    folder = place.folder(env)
    if not os.path.isdir(folder) or not _may_be_run(words):
        return None
    if not place.is_private(folder):
        return None
    try:
        cwd = os.getcwd()
        link = f"{folder}/{place.alias(words, env, cwd)}"
        name = os.readlink(link)
    except OSError:
        return None
    if "/" in name or not name.endswith(".run"):
        return None
    try:
        sock = connected(f"{folder}/{name}")
    except (ConnectionRefusedError, FileNotFoundError):  # the broker was killed, or has ended
        _forget(link)
        return None
    if sock is None:
        return None
    try:
        return _run_by(sock)
    finally:
        sock.close()


def _may_be_run(words: Sequence[str]) -> bool:
    command = next((word for word in words if word in COMMANDS or word in OTHERS), "")
    if command not in COMMANDS:
        return False
    for number, word in enumerate(words):
        if word == "--session" and words[number + 1 : number + 2] in OFF:
            return False
        if word.startswith("--session=") and [word[10:]] in OFF:
            return False
        if word.startswith(ASKING) or (word[:1] == "-" and word[1:2] != "-" and word[1:].isalpha() and _asks(word)):
            return False
    return not any(word in ("-h", "--help", "--version") for word in words)


def _asks(word: str) -> bool:
    return "k" in word or "K" in word


def _forget(link: str) -> None:
    try:
        os.unlink(link)
    except OSError:
        pass


def connected(path: str) -> socket | None:
    """A connection to a broker's socket; None if the process belongs to another user, or if too many clients wait.

    Raises ConnectionRefusedError and FileNotFoundError if no process listens.
    """
    import _socket

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(PATIENCE)
        sock.connect(path)
        if peer_uid(sock) == os.geteuid():
            sock.settimeout(None)
            return sock
    except (ConnectionRefusedError, FileNotFoundError):
        sock.close()
        raise
    except OSError:  # a full backlog, among others
        pass
    sock.close()
    return None


def peer_uid(sock: socket) -> int:
    """The user id of the peer process as the kernel reports it; -1 if it is not known."""
    import _socket

    option = getattr(_socket, "SO_PEERCRED", None)
    if option is not None:
        return int.from_bytes(sock.getsockopt(_socket.SOL_SOCKET, option, 12)[4:8], sys.byteorder)
    level, name = 0, 1  # SOL_LOCAL, LOCAL_PEERCRED: struct xucred with version and uid
    return int.from_bytes(sock.getsockopt(level, name, 76)[4:8], sys.byteorder)


def _run_by(sock: socket) -> int | None:
    try:
        cwd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    sock.settimeout(PATIENCE)
    try:
        if not _is_taken(sock) or not _send(sock, cwd):
            return None
    finally:
        os.close(cwd)
    if not _begun(sock):
        return None
    _pass_signals(sock)
    said = b""
    while len(said) < 2:
        try:
            data = sock.recv(2 - len(said))
        except OSError:
            data = b""
        if not data:
            return _lost()
        said += data
    for number in (*PASSED, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    return said[1] if said[:1] == b"x" else _ended_by(said[1])


def _is_taken(sock: socket) -> bool:
    try:
        return sock.recv(1) == b"!"
    except OSError:
        return False


def _begun(sock: socket) -> bool:
    """Whether the broker has started the command. If it does not answer in time, it cannot start the command later."""
    import _socket

    try:
        begun = sock.recv(1)
    except OSError:
        begun = b""
        try:
            sock.shutdown(_socket.SHUT_RD)  # from now on its answer fails; one that has come is read
            begun = sock.recv(1)
        except OSError:
            pass
    sock.settimeout(None)
    return begun == b"+"


def _send(sock: socket, cwd: int) -> bool:
    """Send the request. Returns whether all of it was sent."""
    import _socket

    from pushsalt.broker.request import LIMIT, Request

    mask = os.umask(0o77)
    os.umask(mask)
    ignored = [number for number in PASSED if signal.getsignal(number) == signal.SIG_IGN]
    request = Request(sys.argv, sys.path, os.environ, mask, _open_files(), ignored).encode()
    if len(request) > LIMIT:
        return False
    try:
        descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2, cwd))
        sent = sock.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        while sent < len(request):
            sent += sock.send(request[sent:])
    except OSError:
        return False
    return True


def _open_files() -> int:
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _pass_signals(sock: socket) -> None:
    """Forward signals to the broker from now on; also that of Ctrl-Z, which stops the command and then this process."""

    def passed(number: int, frame: object) -> None:
        try:
            sock.send(bytes([number]))
        except OSError:
            pass

    def paused(number: int, frame: object) -> None:
        passed(number, frame)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, paused)
        passed(signal.SIGCONT, frame)

    for number in PASSED:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, passed)
    if signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, paused)


def _lost() -> int:
    sys.stderr.write(
        "error: the broker of the session was ended in mid-run\n"
        "hint: runs of states go on where they were: `pushsalt jobs resume JID` collects them (`jobs list`)\n"
    )
    return 3


def _ended_by(number: int) -> int:
    sys.stderr.write(
        f"error: the command was ended by signal {number}\nhint: look for the reason in the system's log\n"
    )
    return 128 + number
