"""Salt: ``salt/utils/beacons.py``."""

from thin.utils.beacons import list_to_dict, remove_hidden_options  # noqa: F401
