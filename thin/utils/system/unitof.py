"""The systemd service that a process belongs to."""


def service(pid):
    """The unit's name without ``.service``, or "" if the process is in none. Salt: utils/systemd.py pid_to_service"""
    try:
        with open("/proc/%d/cgroup" % int(pid), encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except (OSError, ValueError):
        return ""
    for line in lines:
        parts = [part for part in line.rpartition(":")[2].split("/") if part.endswith(".service")]
        if parts:
            return parts[-1][: -len(".service")]
    return ""
