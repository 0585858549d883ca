"""Reports file systems whose usage has reached a percentage. Salt: ``salt/beacons/diskusage.py``."""

import re

from thin.log import getLogger
from thin.utils import beacons
from thin.utils.system import procfs

log = getLogger(__name__)


def __virtual__():
    return (True, "") if procfs.read("/proc/self/mounts") else (False, "there is no /proc/self/mounts")


def validate(config):
    """Whether the configuration is a list."""
    return beacons.VALID if isinstance(config, list) else beacons.no_list("diskusage")


def beacon(config):
    """
    An event for each mounted file system whose usage has reached its limit

    .. code-block:: yaml

        beacons:
          diskusage:
            - /: 63%
            - '^/(?!home).*$': 90%

    The keys are mount points, or regular expressions that match them.
    """
    events = []
    mounted = [each["mountpoint"] for each in procfs.partitions(everything=True)]
    for entry in beacons.items(config):
        for pattern, limit in entry.items():
            expression = re.compile(pattern if pattern.endswith("$") else pattern + "$")
            for mount in mounted:
                if not expression.match(mount):
                    continue
                try:
                    used = procfs.disk_usage(mount)["percent"]
                except OSError:
                    log.warning("beacon diskusage: no file system is mounted at %s", mount)
                    continue
                if used >= beacons.threshold(limit):
                    events.append({"diskusage": used, "mount": mount})
    return events
