"""How the target is doing: uptime, load, time, memory, disks. Salt: ``salt/modules/status.py``."""

import os
import time as _time

__func_alias__ = {"time_": "time"}


def time_(format="%A, %d. %B %Y %I:%M%p"):
    """
    Return the local date and time, in a format of ``strftime``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.time '%s'
    """
    return _time.strftime(format)


def uptime():
    """
    Return how long the system is up, since when, and who is on it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.uptime
    """
    with open("/proc/uptime") as handle:
        seconds = int(float(handle.read().split()[0]))
    since = _time.time() - seconds
    days, rest = divmod(seconds, 86400)
    return {
        "seconds": seconds, "since_iso": _time.strftime("%Y-%m-%dT%H:%M:%S", _time.gmtime(since)),
        "since_t": int(since), "days": days, "time": "%d:%d" % (rest // 3600, rest % 3600 // 60),
        "users": len(_users()),
    }


def loadavg():
    """
    Return the load of the last 1, 5 and 15 minutes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.loadavg
    """
    return dict(zip(("1-min", "5-min", "15-min"), os.getloadavg()))


def meminfo():
    """
    Return ``{name: {value, unit}}`` of /proc/meminfo

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.meminfo
    """
    ret = {}
    with open("/proc/meminfo") as handle:
        for line in handle:
            name, _, rest = line.partition(":")
            words = rest.split()
            ret[name] = dict({"value": words[0]}, **({"unit": words[1]} if len(words) > 1 else {}))
    return ret


def diskusage(*args):
    """
    Return ``{path: {available, total}}`` in bytes: of these paths, or of all mounts of real file systems

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.diskusage /
    """
    paths = list(args)
    if not paths:
        with open("/proc/mounts") as handle:
            paths = [line.split()[1] for line in handle if line.startswith("/")]
    ret = {}
    for path in paths:
        if os.path.exists(path):
            found = os.statvfs(path)
            ret[path] = {"available": found.f_frsize * found.f_bavail, "total": found.f_frsize * found.f_blocks}
    return ret


def pid(sig):
    """
    Return the ids of the processes whose command line holds a text, one a line

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' status.pid sshd
    """
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as handle:
                    line = handle.read().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if sig in line:
                found.append(int(name))
    return "\n".join(str(number) for number in sorted(found))


def _users():
    """Names of those who are logged in on a terminal, from the login manager's sessions."""
    try:
        return [name for name in os.listdir("/run/systemd/sessions") if not name.endswith(".ref")]
    except OSError:
        return []
