"""The configuration of beacons. Salt: ``salt/utils/beacons.py``."""

#: What the answer of ``validate`` says of a configuration without mistakes.
VALID = (True, "Valid beacon configuration")
#: Options of all beacons, which are not items of a beacon's own configuration.
COMMON = ("interval", "disable_during_state_run", "enabled", "run_once", "beacon_module")


def list_to_dict(config):
    """A list of dicts as one dict."""
    found = {}
    for entry in config:
        found.update(entry)
    return found


def remove_hidden_options(config, whitelist):
    """Remove the entries of a list that have a key beginning with ``_``, in place, but for those of ``whitelist``."""
    config[:] = [entry for entry in config if not any(key[:1] == "_" and key not in whitelist for key in entry)]
    return config


def items(config):
    """The entries of a list without hidden and common options."""
    kept = [{key: entry[key] for key in entry if key[:1] != "_" and key not in COMMON} for entry in config]
    return [entry for entry in kept if entry]


def name_of(config, default):
    """The name under which a beacon is configured."""
    return list_to_dict(config).get("_beacon_name", default)


def threshold(value):
    """The number of ``63`` or ``63%``. Raises ValueError and TypeError."""
    return float(value.replace("%", "") if isinstance(value, str) else value)


def no_list(name):
    """The answer of ``validate`` to a configuration that is no list."""
    return False, "Configuration for %s beacon must be a list." % name
