"""Storage of the frames of a run that may outlive its connection: in memory first, then in a folder of the job.

The folder is ``jobs/JID-KEY`` in the private directory, 0700. KEY is derived from the controller's key for this target,
so the JID alone is not enough to find it. The folder contains::

    frames   b"PSKEPT1\\n", then records: 4 bytes number of the frame, then the frame in the downward form of thin.wire
    end      exists when the last frame was written
    s        the socket of the supervisor, while that runs (thin.surviving)

Returns, events and the last error are written to disk, but never questions, which may contain pillar. Nothing is
written while the connection exists, unless the limit of memory is reached. The folder is removed when the controller
has received all frames, or after a week.
"""

import os
import stat
import time

from thin.boot import private, sha256

JOBS, FRAMES, END, SOCKET = "jobs", "frames", "end", "s"
#: Maximum bytes of frames in memory, and in the file.
MEMORY, LIMIT = 4 * 1024 * 1024, 128 * 1024 * 1024
#: Seconds after which a folder that was not collected is removed.
LIFE = 7 * 24 * 3600
MARK = b"PSKEPT1\n"

_HEAD = 9
#: Beginnings of the messages of a return, after the byte with the number of fields of the map.
_RETURNS = tuple(b"\xa1k" + bytes([0xA0 + len(word)]) + word for word in (b"state", b"event", b"ret", b"exc", b"error"))


def _mac(key, data):
    """HMAC-SHA256 with a key of up to 64 bytes (the hmac module would import hashlib)."""
    key = key.ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + data).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()


def name(state, jid=None):
    """The name of the folder of a job. Raises ValueError if the JID is invalid."""
    jid = state["job"] if jid is None else jid
    if not (isinstance(jid, str) and jid.isdigit() and len(jid) <= 40):
        raise ValueError("%r is no JID" % (jid,))
    return "%s-%s" % (jid, _mac(state["key"], b"job " + jid.encode("ascii")).hex()[:24])


def folder(dir_fd, name, make=False):
    """A descriptor of the job's folder.

    Raises OSError: FileNotFoundError if it does not exist, another one if it is another user's or writable by others.
    """
    if make:
        _make(JOBS, dir_fd)
    jobs = private(JOBS, dir_fd)
    try:
        if make:
            _make(name, jobs)
        return private(name, jobs)
    finally:
        os.close(jobs)


def _make(name, dir_fd):
    try:
        os.mkdir(name, 0o700, dir_fd=dir_fd)
    except FileExistsError:
        pass


def has_ended(fd):
    """Whether the run has ended and all of its frames are in the folder."""
    try:
        os.stat(END, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def ended(state):
    """The JIDs of this controller's runs that have ended and were not collected."""
    try:
        jobs = private(JOBS, state["dir_fd"])
    except OSError:
        return []
    result = []
    try:
        for entry in sorted(os.listdir(jobs)):
            jid = entry.partition("-")[0]
            if jid.isdigit() and len(jid) <= 40 and entry == name(state, jid):
                try:
                    fd = private(entry, jobs)
                except OSError:
                    continue
                if has_ended(fd):
                    result.append(jid)
                os.close(fd)
    finally:
        os.close(jobs)
    return result


def remove(dir_fd, name):
    """Remove the folder of a job, and the folder ``jobs`` if that is empty then."""
    try:
        jobs = private(JOBS, dir_fd)
    except OSError:
        return
    try:
        _remove(jobs, name)
    finally:
        os.close(jobs)
    try:
        os.rmdir(JOBS, dir_fd=dir_fd)
    except OSError:
        pass


def _remove(jobs, name):
    try:
        fd = private(name, jobs)
    except OSError:
        return
    try:
        for entry in os.listdir(fd):
            os.unlink(entry, dir_fd=fd)
    except OSError:
        pass
    finally:
        os.close(fd)
    try:
        os.rmdir(name, dir_fd=jobs)
    except OSError:
        pass


def prune(dir_fd):
    """Remove folders that were not collected for a week."""
    try:
        jobs = private(JOBS, dir_fd)
    except OSError:
        return
    try:
        for entry in os.listdir(jobs):
            try:
                status = os.stat(entry, dir_fd=jobs, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode) and status.st_mtime < time.time() - LIFE:
                _remove(jobs, entry)
    finally:
        os.close(jobs)


def is_return(frame):
    """Whether a frame is part of a return: such frames are written to disk."""
    return frame[:1] == b"M" and frame[5] & 0xF0 == 0x80 and frame[6:].startswith(_RETURNS)


class Spool(object):
    """The frames of a run, numbered from 0. Raises OSError if the folder cannot be made."""

    def __init__(self, dir_fd, name):
        self._dir_fd, self._name = dir_fd, name
        prune(dir_fd)
        self.fd = folder(dir_fd, name, make=True)
        for entry in os.listdir(self.fd):  # of a run that was killed
            os.unlink(entry, dir_fd=self.fd)
        self.frames = []  # each is bytes, its (offset, size) in the file, or None for an answered question
        self._memory = 0
        self._file = None
        self._size = 0
        self._seen = 0  # frames before this one need not be checked again
        self._oldest = 0
        self.trouble = None  # why nothing can be written

    @property
    def full(self):
        """Whether the frames exceed the limit."""
        return self._size > LIMIT

    def add(self, frame):
        """Keep a frame, in the downward form."""
        self.frames.append(frame)
        self._memory += len(frame)
        if self._file is not None or self._memory > MEMORY:
            self.write()

    def write(self):
        """Write the frames in memory to disk; later frames are written at once."""
        if self.trouble is not None:
            return
        try:
            if self._file is None:
                self._file = self._open(FRAMES, os.O_RDWR | os.O_APPEND)
                self._append(MARK)
            for number in range(self._seen, len(self.frames)):
                frame = self.frames[number]
                if is_return(frame):
                    self._append(number.to_bytes(4, "big") + frame)
                    self.frames[number] = (self._size - len(frame), len(frame))
                    self._memory -= len(frame)
                self._seen = number + 1
        except OSError as exc:
            self.trouble = exc
        while self._memory > MEMORY and self._oldest < self._seen:
            frame = self.frames[self._oldest]
            if isinstance(frame, bytes):  # a question, which has been answered
                self._memory -= len(frame)
                self.frames[self._oldest] = None
            self._oldest += 1

    def _open(self, name, flags):
        flags |= os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self.fd)

    def _append(self, data):
        view = memoryview(data)
        while view:
            written = os.write(self._file, view)
            self._size += written
            view = view[written:]

    def since(self, number):
        """The frames from this number on."""
        for frame in self.frames[max(0, number) :]:
            if isinstance(frame, tuple):
                frame = os.pread(self._file, frame[1], frame[0])
            if frame is not None:
                yield frame

    def finish(self, last=None):
        """Write all frames, and ``last``, a final frame, if given, to disk. On failure ``trouble`` has the reason."""
        self.write()
        if self.trouble is not None:
            return
        try:
            if last is not None:
                self._append(len(self.frames).to_bytes(4, "big") + last)
            os.fsync(self._file)
            os.unlink(SOCKET, dir_fd=self.fd)
            os.close(self._open(END, os.O_WRONLY))
            os.fsync(self.fd)
        except OSError as exc:
            self.trouble = exc

    def close(self):
        """Close its files."""
        for fd in (self.fd, self._file):
            if fd is not None:
                os.close(fd)

    def remove(self):
        remove(self._dir_fd, self._name)


def read(fd, number):
    """``(number, frame)`` of each frame in a run's folder, from that number on; an incomplete frame is left out."""
    try:
        frames = os.open(FRAMES, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=fd)
    except OSError:
        return
    with os.fdopen(frames, "rb") as stream:
        if not stat.S_ISREG(os.fstat(frames).st_mode) or stream.read(len(MARK)) != MARK:
            return
        while True:
            head = stream.read(_HEAD)
            if len(head) < _HEAD:
                return
            size = int.from_bytes(head[5:], "big")
            payload = stream.read(size) if size <= LIMIT else b""
            if len(payload) < size:
                return
            if int.from_bytes(head[:4], "big") >= number:
                yield int.from_bytes(head[:4], "big"), head[4:] + payload
