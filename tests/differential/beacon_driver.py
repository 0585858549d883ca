"""Runs in the Python of real Salt: validates and evaluates beacons.

Reads one JSON object per line from stdin, writes one to stdout. ``{"module", "config", "steps"}``: the answers of
``validate``, and of ``beacon`` for each step, whose keys are the values that the beacon reads from the machine.
``{"process": config, "load": averages}``: what ``Beacon.process`` returns for a minion of the id ``web1``.
"""

import copy
import importlib
import json
import os
import sys
import time
import types
import warnings


class Counters(dict):
    """As the named tuples of psutil."""

    __getattr__ = dict.__getitem__


def set_machine_values(module, step):
    """Set the values that beacons read from the machine."""
    psutil = importlib.import_module("psutil")

    def usage(mount):
        if step["mounts"][mount] is None:
            raise OSError("stale")
        return Counters(percent=step["mounts"][mount])

    os.getloadavg = lambda: tuple(step["load"])
    time.time = lambda: step["now"]
    psutil.virtual_memory = lambda: Counters(percent=step["memory"])
    psutil.disk_partitions = lambda all: [Counters(mountpoint=mount) for mount in step["mounts"]]
    psutil.disk_usage = usage
    psutil.process_iter = lambda: [types.SimpleNamespace(name=lambda name=name: name) for name in step["processes"]]
    psutil.net_io_counters = lambda pernic: {name: Counters(row) for name, row in step["net"].items()}
    module.__salt__ = {"service.status": lambda name: step["services"][name]}
    module.__salt__.update({f"status.{name}": lambda value=value: value for name, value in step["status"].items()})


def evaluate(row):
    module = importlib.import_module("salt.beacons." + row["module"])
    module.__context__ = {}
    getattr(module, "LAST_STATUS", {}).clear()
    valid = module.validate(copy.deepcopy(row["config"]))
    events = []
    for step in row["steps"] if valid[0] else ():
        set_machine_values(module, step)
        events.append(module.beacon([*copy.deepcopy(row["config"]), {"_beacon_name": row["module"]}]))
    return {"valid": valid, "events": events}


def process(row):
    import salt.beacons
    import salt.config

    opts = salt.config.minion_config(None)
    opts.update(id="web1", beacons=row["process"], extension_modules="/nonexistent")
    os.getloadavg = lambda: tuple(row["load"])
    return salt.beacons.Beacon(opts, {}).process(copy.deepcopy(row["process"]), {})


def main():
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        row = json.loads(line)
        answer = process(row) if "process" in row else evaluate(row)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
