"""Reports that memory usage has reached a percentage. Salt: ``salt/beacons/memusage.py``."""

from thin.utils import beacons
from thin.utils.system import procfs


def __virtual__():
    return (True, "") if procfs.virtual_memory()["total"] else (False, "there is no /proc/meminfo")


def validate(config):
    """Whether the configuration has a percentage."""
    if not isinstance(config, list):
        return beacons.no_list("memusage")
    if "percent" not in beacons.list_to_dict(config):
        return False, "Configuration for memusage beacon requires percent."
    return beacons.VALID


def beacon(config):
    """
    An event with the percentage of used memory, when it has reached the limit

    .. code-block:: yaml

        beacons:
          memusage:
            - percent: 63%
    """
    used = procfs.virtual_memory()["percent"]
    limit = beacons.threshold(beacons.list_to_dict(config)["percent"])
    return [{"memusage": used}] if used >= limit else []
