"""Helpers for the configuration of beacons. Salt: ``salt/utils/beacons.py``."""

#: The return of ``validate`` for a valid configuration.
VALID = (True, "Valid beacon configuration")
#: Options that all beacons have; they are not items of a beacon's own configuration.
COMMON = ("interval", "disable_during_state_run", "enabled", "run_once", "beacon_module")


def list_to_dict(config):
    """The dicts of a list as one dict."""
    merged = {}
    for entry in config:
        merged.update(entry)
    return merged


def remove_hidden_options(config, whitelist):
    """Remove entries with keys that begin with ``_`` from a list, in place, except keys in ``whitelist``."""
    config[:] = [entry for entry in config if not any(key[:1] == "_" and key not in whitelist for key in entry)]
    return config


def items(config):
    """The entries of a list without hidden and common options."""
    kept = [{key: entry[key] for key in entry if key[:1] != "_" and key not in COMMON} for entry in config]
    return [entry for entry in kept if entry]


def name_of(config, default):
    """The name of a configured beacon."""
    return list_to_dict(config).get("_beacon_name", default)


def threshold(value):
    """The number of ``63`` or ``63%``. Raises ValueError and TypeError."""
    return float(value.replace("%", "") if isinstance(value, str) else value)


def no_list(name):
    """The return of ``validate`` for a configuration that is not a list."""
    return False, "Configuration for %s beacon must be a list." % name
