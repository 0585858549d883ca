"""Reports whether services run. Salt: ``salt/beacons/service.py``."""

import os
import time

from thin.utils import beacons

#: (name of the beacon, service) -> its status at the last event; ``time``: an event for it is due later
_last = {}


def validate(config):
    """Whether the configuration has services, each with a dict of options."""
    if not isinstance(config, list):
        return beacons.no_list("service")
    config = beacons.list_to_dict(config)
    if "services" not in config:
        return False, "Configuration for service beacon requires services."
    if not isinstance(config["services"], dict):
        return False, "Services configuration item for service beacon must be a dictionary."
    if not all(isinstance(options, dict) for options in config["services"].values()):
        return False, "Configuration for service beacon must be a list of dictionaries."
    return beacons.VALID


def beacon(config):
    """
    An event for each service, with its status as ``running``

    .. code-block:: yaml

        beacons:
          service:
            - services:
                nginx:
                  onchangeonly: true
                  delay: 30
                  uncleanshutdown: /run/nginx.pid
                mysql: {}

    onchangeonly
        only when the status has changed
    emitatstartup
        with ``onchangeonly``: false: no event at the first evaluation
    delay
        with ``onchangeonly``: seconds from a change to its event
    is_running_state
        only when the service runs (true), or does not (false)
    uncleanshutdown
        a file with a process number: whether it exists while the service does not run is added
    """
    config = beacons.list_to_dict(config)
    events, name = [], config.get("_beacon_name", "service")
    for service, options in config["services"].items():
        running = __salt__["service.status"](service)
        status = {"running": running}
        if "uncleanshutdown" in options and not running:
            status["uncleanshutdown"] = os.path.exists(options["uncleanshutdown"])
        wanted = options.get("is_running_state")
        if isinstance(wanted, bool) and wanted != running:
            continue
        if options.get("onchangeonly") is not True or _is_due((name, service), status, options):
            events.append({service: status, "service_name": service, "tag": service})
    return events


def _is_due(key, status, options):
    """Whether a change of the status is reported now."""
    delay, is_new = options.get("delay", 0), key not in _last
    if is_new and not options.get("emitatstartup", True):
        _last[key] = dict(status)
        return False
    if is_new or _last[key]["running"] != status["running"]:
        _last[key] = dict(status)
        if delay <= 0:
            return True
        _last[key]["time"] = time.time()
    if "time" in _last[key] and round(time.time() - _last[key]["time"]) > delay:
        del _last[key]["time"]
        return True
    return False
