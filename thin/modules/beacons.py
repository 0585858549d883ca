"""Lists and evaluates beacons: see docs/watch.md. Salt: ``salt/modules/beacons.py``.

They are configured as ``beacons`` in pillar, and in the ``minion_opts`` of a host.
"""

from thin import loader
from thin.utils import yamlout
from thin.utils.system import beaconing

__func_alias__ = {"list_": "list"}
__reads__ = ("list", "list_available", "poll")

#: Where the beacons of a session are in ``__context__``.
_KEY = "beacons.active"


def list_(return_yaml=True, include_pillar=True, include_opts=True, **kwargs):
    """
    Return the configured beacons

    return_yaml
        As YAML; else as a dict
    include_pillar, include_opts
        Those of pillar, and those of the options

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' beacons.list
    """
    config = dict(__pillar__.get("beacons") or {}) if include_pillar else {}
    config.update((__opts__.get("beacons") or {}) if include_opts else {})
    return yamlout.dump({"beacons": config}) if return_yaml else config


def list_available(return_yaml=True, **kwargs):
    """
    Return the names of the beacons that work on this target

    return_yaml
        As YAML; else as a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' beacons.list_available
    """
    names = [name[: -len(".beacon")] for name in _modules().keys() if name.endswith(".beacon")]
    return yamlout.dump({"beacons": names}) if return_yaml else names


def poll(seconds=0, beacons=None, lock=""):
    """
    Return the events of the beacons: ``{"beacons": [name], "events": [{"name", "tag", "data"}]}``

    The first call of a session starts them; they keep their state until the session ends.

    seconds
        How long to wait for an event; meanwhile each beacon is evaluated at its interval
    beacons
        Configured beacons, in addition to those of pillar and options
    lock
        The file that is locked while states run, for ``disable_during_state_run``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' beacons.poll 5
    """
    active = __context__.get(_KEY)
    if active is None:
        config = dict(beacons or {}, **list_(return_yaml=False))
        active = __context__[_KEY] = beaconing.Beacons(_modules(), config, __opts__["id"])
    events = active.poll(float(seconds), lock) if active.active else []
    return {"beacons": [beacon.name for beacon in active.active], "events": events}


def _modules():
    """The loader of the beacons' files."""
    return loader.Loader("beacons", __salt__._pack, __opts__, __salt__._sources[-1], __salt__._sources[:-1])
