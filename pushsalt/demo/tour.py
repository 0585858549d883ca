"""The tour: shows commands as a person would type them, runs each in the project folder, and passes on its output."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pushsalt

#: Runs the command line of this installation. `-c` would put the working folder first on the path, so it is removed.
_PROGRAM = """\
import sys
sys.path[:1] = []
sys.path.append({root!r})
from pushsalt.cli.__main__ import main
main()
"""
_OURS = ("PUSHSALT_INVENTORY", "PUSHSALT_CONFIG", "PUSHSALT_CACHE")
IDS = ("web1", "web2", "db1")
SITE = "shop.example"
#: Seconds that a command has, after a signal, to stop its work and print its results.
GRACE = 15.0


class StoppedError(BaseException):
    """The demo received a signal; the text is its name."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True)
class Scene:
    """The properties that differ between kinds of targets: description, Apache's folder, a check, and a text about
    remaining files.
    """

    words: str
    apache: str
    check: Callable[[], None] | None = None
    stays: str = ""


class Tour:
    """Shows commands; ``failed`` has those that did not succeed."""

    def __init__(self, project: Path, write: Callable[[str], None], color: bool) -> None:
        self.project = project
        self.failed: list[str] = []
        self._write = write
        self._color = color

    def say(self, text: str, style: str = "") -> None:
        """Print a line of the demo. ``style``: an SGR number for terminals."""
        self._write(f"\x1b[{style}m{text}\x1b[0m\n" if style and self._color and text else f"{text}\n")

    def show(self, why: str, *words: str) -> None:
        """Show and run a command of pushsalt: its purpose, the command, its output."""
        command = shlex.join(["pushsalt", *words])
        self.say(f"\n# {why}", "2")
        self.say(f"$ {command}", "1")
        if self.run(words):
            self.failed.append(command)

    def run(self, words: Sequence[str]) -> int:
        """Run a command; returns its exit code. A signal is passed on to the command, whose end is awaited."""
        child = self.start(words)
        try:
            return child.wait()
        except StoppedError as exc:
            child.send_signal(exc.number)
            raise
        finally:
            try:
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def start(self, words: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        """Start a command. ``more``: further arguments of Popen."""
        program = _PROGRAM.format(root=str(Path(pushsalt.__file__).parents[1]))
        env = {name: value for name, value in os.environ.items() if name not in _OURS}
        # A new session: Ctrl-C in a terminal only reaches the demo, which passes on all signals.
        argv = [sys.executable, "-c", program, *words]
        return subprocess.Popen(
            argv, cwd=self.project, env=env, stdin=subprocess.DEVNULL, start_new_session=True, **more
        )
