"""The front: the process that stays with the login while the supervisor of a run of states has a session of its own.

The supervisor (thin.surviving) tells it how the session ended: with its exit status, and with ``SOUND`` if another
session may follow on the channel. In a kept session (thin.sessions) the front is the process that serves the next one.
It must not touch the channel until then.
"""

import os

#: Follows the exit status on the pipe.
SOUND = b"+"


def divide(state, channel, lock_fd, stays=False):
    """Fork the supervisor; returns None there. It has a session of its own, so that the login's end does not reach it.

    The front ends with the status that the supervisor reports; with ``stays``, it returns ``(exit status, whether
    another session may follow)`` instead. The lock is the supervisor's from then on.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.setsid()
        state["front"] = write
        return None
    for fd in (write, lock_fd) if stays else (write, lock_fd, channel.up, channel.down):
        if fd is not None:
            os.close(fd)
    status, sound = wait(read, pid)
    if not stays:
        os._exit(status)
    os.close(read)
    if sound:
        os.waitpid(pid, 0)  # the lock is free after that
    return status, sound


def wait(read, pid=None):
    """``(exit status, whether another session may follow)``, as the supervisor reports it or by its end."""
    try:
        output = os.read(read, 2)
    except OSError:
        output = b""
    status = output[0] if output else 70
    if not output and pid is not None:
        code = os.waitpid(pid, 0)[1]
        status = os.WEXITSTATUS(code) if os.WIFEXITED(code) else 128 + os.WTERMSIG(code)
    return status, output[1:] == SOUND
