"""A lock, so that at most one reactor follows a journal. It is released when its process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pushsalt import privatefolder
from pushsalt.errors import CommandError


@contextmanager
def only_one(journal: Path, wait: Callable[[str], bool], what: str = "react") -> Iterator[None]:
    """Hold the lock with the name ``what`` of a journal.

    While another process has it, ``wait`` is called with a message, and returns whether to wait further. Raises
    CommandError if not, and for a folder that cannot be used.
    """
    path = journal.with_name(f"{what}.lock")
    try:
        privatefolder.private_dir(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise CommandError(f"{path}: {exc.strerror or exc}", "check the cache folder") from None
    try:
        while not _locked(descriptor):
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            text = f"another `pushsalt {what}` follows this journal (process {holder or 'unknown'})"
            if not wait(text):
                raise CommandError(text, "one is enough: stop the other one first")
        with suppress(OSError):  # full disk: the lock holds, and only the message of others lacks the process
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
