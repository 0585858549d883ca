"""Between workers and their NATS server: connections that are closed, and network links that are set down."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import socket
import subprocess
import threading


class Relay:
    """Passes connections on to a port of this machine. ``cut`` ends them, and refuses others until ``mend``."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, args=(self._listener,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", self._to))
                with self._lock:
                    self._open += [taken, there]
                threading.Thread(target=self._pass, args=(taken, there), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                for ready in select.select([one, other], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (other if ready is one else one).sendall(data)

    def cut(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        with self._lock:
            for each in self._open:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
            self._open.clear()

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._thread = threading.Thread(target=self._accept, args=(self._listener,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()


def no_networks() -> str:
    """The reason why no network namespaces can be made here, or an empty text."""
    if lacking := [tool for tool in ("unshare", "nsenter", "ip") if not shutil.which(tool)]:
        return f"{lacking[0]} is not installed"
    probe = ["unshare", "-n", "ip", "link", "add", "v1", "type", "veth", "peer", "name", "v2"]
    done = subprocess.run(probe, capture_output=True, text=True)
    return f"network namespaces cannot be made here: {done.stderr.strip()}" if done.returncode else ""


class Networks:
    """This thread, and what it starts, in a network namespace of its own; another one for the NATS server.

    Two virtual links connect them, and the server has an address at each. Loopback is up in both.
    """

    ADDRESSES = ("10.77.1.1", "10.77.2.1")

    def enter(self) -> list[str]:
        """The beginning of a command line in the server's namespace."""
        return ["nsenter", "-t", str(self._holder.pid), "-n"]

    def set_link(self, number: int, *, up: bool) -> None:
        """Set a link up or down at the server. While it is down, packets of both sides are lost without an error."""
        _run(*self.enter(), "ip", "link", "set", f"s{number}", "up" if up else "down")

    def __enter__(self) -> Networks:
        self._before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _checked(_LIBC.unshare(_CLONE_NEWNET))
        try:
            argv = ["unshare", "-n", "sh", "-c", "echo; exec sleep 900"]
            self._holder = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            assert self._holder.stdout is not None
            self._holder.stdout.readline()
            self._holder.stdout.close()
            _run("ip", "link", "set", "lo", "up")
            _run(*self.enter(), "ip", "link", "set", "lo", "up")
            for number, address in enumerate(self.ADDRESSES, 1):
                peer = ["type", "veth", "peer", "name", f"s{number}", "netns", str(self._holder.pid)]
                _run("ip", "link", "add", f"c{number}", *peer)
                _run("ip", "addr", "add", f"{address.rpartition('.')[0]}.2/24", "dev", f"c{number}")
                _run("ip", "link", "set", f"c{number}", "up")
                _run(*self.enter(), "ip", "addr", "add", f"{address}/24", "dev", f"s{number}")
                self.set_link(number, up=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        _checked(_LIBC.setns(self._before, _CLONE_NEWNET))
        os.close(self._before)
        self._holder.kill()
        self._holder.wait()


_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000


def _checked(returned: int) -> None:
    if returned:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
