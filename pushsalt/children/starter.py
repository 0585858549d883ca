"""The first render process: loads the modules for rendering, and forks children on request of the command.

It is a new Python process, so it has none of the command's memory, and it never gets a target's data: each child begins
with code only. It receives ``b"f"``, or ``b"c"`` for a child that renders foreign text, with one end of a socket pair,
one of a pipe (to which the child writes the frames of its threads when it crashes, or gets SIGUSR1) and one of a pipe
that closes when the child is to end, forks, and answers with the child's pid, eight bytes. It ends with the command,
and its children with it, and with these all programs that templates started.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys

#: The program of the starter; its arguments are the descriptor of its socket, and Python's path.
BOOT = "import sys; sys.path[:] = sys.argv[2:]; from pushsalt.children.starter import main; main(int(sys.argv[1]))"
#: State functions whose signatures most trees need.
_COMMON = ("file.managed", "pkg.installed", "service.running", "cmd.run")
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


def main(descriptor: int) -> None:
    """Run until the command closes the connection."""
    end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control = socket.socket(fileno=descriptor)
    begin()
    serve(control)


def begin() -> None:
    """Load what forks have in common."""
    gc.disable()  # loaded modules are never freed
    load()


def serve(control: socket.socket) -> None:
    """Fork children until the command closes the connection."""
    while True:
        words, descriptors, _, _ = socket.recv_fds(control, 1, 3)
        if not words:
            os._exit(0)
        if len(descriptors) != 3:
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            try:
                _lead(descriptors[2])
                _child(descriptors[0], descriptors[1], confined=words == b"c")
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(pid.to_bytes(8, "big"))


def load() -> None:
    """Load the modules that most renderings use, once for all children."""
    import pushsalt.children.child
    import pushsalt.functions.state
    import pushsalt.modules.custom
    import pushsalt.pillar
    import pushsalt.render.jinja
    import pushsalt.render.renderers.jinja
    import pushsalt.render.renderers.yaml  # noqa: F401
    from thin import compat

    compat.install()  # `salt.*` for users' plug-ins of the controller


def warm() -> None:
    """Fill the caches that depend on the installation only, for a starter that waits: otherwise a child's first
    rendering takes twice as long as others.
    """
    from pushsalt import plugins
    from pushsalt.children import rehearsal
    from pushsalt.modules.signatures import StateFunctions
    from pushsalt.render import code, jinja
    from pushsalt.yamlio import load_yaml

    plugins.mentioned("pushsalt")
    functions = StateFunctions()
    for name in _COMMON:
        functions.spec(name)
    code.compiler()
    jinja.parsing_environment().compile("{% set name = 1 %}{{ name }}")
    load_yaml("id:\n  file.managed:\n    - mode: '0644'\n")
    with contextlib.suppress(Exception):  # a rendering reports its own errors
        rehearsal.rehearse()
    gc.collect()  # once: it is disabled


def _child(descriptor: int, traces: int, confined: bool) -> None:
    import faulthandler

    from pushsalt.children.child import Child

    end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    faulthandler.enable(traces)
    faulthandler.register(signal.SIGUSR1, traces)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()
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
    """Forbid the process to write files, and programs that it starts to gain privileges."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def end_with_parent() -> None:
    """Let the kernel kill this process with its parent, if it can: a loop in C code notices no closed socket."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_DUMPABLE, 0)
    if os.getppid() != parent:
        os._exit(0)


def _lead(life: int) -> None:
    """Create a process group, led by this process, which the kernel kills when the other end of the pipe ``life`` is
    closed.

    The command holds that end and never writes. O_ASYNC raises the signal also in programs that the group started,
    however the command ended, and while a template waits for one.
    """
    os.setpgid(0, 0)
    if sys.platform != "linux":
        return
    import fcntl

    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):
        pass
