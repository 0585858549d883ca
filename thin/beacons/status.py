"""Reports values of the module ``status``. Salt: ``salt/beacons/status.py``."""

from datetime import datetime, timezone

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils import beacons

log = getLogger(__name__)

DEFAULT = [{name: ["all"] for name in ("loadavg", "cpustats", "meminfo", "vmstats", "time")}]


def validate(config):
    """Whether the configuration is a list."""
    return beacons.VALID if isinstance(config, list) else beacons.no_list("status")


def beacon(config):
    """
    One event with the values of functions of the module ``status``; its tag ends with the time

    .. code-block:: yaml

        beacons:
          status:
            - interval: 60
            - time: [all]
            - loadavg: [1-min, 5-min]

    An empty list selects ``loadavg``, ``cpustats``, ``meminfo``, ``vmstats`` and ``time``. The items are keys or
    indexes of the function's return, or ``all``.
    """
    values, moment = {}, datetime.now(timezone.utc).replace(tzinfo=None).isoformat()
    for entry in beacons.items(config) or DEFAULT:
        for function, items in entry.items():
            values[function] = {}
            try:
                data = __salt__["status." + function]()
            except CommandExecutionError as exc:
                log.debug("the beacon status: %s: %s", function, exc)
                continue
            for item in items if isinstance(items, list) else [items]:
                _take(values, function, data, item)
    return [{"tag": moment, "data": values}]


def _take(values, function, data, item):
    if item == "all":
        values[function] = data
        return
    try:
        try:
            values[function][item] = data[item]
        except TypeError:
            values[function][item] = data[int(item)]
    except KeyError as exc:
        values[function] = "Status beacon is incorrectly configured: %s" % exc
