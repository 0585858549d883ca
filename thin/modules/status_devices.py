"""Counters of disks and the network: a part of ``status``. Salt: modules/status.py

See status.py for the sources of the values.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.outputs import counters
from thin.utils.system import procfs

__virtualname__ = "status"
__reads__ = ("diskstats", "diskusage", "netstats", "netdev")

log = getLogger(__name__)


_DISK = (
    "reads_issued",
    "reads_merged",
    "sectors_read",
    "ms_spent_reading",
    "writes_completed",
    "writes_merged",
    "sectors_written",
    "ms_spent_writing",
    "io_in_progress",
    "ms_spent_in_io",
    "weighted_ms_spent_in_io",
)
_NET = (
    "rx_bytes",
    "rx_packets",
    "rx_errs",
    "rx_drop",
    "rx_fifo",
    "rx_frame",
    "rx_compressed",
    "rx_multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errs",
    "tx_drop",
    "tx_fifo",
    "tx_colls",
    "tx_carrier",
    "tx_compressed",
)


def __virtual__():
    if __grains__.get("kernel") == "Windows":
        return False, "Windows platform is not supported by this module"
    return __virtualname__


def _kernel():
    return __grains__.get("kernel")


def _run(*command):
    return __salt__["cmd.run"](list(command), python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})


def diskstats():
    """
    Return ``{device: {"reads_issued", "sectors_read", "writes_completed", …}}`` since the start

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.diskstats
    """
    diskstats = {}
    if _kernel() == "Linux":
        for line in procfs.read("/proc/diskstats", "").splitlines():
            row = line.split()
            diskstats[row[2]] = {"major": int(row[0]), "minor": int(row[1]), "device": counters.number(row[2])}
            diskstats[row[2]].update(zip(_DISK, [counters.number(value) for value in row[3:]]))
        return diskstats
    if _kernel() in ("FreeBSD", "DragonFly"):
        lines = [line.split() for line in _run("iostat", "-xzd").splitlines()]
        for row in lines[2:]:
            diskstats[row[0]] = dict(zip(lines[1][1:], [counters.number(value) for value in row[1:]]))
        return diskstats
    return counters.UNSUPPORTED


def diskusage(*args):
    """
    Return ``{path: {"available", "total"}}`` in bytes of mounted file systems

    args
        paths, and globs of file system types (``ext?``); without any, of all file systems

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.diskusage /srv xfs
    """
    from fnmatch import fnmatchcase

    paths = [arg for arg in args if arg.startswith("/")]
    kinds = [arg for arg in args if not arg.startswith("/")] if args else ["*"]
    if kinds:
        if _kernel() == "Linux":
            rows = [(one["mountpoint"], one["fstype"]) for one in procfs.partitions(True)]
        elif _kernel() in ("FreeBSD", "DragonFly"):
            rows = [tuple(line.split()[1:3]) for line in _run("mount", "-p").splitlines() if len(line.split()) > 2]
        else:
            raise CommandExecutionError("status.diskusage not yet supported on this platform")
        paths += [path for path, kind in rows if any(fnmatchcase(kind, glob) for glob in kinds)]
    result = {}
    for path in paths:
        if path in result or not os.path.exists(path):
            continue
        try:
            data = os.statvfs(path)
            result[path] = {"available": data.f_bavail * data.f_bsize, "total": data.f_blocks * data.f_bsize}
        except OSError as exc:
            log.warning("%s cannot be read: %s", path, exc)
            result[path] = {"available": None, "total": None}
    return result


def netstats():
    """
    Return the counters of the network protocols: ``{protocol: {name: number}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.netstats
    """
    if _kernel() == "Linux":
        return counters.of_netstat(procfs.read("/proc/net/netstat", ""))
    if _kernel() not in ("FreeBSD", "DragonFly", "OpenBSD"):
        return counters.UNSUPPORTED
    netstats, key = {}, None
    for line in _run("netstat", "-s").splitlines():
        if line.startswith("\t\t") or not line.strip():
            continue
        words = line.split()
        if not line.startswith("\t"):
            key = words[0].replace(":", "")
            netstats[key] = {}
        elif words[0].isdigit():
            netstats[key][" ".join(words[1:])] = words[0]
    return netstats


def netdev():
    """
    Return ``{interface: {"rx_bytes", "tx_bytes", …}}`` since the start

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.netdev
    """
    result = {}
    if _kernel() == "Linux":
        for line in procfs.read("/proc/net/dev", "").splitlines():
            name, colon, rest = line.partition(":")
            if colon:
                values = [counters.number(value) for value in rest.split()]
                result[name.strip()] = dict(zip(_NET, values), iface=name.strip())
        return result
    if _kernel() not in ("FreeBSD", "DragonFly"):
        return counters.UNSUPPORTED
    lines = _run("netstat", "-i", "-n", "-4", "-b", "-d").splitlines()
    heads = lines[0].split()
    for line in lines[1:] + _run("netstat", "-i", "-n", "-6", "-b", "-d").splitlines()[1:]:
        row = line.split()
        values = dict(zip(heads[4:13], [counters.number(value) for value in row[4:13]]))
        result.setdefault(row[0], {}).setdefault(row[2], {})[row[3]] = values
    return result
