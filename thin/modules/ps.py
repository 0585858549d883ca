"""Processes, processors, memory, disks and network counters. Salt: modules/ps.py

Salt uses the library psutil; this module reads Linux's /proc, so that targets need no library. Names, units and shapes
are those of psutil. Processes that end during the call are left out. This file has processes; ps_machine.py has the
rest.
"""

import os
import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.system import procfs

__reads__ = ("top", "get_pid_list", "proc_info", "pgrep", "status", "psaux", "lsof", "netstat", "ss")
__changes__ = ("kill_pid", "pkill")


def __virtual__():
    if os.path.isdir("/proc/self/task"):
        return True
    return False, "The ps module cannot be loaded: it reads /proc as Linux has it"


# Processes


def top(num_processes=5, interval=3):
    """
    Return the processes that used the most processor time during an interval

    num_processes
        their number
    interval
        seconds to measure

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.top 3 2
    """
    import time

    before = {(process.pid, process.stat[19]): _used(process) for process in procfs.processes()}
    time.sleep(interval)
    usage = []
    for process in procfs.processes():
        key = process.pid, process.stat[19]
        if key in before:
            usage.append((_used(process) - before[key], process))
    rows = []
    for _, process in sorted(usage, key=lambda item: item[0], reverse=True)[:num_processes]:
        try:
            rows.append(
                {
                    "cmd": process.cmdline() or process.name(),
                    "user": process.username(),
                    "status": process.status(),
                    "pid": process.pid,
                    "create_time": process.create_time(),
                    "cpu": process.cpu_times(),
                    "mem": process.memory_info(),
                }
            )
        except procfs.Gone:
            continue
    return rows


def get_pid_list():
    """
    Return the numbers of all processes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.get_pid_list
    """
    return procfs.pids()


def proc_info(pid, attrs=None):
    """
    Return data about a process as a dict

    pid
        its number
    attrs
        only these of psutil's attributes (``name``, ``cmdline``, ``status``, ``username``, ``memory_info`` …)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.proc_info 1 attrs='[username, status]'
    """
    try:
        return procfs.Process(pid).as_dict(attrs)
    except procfs.Gone as exc:
        raise CommandExecutionError(str(exc))


def kill_pid(pid, signal=15):
    """
    Send a signal to a process; returns whether there is such a process

    pid
        its number
    signal
        the signal's number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.kill_pid 4711 signal=15
    """
    try:
        os.kill(int(pid), int(signal))
    except ProcessLookupError:
        return False
    return True


def pkill(pattern, user=None, signal=15, full=False):
    """
    Send a signal to all processes whose name contains a text; ``{"killed": [numbers]}``, or None

    pattern
        the text
    user
        only processes of this user
    signal
        the signal's number
    full
        look for the text in the whole command line

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.pkill app-worker signal=10
    """
    killed = []
    for process in _matching(lambda text: str(pattern) in text, user, full):
        try:
            os.kill(process.pid, int(signal))
        except ProcessLookupError:
            continue
        killed.append(process.pid)
    return {"killed": killed} if killed else None


def pgrep(pattern, user=None, full=False, pattern_is_regex=False):
    """
    Return the numbers of the processes whose name contains a text, or None

    pattern
        the text
    user
        only processes of this user
    full
        look for the text in the whole command line
    pattern_is_regex
        the text is a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.pgrep sshd user=root
    """
    matches = re.compile(str(pattern)).search if pattern_is_regex else lambda text: str(pattern) in text
    return [process.pid for process in _matching(matches, user, full)] or None


def status(status):
    """
    Return ``[{"pid", "name"}]`` of the processes in a state

    status
        ``running``, ``sleeping``, ``disk-sleep``, ``stopped``, ``tracing-stop``, ``zombie``, ``dead``, ``wake-kill``,
        ``waking``, ``parked`` or ``idle``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.status zombie
    """
    if not status:
        raise SaltInvocationError("Filter is required for ps.status")
    wanted = str(status).replace("_", "-")
    return [{"pid": one.pid, "name": one.name()} for one in procfs.processes() if one.status() == wanted]


def psaux(name):
    """
    Return ``[pattern, [lines of "ps aux" that it is found in], "N occurrence(s)."]``

    name
        a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.psaux 'app-worker.+--queue'
    """
    pattern, own = re.compile(str(name)), re.compile(r"(salt|pushsalt).+ps\.psaux.+")
    lines = [line for line in _lines(["ps", "aux"]) if pattern.search(line) and not own.search(line)]
    return [str(name), lines, "%d occurrence(s)." % len(lines)]


def lsof(name):
    """
    Return ``[name, output of lsof for the processes whose name begins with this text]``

    name
        the beginning of a program's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.lsof nginx
    """
    output = __salt__["cmd.run"](["lsof", "-c", str(name)], python_shell=False, ignore_retcode=True)
    return [str(name), output]


def netstat(name):
    """
    Return ``[name, [lines of "netstat -nap" that contain it]]``

    name
        a text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.netstat nginx
    """
    return _sockets("netstat", "-nap", name)


def ss(name):
    """
    Return ``[name, [lines of "ss -neap" that contain it]]``

    name
        a text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.ss nginx
    """
    return _sockets("ss", "-neap", name)


# Private functions


def _used(process):
    times = process.cpu_times()
    return times["user"] + times["system"]


def _matching(matches, user, full):
    for process in procfs.processes():
        if not matches(" ".join(process.cmdline()) if full else process.name()):
            continue
        try:
            if user is None or process.username() == user:
                yield process
        except procfs.Gone:
            continue


def _sockets(program, option, name):
    if not __salt__["cmd.which"](program):
        raise CommandExecutionError('"%s" binary was not found in your $PATH' % program)
    return [str(name), [line for line in _lines([program, option]) if str(name) in line]]


def _lines(command):
    return __salt__["cmd.run"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"}).splitlines()
