"""Beacons: one file each, as in Salt: ``validate(config)``, ``beacon(config)``, perhaps ``close(config)``.

``config`` is a list of dicts. ``validate`` returns ``(bool, text)``, ``beacon`` a list of events: dicts with the data
of each, whose key ``tag`` is appended to the tag ``salt/beacon/ID/NAME/``. ``thin.utils.system.beaconing`` calls them.
"""
