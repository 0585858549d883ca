"""The first render process: it loads what rendering takes, and forks a child for each that the command asks for.

It is a fresh Python, so nothing of the command's memory is in it, and it never sees a target's data: each child begins
with code alone. It gets ``b"f"``, or ``b"c"`` for one that foreign text is rendered in, one end of a socket pair and
one of a pipe (where the child's threads are written when it crashes, or is asked for them by SIGUSR1), forks, and
answers with the child's pid, eight bytes. When the command is gone so is it, and so are its children.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys

#: What the fresh Python runs: it is given the descriptor of its socket, and Python's path behind that.
BOOT = "import sys; sys.path[:] = sys.argv[2:]; from pushsalt.children.starter import main; main(int(sys.argv[1]))"
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


def main(descriptor: int) -> None:
    """Until the command is gone."""
    _end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control = socket.socket(fileno=descriptor)
    load()
    while True:
        words, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not words:
            os._exit(0)
        if len(descriptors) != 2:
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            try:
                _child(descriptors[0], descriptors[1], confined=words == b"c")
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(pid.to_bytes(8, "big"))


def load() -> None:
    """All that most renderings use, once for all children."""
    import pushsalt.children.child
    import pushsalt.functions.state
    import pushsalt.pillar
    import pushsalt.render.jinja
    import pushsalt.render.renderers.jinja
    import pushsalt.render.renderers.yaml  # noqa: F401
    from thin import compat

    compat.install()  # `salt.*` for what users have written for the controller


def _child(descriptor: int, traces: int, confined: bool) -> None:
    import faulthandler
    import gc

    from pushsalt.children.child import Child

    _end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    faulthandler.enable(traces)
    faulthandler.register(signal.SIGUSR1, traces)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    child = Child(socket.socket(fileno=descriptor))
    root = logging.getLogger()
    root.handlers[:] = [_ReportingHandler(child.log)]
    root.setLevel(logging.WARNING)
    if confined:
        _confine()
    child.run()


class _ReportingHandler(logging.Handler):
    def __init__(self, tell: object) -> None:
        super().__init__(level=0)
        self.emit = tell  # type: ignore[method-assign, assignment]


def _confine() -> None:
    """Nothing is written, and nothing that is started may become another user."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _end_with_parent() -> None:
    """Where the system can do that: a loop in C notices no closed socket."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_DUMPABLE, 0)
    if os.getppid() != parent:
        os._exit(0)


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):
        pass
