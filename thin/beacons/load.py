"""Reports load averages outside of limits. Salt: ``salt/beacons/load.py``."""

import os

from thin.utils import beacons

AVERAGES = ("1m", "5m", "15m")
#: name of the beacon -> the averages of its last evaluation
_last = {}


def validate(config):
    """Whether the configuration has two limits for each average that it names."""
    if not isinstance(config, list):
        return beacons.no_list("load")
    config = beacons.list_to_dict(config)
    for option in ("emitatstartup", "onchangeonly"):
        if not isinstance(config.get(option, False), bool):
            return False, "Configuration for load beacon option %s must be a boolean." % option
    if "averages" not in config:
        return False, "Averages configuration is required for load beacon."
    given = config["averages"]
    named = [average for average in AVERAGES if average in given] if isinstance(given, dict) else ()
    if not named:
        return False, "Averages configuration for load beacon must contain 1m, 5m or 15m items."
    for average in named:
        if not isinstance(given[average], list):
            words = "1m, 5m and 15m items must be a list of two items."
            return False, "Averages configuration for load beacon: %s" % words
        if len(given[average]) != 2:
            return False, "Configuration for load beacon: 1m, 5m and 15m items must be a list of two items."
    return beacons.VALID


def beacon(config):
    """
    One event with all averages when one of them is outside of its limits

    .. code-block:: yaml

        beacons:
          load:
            - averages:
                1m: [0.0, 2.0]
                15m: [0.1, 1.0]
            - onchangeonly: true

    averages
        the lowest and the highest normal value of each
    onchangeonly
        only when an average has crossed a limit since the last evaluation
    emitatstartup
        with ``onchangeonly``: false: the first evaluation makes no event
    """
    config = beacons.list_to_dict(config)
    current = dict(zip(AVERAGES, os.getloadavg()))
    limits = {average: [float(limit) for limit in config["averages"][average]] for average in config["averages"]}
    named = [(current[average], limits[average], average) for average in AVERAGES if average in limits]
    if not config.get("onchangeonly", False):
        return [current] if any(value < low or value > high for value, (low, high), _ in named) else []
    name = config.get("_beacon_name", "load")
    before, _last[name] = _last.get(name), current
    if before is None:
        return []  # there is nothing to compare with yet
    crossed = any((value > high > before[key]) or (value < low < before[key]) for value, (low, high), key in named)
    return [current] if crossed else []
