"""Notes that a job has run and that its return is stored elsewhere.

The same shard of a job may reach two workers: the first one was slow, or was cut off from the server for a while. It
must not run what the second one has finished. So a worker that has stored a return says so by a frame b"T", and a note
remains on the target when the data of the run are removed. The note contains the name of the hand-out, that is the
number of the shard, and "good" if the return was good: a job that is resumed is handed out again, but never where the
return was good.

Notes are files ``done/JID-KEY`` in the private directory, named as the folders of thin.kept. Each is removed by the
first new one a day later.
"""

import os
import select
import stat
import time

from thin import kept
from thin.boot import private

DONE = "done"
#: Seconds for which a note remains.
LIFE = 24 * 3600
#: Bytes of a note in a frame, and the head of this frame.
SIZE = 16
_HEAD = b"T" + SIZE.to_bytes(4, "big")
_END = b"X" + bytes(4)
#: Seconds for the other side to confirm that it has read the end of a run.
HEARD = 30.0


def heard(down):
    """Whether the other side confirms in time that it has the end of a run, or drops the run: both is a frame b"X".

    Returns this and the note of a frame b"T" before it, or None.
    """
    poll = select.poll()
    poll.register(down, select.POLLIN)
    end, tail = time.monotonic() + HEARD, b""
    while time.monotonic() < end and poll.poll(int((end - time.monotonic()) * 1000) + 1):
        try:
            data = os.read(down, 65536)
        except OSError:
            break
        if not data:
            break
        tail = (tail + data)[-len(_HEAD) - SIZE - len(_END) :]
        if tail.endswith(_END):
            return True, tail[len(_HEAD) : -len(_END)] if tail.startswith(_HEAD) else None
    return False, None


def note(state, text):
    """Write the note of the job ``state["job"]``. An OSError is ignored, since the note is rarely needed."""
    try:
        try:
            os.mkdir(DONE, 0o700, dir_fd=state["dir_fd"])
        except FileExistsError:
            pass
        folder = private(DONE, state["dir_fd"])
        try:
            name = kept.name(state)
            try:
                os.unlink(name, dir_fd=folder)  # of an earlier hand-out
            except FileNotFoundError:
                pass
            fd = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
            try:
                os.write(fd, text[:SIZE])
            finally:
                os.close(fd)
            _prune(folder)
        finally:
            os.close(folder)
    except OSError:
        pass


def is_done(state):
    """Whether the hand-out ``state["once"]`` of the job has run, or another one had a good return."""
    try:
        folder = private(DONE, state["dir_fd"])
    except OSError:
        return False
    try:
        fd = os.open(kept.name(state), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        try:
            words = os.read(fd, SIZE).decode("ascii", "replace").split()
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return False
    finally:
        os.close(folder)
    return words[:1] == [state["once"]] or words[1:] == ["good"]


def _prune(folder):
    limit = time.time() - LIFE
    for entry in os.listdir(folder):
        status = os.stat(entry, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode) and status.st_mtime < limit:
            os.unlink(entry, dir_fd=folder)
