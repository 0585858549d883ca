"""Beacons, one file each. As in Salt, a beacon has ``validate(config)``, ``beacon(config)``, and may have
``close(config)``.

``config`` is a list of dicts. ``validate`` returns ``(bool, text)``, and ``beacon`` a list of events: dicts, whose key
``tag`` is appended to the tag ``salt/beacon/ID/NAME/``. ``thin.utils.system.beaconing`` calls these functions.
"""
