"""A command on a terminal of its own, with scripted input."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Sequence

from tests.beds.project import Done, Project


def on_terminal(project: Project, words: Sequence[str], typed: Sequence[tuple[str, str]]) -> tuple[Done, str]:
    """Run ``pushsalt words`` with a terminal for prompts, and pipes for its streams. Returns its result and the
    terminal's text.

    ``typed``: prompt -> the text that is typed when the prompt appears.
    """
    master, slave = pty.openpty()

    def take() -> None:
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        project.argv(*words),
        cwd=project.folder,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=take,
        pass_fds=(slave,),
    )
    shown = b""
    waiting = list(typed)
    end = time.monotonic() + 60
    while waiting and process.poll() is None and time.monotonic() < end:
        if select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 4096)
        if waiting[0][0].encode() in shown:
            os.write(master, waiting.pop(0)[1].encode() + b"\n")
    try:
        done = Project.finish(process)
    finally:
        while select.select([master], [], [], 0)[0]:
            shown += os.read(master, 4096)
        os.close(slave)
        os.close(master)
    return done, shown.decode("utf-8", "replace")
