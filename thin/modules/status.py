"""The status of the target: time, load, memory, processes, logins. Salt: modules/status.py

Linux is read from /proc; on the BSDs and macOS programs are called. A function that a system does not support returns
the text ``counters.UNSUPPORTED``, as in Salt. Disks and the network are in status_devices.py.
"""

import os
import time as _time

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.outputs import counters
from thin.utils.system import procfs

__func_alias__ = {"time_": "time"}
__reads__ = (
    "all_status",
    "custom",
    "time",
    "uptime",
    "loadavg",
    "cpustats",
    "cpuinfo",
    "nproc",
    "meminfo",
    "vmstats",
    "procs",
    "pid",
    "w",
    "version",
    "master",
    "ping_master",
    "proxy_reconnect",
)

log = getLogger(__name__)

_OPENBSD_VM = (
    "active virtual pages",
    "free list size",
    "page faults",
    "pages reclaimed",
    "pages paged in",
    "pages paged out",
    "pages freed",
    "pages scanned",
)


def __virtual__():
    if __grains__.get("kernel") == "Windows":
        return False, "Windows platform is not supported by this module"
    return True


# Composites


def all_status():
    """
    Return the results of all functions of this module, by name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.all_status
    """
    parts = ("cpuinfo", "cpustats", "diskstats", "diskusage", "loadavg", "meminfo", "netdev", "netstats", "uptime")
    return {part: __salt__["status." + part]() for part in parts + ("vmstats", "w")}


def custom():
    """
    Return the values that the configuration names: ``status.cpustats.custom: [ctxt, btime]`` and the like

    Each such option names a function and keys of its result; the value of a missing key is "UNKNOWN".

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.custom
    """
    result = {}
    for option, names in __salt__["config.dot_vals"]("status").items():
        function = option.rpartition(".")[0]
        if function == "status.custom":
            continue
        if function not in __salt__:
            log.warning("there is no function status.%s", function)
            continue
        values = __salt__[function]()
        for name in names:
            if name not in values:
                log.warning("the result of status.%s has no %s", function, name)
            result[name] = values.get(name, "UNKNOWN")
    return result


# Time and load


def time_(format="%A, %d. %B %Y %I:%M%p"):
    """
    Return the local date and time

    format
        a format of ``strftime``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.time '%H:%M:%S'
    """
    return _time.strftime(format)


def uptime():
    """
    Return ``{"seconds", "since_iso", "since_t", "days", "time", "users"}``: the time since boot

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.uptime
    """
    now = _time.time()
    if _kernel() == "Linux":
        seconds = int(float(_proc("/proc/uptime").split()[0]))
    elif _kernel() in ("FreeBSD", "DragonFly", "Darwin", "OpenBSD", "NetBSD"):
        seconds = int(now - counters.boot_time(__salt__["sysctl.get"]("kern.boottime")))
    else:
        return _run("uptime")
    since = now - seconds
    days, rest = divmod(seconds, 86400)
    result = {
        "seconds": seconds,
        "since_iso": _iso(since),
        "since_t": int(since),
        "days": days,
        "time": "%d:%d" % (rest // 3600, rest % 3600 // 60),
    }
    if __salt__["cmd.which"]("who"):
        output = _run("who") if _kernel() == "OpenBSD" else _run("who", "-s")
        result["users"] = len(output.split("\n"))
    return result


def loadavg():
    """
    Return the load of the last 1, 5 and 15 minutes: ``{"1-min", "5-min", "15-min"}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.loadavg
    """
    return dict(zip(("1-min", "5-min", "15-min"), os.getloadavg()))


# Processors and memory


def cpustats():
    """
    Return the times that the processors spent in each state, and the numbers of interrupts and processes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.cpustats
    """
    kernel = _kernel()
    if kernel == "Linux":
        return counters.of_stat(procfs.read("/proc/stat", ""))
    if kernel in ("FreeBSD", "DragonFly"):
        return counters.of_vmstat(_run("vmstat", "-P").splitlines())
    if kernel == "OpenBSD":
        lines = [line.split() for line in _run("systat", "-s", "2", "-B", "cpu").splitlines()]
        return {row[0]: dict(zip(lines[3][1:], row[1:])) for row in lines[4:] if row}
    return counters.UNSUPPORTED


def cpuinfo():
    """
    Return the system's data about its last processor

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.cpuinfo
    """
    kernel = _kernel()
    if kernel == "Linux":
        result = {}
        for line in procfs.read("/proc/cpuinfo", "").splitlines():
            if line:
                fields = line.split(":")
                name, value = fields[0].strip(), fields[1].strip() if len(fields) > 1 else ""
                result[name] = value.split() if name == "flags" else value
        return result
    if kernel in ("FreeBSD", "DragonFly", "NetBSD", "OpenBSD", "Darwin"):
        sign = "=" if kernel in ("NetBSD", "OpenBSD") else ":"
        rows = [line.split(sign, 1) for line in _run("sysctl", "hw.model", "hw.ncpu").splitlines() if sign in line]
        return {row[0].strip(): row[1].strip() for row in rows}
    return counters.UNSUPPORTED


def nproc():
    """
    Return the number of available processors

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.nproc
    """
    kernel = _kernel()
    if kernel == "Linux":
        return len(os.sched_getaffinity(0))
    if kernel in ("Darwin", "FreeBSD", "DragonFly", "OpenBSD"):
        return counters.number(__salt__["sysctl.get"]("hw.ncpu") or "1")
    return counters.UNSUPPORTED


def meminfo():
    """
    Return ``{name: {"value", "unit"}}`` of /proc/meminfo, or the memory values of vmstat and sysctl

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.meminfo
    """
    kernel = _kernel()
    if kernel == "Linux":
        result = {}
        for line in procfs.read("/proc/meminfo", "").splitlines():
            name, _, rest = line.partition(":")
            words = rest.split()
            result[name] = dict({"value": words[0]}, **({"unit": words[1]} if len(words) > 1 else {}))
        return result
    if kernel in ("FreeBSD", "DragonFly"):
        rows = [line.split(":") for line in _run("sysctl", "vm").splitlines() if line.startswith("vm")]
        result = {row[0].strip(): row[1].strip() for row in rows if len(row) > 1 and row[1].strip()}
        result["vm.vmtotal"] = [line for line in _run("sysctl", "-n", "vm.vmtotal").splitlines() if line]
        return result
    if kernel == "OpenBSD":
        return dict(zip(_OPENBSD_VM, _run("vmstat").splitlines()[2].split()[2:10]))
    return counters.UNSUPPORTED


def vmstats():
    """
    Return the counters of the virtual memory: ``{name: number}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.vmstats
    """
    if _kernel() == "Linux":
        rows = (line.split() for line in procfs.read("/proc/vmstat", "").splitlines())
        return {row[0]: counters.number(row[1]) for row in rows if len(row) > 1}
    if _kernel() in ("FreeBSD", "DragonFly", "OpenBSD"):
        rows = (line.split(None, 1) for line in _run("vmstat", "-s").splitlines())
        return {row[1]: int(row[0]) for row in rows if len(row) > 1 and row[0].isdigit()}
    return counters.UNSUPPORTED


# Processes and users


def procs():
    """
    Return ``{pid: {"user", "cmd"}}`` of all processes, as ps lists them

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.procs
    """
    lines = _ps().splitlines()
    heads = lines[0].split() if lines else []
    user, pid, cmd = [
        next((heads.index(name) for name in names if name in heads), 0)
        for names in (("USER", "UID"), ("PID",), ("COMMAND", "CMD"))
    ]
    rows = [line.split() for line in lines[1:] if line.strip()]
    return {row[pid]: {"user": row[user], "cmd": " ".join(row[cmd:])} for row in rows}


def pid(sig):
    """
    Return the numbers of the processes whose line of ps matches, one a line; "" for none

    sig
        a regular expression

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.pid sshd
    """
    import re

    own = str(os.getpid())
    lines = [line for line in _ps().splitlines() if own not in line and re.search(str(sig), line)]
    return "\n".join(line.split()[1] for line in lines)


def w():
    """
    Return the users who are logged in: ``[{"user", "tty", "login", "idle", "jcpu", "pcpu", "what"}]``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.w
    """
    kernel = _kernel()
    if kernel == "Linux":
        names, rows = ("user", "tty", "login", "idle", "jcpu", "pcpu"), _run("w", "-fh")
    elif kernel in ("Darwin", "FreeBSD", "DragonFly", "OpenBSD"):
        names, rows = ("user", "tty", "from", "login", "idle"), _run("w", "-h")
    else:
        return counters.UNSUPPORTED
    split = [row.split() for row in rows.splitlines() if len(row.split()) >= len(names)]
    return [dict(zip(names, row), what=" ".join(row[len(names) :])) for row in split]


def version():
    """
    Return the kernel's description of its version

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.version
    """
    if _kernel() == "Linux":
        return procfs.read("/proc/version", "").strip()
    if _kernel() in ("FreeBSD", "DragonFly", "OpenBSD", "Darwin"):
        return _run("sysctl", "-n", "kern.version")
    return counters.UNSUPPORTED


# Functions of a minion's daemon, which targets do not have


def master(master=None, connected=True):
    """
    Return whether there is a connection to a Salt master: False, since a target has none; None when none is named

    master
        the master's name
    connected
        accepted, and without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.master salt.example.org
    """
    return False if master else None


def ping_master(master):
    """
    Return False: a target has no connection to a Salt master

    master
        the master's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.ping_master salt.example.org
    """
    return False


def proxy_reconnect(proxy_name, opts=None):
    """
    Return False: there is no proxy minion that could be connected again

    proxy_name
        the proxy module's name
    opts
        accepted, and without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.proxy_reconnect switch01
    """
    return False


# Private functions


def _kernel():
    return __grains__.get("kernel")


def _run(*command):
    return __salt__["cmd.run"](list(command), python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})


def _proc(path):
    text = procfs.read(path)
    if text is None:
        raise CommandExecutionError("File %s was not found." % path)
    return text


def _iso(seconds):
    """A time without a zone, in the format of datetime: with microseconds if there are some."""
    from datetime import datetime, timezone

    return datetime.fromtimestamp(seconds, timezone.utc).replace(tzinfo=None).isoformat()


def _ps():
    """The output of ps with the options of the grain; if ps does not have them, the same columns from /proc."""
    command = __grains__.get("ps") or "ps -efHww"
    done = __salt__["cmd.run_all"](command.split(), python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
    if done["retcode"] == 0 and done["stdout"].strip():
        return done["stdout"]
    rows = ["UID PID PPID C STIME TTY TIME CMD"]
    for process in procfs.processes():
        try:
            words = process.cmdline() or ["[%s]" % process.comm]
            rows.append(
                "%s %d %s 0 - ? 00:00:00 %s" % (process.username(), process.pid, process.stat[1], " ".join(words))
            )
        except procfs.Gone:
            continue
    return "\n".join(rows)
