"""Reports commands that login shells execute, by strace. Salt: ``salt/beacons/sh.py``."""

import os
import re

from thin import process
from thin.utils import beacons

#: Maximum number of traced shells, and of bytes that are read of each at once.
MOST, ROOM = 100, 65536
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
#: name of the beacon -> process number of a shell -> Trace
_traces = {}


def __virtual__():
    return (True, "") if process.which("strace") else (False, "there is no strace")


def validate(config):
    """Whether the configuration is a list."""
    return beacons.VALID if isinstance(config, list) else beacons.no_list("sh")


def beacon(config):
    """
    An event for each program that a shell has started: ``cmd``, ``args``, ``user``; the tag ends with the shell's PID

    .. code-block:: yaml

        beacons:
          sh: []

    Only shells without arguments are traced, such as those of logins. Arguments of programs may contain secrets.
    """
    traces = _traces.setdefault(beacons.name_of(config, "sh"), {})
    shells, running = __salt__["cmd.shells"](), __salt__["status.procs"]()
    for pid, about in running.items():
        command = about.get("cmd", "").lstrip("-")
        if pid not in traces and command and len(traces) < MOST and any(command in shell for shell in shells):
            traces[pid] = Trace(pid, about.get("user"))
    events = []
    for pid in list(traces):
        events += [dict(event, tag=pid) for event in traces[pid].events()]
        if traces[pid].has_ended:
            traces.pop(pid).close()
    return events


def close(config):
    """End all traces; the shells continue."""
    for trace in _traces.pop(beacons.name_of(config, "sh"), {}).values():
        trace.close()


class Trace(object):
    """A strace of one shell, a child of this process."""

    def __init__(self, pid, user):
        import subprocess

        self._user, self._rest = user, b""
        self._strace = subprocess.Popen(
            ["strace", "-f", "-e", "trace=execve", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        os.set_blocking(self._strace.stderr.fileno(), False)
        self.has_ended = False

    def events(self):
        """The events for the output since the last call."""
        try:
            data = os.read(self._strace.stderr.fileno(), ROOM)
        except BlockingIOError:
            return []
        self.has_ended = not data
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()[-ROOM:]
        return [event for event in map(self._event, lines) if event]

    def _event(self, line):
        _, is_call, call = line.decode("utf-8", "replace").partition("execve(")
        words = _QUOTED.findall(call) if is_call else []
        return {"cmd": words[0], "args": words[1:], "user": self._user} if words else None

    def close(self):
        """End the trace."""
        self._strace.terminate()
        self._strace.wait()
        self._strace.stderr.close()
