"""Salt: ``salt/utils/process.py``, the parts that modules use."""

import multiprocessing
import os
import signal

__all__ = ["MultiprocessingProcess", "Process", "SignalHandlingProcess", "clean_proc", "os_is_running"]

Process = MultiprocessingProcess = SignalHandlingProcess = multiprocessing.Process


def os_is_running(pid):
    """Whether a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def clean_proc(proc, wait_for_kill=10):
    """End a child process, by SIGKILL if needed."""
    if not proc:
        return
    proc.terminate()
    proc.join(wait_for_kill)
    if proc.is_alive():
        os.kill(proc.pid, signal.SIGKILL)
