"""Prevents concurrent runs by a kernel lock on the file ``lock`` of the private directory.

A resource without a private directory has a separate lock file, ``lock-…``, in that of its manager.

The lock belongs to the descriptor, so it ends with the process that holds it. The file stays; its existence does not
mean that a run is in progress. It contains the controller's message for people (who, since when, from where).
"""

import errno
import fcntl
import os

_FREE = 0o600


class Held(Exception):
    """Another process has the lock; the text is the message of the holder."""


def acquire(dir_fd, home, words, pause, name="lock"):
    """A descriptor that holds the lock. Closing it, or the end of the process, releases the lock.

    ``dir_fd`` is the private directory, ``name`` the file in it; if it is -1, the folder ``home`` is locked, without
    message. While another process has the lock, ``pause(words)`` is called with its message; that returns after some
    time, or raises an exception to stop waiting. None if there is nothing to lock, or the file system has no locks.
    """
    while True:
        fd = _open(dir_fd, home, name)
        if fd is None:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            held = exc.errno in (errno.EWOULDBLOCK, errno.EACCES)
            holder = _words(fd) if held and dir_fd >= 0 else ""
            os.close(fd)
            if not held:
                return None
            pause(holder or "another run")
            continue
        if dir_fd < 0:
            return fd
        if _current(fd, dir_fd, name):
            _write(fd, words)
            return fd
        os.close(fd)  # a clean-up removed the file in between


def _open(dir_fd, home, name):
    try:
        if dir_fd >= 0:
            return os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _FREE, dir_fd=dir_fd)
        return os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if home else None
    except OSError:
        if dir_fd < 0:
            return None
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)  # a read-only file system
    except OSError:
        return None


def _current(fd, dir_fd, name):
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(status, os.fstat(fd))


def _words(fd):
    return os.pread(fd, 1000, 0).decode("utf-8", "replace").strip()


def _write(fd, words):
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, words.encode("utf-8", "replace")[:1000] + b"\n", 0)
    except OSError:
        pass  # a full disk: the lock is held, but has no message
