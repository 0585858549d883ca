"""Searches files that are too large to be read as a whole: regular expressions search them mapped into memory, as in
Salt, and the result is yielded in pieces.

If a mapped file is truncated, a signal kills the process that reads it. Therefore a child process reads it and sends
the result.
"""

import errno
import os

from thin import waiting
from thin.utils.files import atomic, diff, safepath


def is_large(path):
    """Whether the file has more than diff.LIMIT bytes and can be mapped; a minimal Python cannot map files."""
    return os.path.getsize(path) > diff.LIMIT and os.path.isfile(path) and _mapping() is not None


def _mapping():
    """The module ``mmap``, or None."""
    try:
        import mmap
    except ImportError:
        return None
    return mmap


def head(path):
    """The first 512 bytes. Raises OSError."""
    with open(path, "rb", opener=safepath.opener) as source:
        return source.read(512)


def pieces(path, work):
    """Yield the bytes that ``work(data)`` yields, in other pieces; ``data`` is the mapped file. Raises OSError."""
    with open(path, "rb", opener=safepath.opener) as source:
        answer, output, pid = _begun(source, work)
    status = None
    try:
        while True:
            if not waiting.readable(answer):
                continue
            piece = os.read(answer, atomic.PIECE)
            if not piece:
                break
            yield piece
        words = os.read(output, 4096).decode("utf-8", "replace")
        status = os.waitpid(pid, 0)[1]
    finally:
        os.close(answer)
        os.close(output)
        if status is None:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    if status:
        raise OSError(errno.EIO, words or "it was truncated while it was read", path)


def _begun(source, work):
    """Start the child. Returns (descriptor of its result, descriptor of its error text, its process id)."""
    pipes = [os.pipe(), os.pipe()]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _work(source, work, pipes[0][1])
            code = 0
        except BaseException as exc:
            os.write(pipes[1][1], (str(exc) or type(exc).__name__).encode("utf-8", "replace")[:4096])
        finally:
            os._exit(code)
    for _, writing in pipes:
        os.close(writing)
    return pipes[0][0], pipes[1][0], pid


def _work(source, work, descriptor):
    gathered = bytearray()

    def write():
        view = memoryview(gathered)
        while view:
            view = view[os.write(descriptor, view) :]
        view.release()
        del gathered[:]

    mmap = _mapping()
    data = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
    for piece in work(data):
        gathered += piece
        if len(gathered) >= atomic.PIECE:
            write()
    write()
