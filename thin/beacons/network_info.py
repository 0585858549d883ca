"""Reports counters of network interfaces. Salt: ``salt/beacons/network_info.py``."""

from thin.utils import beacons
from thin.utils.system import procfs

FIELDS = tuple(name for name, _ in procfs.NET_FIELDS)


def __virtual__():
    return (True, "") if procfs.read("/proc/net/dev") else (False, "there is no /proc/net/dev")


def validate(config):
    """Whether each interface has a dict with at least one counter, or ``type``."""
    if not isinstance(config, list):
        return beacons.no_list("network_info")
    for options in beacons.list_to_dict(config).get("interfaces", {}).values():
        if not isinstance(options, dict):
            return False, "Configuration for network_info beacon must be a list of dictionaries."
        if not any(name in options for name in ("type",) + FIELDS):
            return False, "Invalid configuration item in Beacon configuration."
    return beacons.VALID


def beacon(config):
    """
    An event for each interface with a counter that equals the configured value, or exceeds it with ``type: greater``

    .. code-block:: yaml

        beacons:
          network_info:
            - interfaces:
                eth0:
                  type: greater
                  errin: 100
                  dropin: 100
    """
    counters, events = procfs.net_counters(), []
    for interface, options in beacons.list_to_dict(config).get("interfaces", {}).items():
        if interface not in counters:
            continue
        values, greater = counters[interface], options.get("type") == "greater"
        for field in FIELDS:
            limit = int(options[field]) if field in options else None
            if limit is not None and (values[field] > limit if greater else values[field] == limit):
                events.append({"interface": interface, "network_info": {name: values[name] for name in FIELDS}})
                break
    return events
