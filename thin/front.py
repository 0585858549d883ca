"""The front: the process that stays with the login while the supervisor of a run of states has a session of its own.

The supervisor (thin.surviving) reports the exit status of the session when it gives the channel up or ends. In a kept
session it also serves the sessions that follow (thin.sessions).
"""

import os


def divide(state, channel, lock_fd):
    """Fork the supervisor, and return there. It has a session of its own, so that the login's end does not reach it.

    The front ends with the status that the supervisor reports. It closes the channel and the lock, which are the
    supervisor's from then on.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.setsid()
        state["front"] = write
        return
    for fd in (write, lock_fd, channel.up, channel.down):
        if fd is not None:
            os.close(fd)
    os._exit(wait(read, pid))


def wait(read, pid=None):
    """The exit status, as the supervisor reports it or by its end."""
    try:
        output = os.read(read, 1)
    except OSError:
        output = b""
    if output or pid is None:
        return output[0] if output else 70
    code = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(code) if os.WIFEXITED(code) else 128 + os.WTERMSIG(code)
