"""Reports whether processes run. Salt: ``salt/beacons/ps.py``."""

import os

from thin.utils import beacons
from thin.utils.system import procfs


def __virtual__():
    return (True, "") if os.path.exists("/proc/self/stat") else (False, "there is no /proc/PID/stat")


def validate(config):
    """Whether the configuration has a dict of processes."""
    if not isinstance(config, list):
        return beacons.no_list("ps")
    config = beacons.list_to_dict(config)
    if "processes" not in config:
        return False, "Configuration for ps beacon requires processes."
    if not isinstance(config["processes"], dict):
        return False, "Processes for ps beacon must be a dictionary."
    return beacons.VALID


def beacon(config):
    """
    An event for each process that has the configured state

    .. code-block:: yaml

        beacons:
          ps:
            - processes:
                salt-master: running
                mysqld: stopped
    """
    names = set()
    for process in procfs.processes():
        try:
            names.add(process.name())
        except procfs.Gone:
            continue
    events = []
    for process, wanted in beacons.list_to_dict(config)["processes"].items():
        if wanted == "running":
            if process in names:
                events.append({process: "Running"})
        elif process not in names:
            events.append({process: "Stopped" if wanted == "stopped" else False})
    return events
