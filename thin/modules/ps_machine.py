"""Processors, memory, logins, disks and network counters: a part of ``ps``. Salt: modules/ps.py

Names, units and shapes are those of the library psutil, as in ps.py.
"""

import os

from thin.exceptions import SaltInvocationError
from thin.utils.system import procfs

__virtualname__ = "ps"
__reads__ = (
    "cpu_percent",
    "cpu_times",
    "virtual_memory",
    "swap_memory",
    "total_physical_memory",
    "num_cpus",
    "boot_time",
    "get_users",
    "disk_partitions",
    "disk_usage",
    "disk_partition_usage",
    "network_io_counters",
    "disk_io_counters",
)


def __virtual__():
    if os.path.isdir("/proc/self/task"):
        return __virtualname__
    return False, "The ps module cannot be loaded: it reads /proc as Linux has it"


# Processors and memory


def cpu_percent(interval=0.1, per_cpu=False):
    """
    Return the percentage of time in which the processors are busy

    interval
        seconds to watch
    per_cpu
        a list with one number for each processor

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.cpu_percent
    """
    import time

    before = procfs.cpu_times()
    time.sleep(interval)
    after = procfs.cpu_times()
    if per_cpu:
        return [procfs.cpu_busy(*pair) for pair in zip(before[1], after[1])]
    return procfs.cpu_busy(before[0], after[0])


def cpu_times(per_cpu=False):
    """
    Return the seconds that the processors spent in each state: ``{"user", "system", "idle", "iowait", …}``

    per_cpu
        a list with one dict for each processor

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.cpu_times
    """
    together, each = procfs.cpu_times()
    return each if per_cpu else together


def virtual_memory():
    """
    Return the use of memory: ``{"total", "available", "percent", "used", "free", …}`` in bytes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.virtual_memory
    """
    return procfs.virtual_memory()


def swap_memory():
    """
    Return ``{"total", "used", "free", "percent", "sin", "sout"}`` of the swap space, in bytes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.swap_memory
    """
    return procfs.swap_memory()


def total_physical_memory():
    """
    Return the size of the machine's memory in bytes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.total_physical_memory
    """
    return procfs.virtual_memory()["total"]


def num_cpus():
    """
    Return the number of processors

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.num_cpus
    """
    return os.sysconf("SC_NPROCESSORS_ONLN")


def boot_time(time_format=None):
    """
    Return when the machine was started, in seconds since 1970

    time_format
        a format of strftime for it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.boot_time time_format=%c
    """
    import time

    if not time_format:
        return procfs.boot_time()
    try:
        return time.strftime(time_format, time.localtime(procfs.boot_time()))
    except TypeError as exc:
        raise SaltInvocationError("Invalid format string: %s" % exc)


def get_users():
    """
    Return ``[{"name", "terminal", "host", "started", "pid"}]`` of the users who are logged in

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.get_users
    """
    return procfs.users()


# Disks and network


def disk_partitions(all=False):
    """
    Return ``[{"device", "mountpoint", "fstype", "opts"}]`` of the mounted file systems

    all
        those without a device (proc, tmpfs …), too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.disk_partitions
    """
    return procfs.partitions(all)


def disk_usage(path):
    """
    Return ``{"total", "used", "free", "percent"}`` of the file system of a path, in bytes

    path
        anything in that file system

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.disk_usage /srv
    """
    return procfs.disk_usage(path)


def disk_partition_usage(all=False):
    """
    Return ``disk_partitions`` with the ``disk_usage`` of each

    all
        as for ``disk_partitions``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.disk_partition_usage
    """
    return [dict(one, **disk_usage(one["mountpoint"])) for one in disk_partitions(all)]


def network_io_counters(interface=None):
    """
    Return the bytes, packets and errors since the start: ``{"bytes_sent", "bytes_recv", "packets_sent", …}``

    interface
        only of this one (False if it does not exist); by default the sum of all

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.network_io_counters interface=ens3
    """
    counters = procfs.net_counters()
    return counters.get(interface, False) if interface else procfs.summed(counters.values())


def disk_io_counters(device=None):
    """
    Return the amounts read and written since the start: ``{"read_count", "write_count", "read_bytes", …}``

    device
        only of this disk or partition (False if it does not exist); by default the sum of all disks

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ps.disk_io_counters device=vda1
    """
    counters = procfs.disk_counters()
    if device:
        return counters.get(device, False)
    whole = [name for name in counters if os.path.exists("/sys/block/" + name.replace("/", "!"))]
    return procfs.summed(counters[name] for name in whole)
