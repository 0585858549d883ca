"""Records which entries a process is changing, so that others can complete the change if it is killed.

Each process has a file of keys, each with the name of the file that will be its entry (empty if it is removed or only
touched): UTF-8, each followed by NUL, escaped as in ``pushsalt.index.format``. The process holds the file by ``flock``.
Keys are added before a change, and removed when no change is in progress. A file without ``flock`` belongs to a dead
process: the changes of its keys may be incomplete.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import secrets
import threading
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pushsalt.index.format import decode, encode, escape, unescape

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
#: Stands for all keys in place of a key. It is not a valid escaped key.
_ALL: Final = "\1"


#: objects to close at the end of the process, which may not call ``__del__``
_existing: weakref.WeakSet[Intents] = weakref.WeakSet()


class Intents:
    """The intents of this process, in a folder; ``dead`` returns those of dead processes. Thread-safe. Methods raise
    OSError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mutex = threading.Lock()
        self._fd = -1
        self._pid = 0
        self._open = 0
        _existing.add(self)

    def begin(self, entries: Mapping[str, str] | None) -> None:
        """Record these keys (None: all keys), until ``end`` was called as many times as ``begin``."""
        pairs = [(_ALL, "")] if entries is None else [(escape(key), name) for key, name in entries.items()]
        data = b"".join(encode(f"{key}\0{name}\0") for key, name in pairs)
        with self._mutex:
            if self._fd < 0 or self._pid != os.getpid() or not os.fstat(self._fd).st_nlink:
                self._make()
            os.write(self._fd, data)
            self._open += 1

    def end(self) -> None:
        with self._mutex:
            self._open = max(0, self._open - 1)
            if not self._open and self._fd >= 0 and self._pid == os.getpid():
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, 0)

    def close(self) -> None:
        """Remove the file unless a change is in progress."""
        with self._mutex:
            if self._fd >= 0 and self._pid == os.getpid() and not self._open:
                with contextlib.suppress(OSError):
                    self._path.unlink()
            self._let_go()

    def _make(self) -> None:
        """Create and lock a file. Repeated if another process has removed the file before it was locked."""
        self._let_go()
        while True:
            self._path = self._folder / f"intent-{secrets.token_hex(8)}"
            fd = os.open(self._path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:
                self._fd, self._pid, self._open = fd, os.getpid(), 0
                return
            os.close(fd)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the object may be incomplete, or the interpreter may be exiting
            self.close()

    def _let_go(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @contextlib.contextmanager
    def dead(self) -> Iterator[tuple[list[tuple[str, str]], bool]]:
        """A context with (keys and files of dead processes, whether one recorded all keys); removed on success."""
        entries: list[tuple[str, str]] = []
        ids = []
        try:
            for path in self._folder.glob("intent-*"):
                with contextlib.suppress(FileNotFoundError):
                    fd = os.open(path, _FLAGS)
                    ids.append((path, fd))
                    try:
                        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        os.close(ids.pop()[1])
                        continue
                    texts = decode(os.pread(fd, os.fstat(fd).st_size, 0)).split("\0")[:-1]
                    entries += zip(texts[0::2], texts[1::2], strict=False)
            locks = [(unescape(key), name) for key, name in entries if key != _ALL]
            yield locks, len(locks) < len(entries)
            for path, _ in ids:
                path.unlink(missing_ok=True)
        finally:
            for _, fd in ids:
                os.close(fd)


@atexit.register
def _close_all() -> None:
    for intents in list(_existing):
        intents.close()


__all__ = ["Intents"]
