"""Signals that arrive while a program of the controller starts, or before it."""

from __future__ import annotations

import signal
import subprocess
from typing import Any, NoReturn

import pytest

from pushsalt import programs
from tests.beds.processes import is_alive, wait_until


def test_a_program_ends_if_a_signal_arrives_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    pids = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            pids.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        programs.bounded(["sleep", "60"], 100, 30)
    assert len(pids) == 1
    wait_until(lambda: not is_alive(pids[0]))
    assert signal.getsignal(signal.SIGINT) is handler


def test_no_program_starts_after_a_signal_that_is_not_handled_yet() -> None:
    class LeaveError(Exception):
        pass

    def leave() -> NoReturn:
        raise LeaveError

    programs.interrupt(leave)
    with pytest.raises(LeaveError):
        programs.bounded(["false"], 100, 30)
    programs.interrupt(leave)
    programs.forget_interruption()
    assert programs.bounded(["echo", "x"], 100, 30).out == b"x\n"
