"""Events. There is no event bus: the controller keeps them with the run. Salt: ``salt/modules/event.py``."""

import os

from thin import link
from thin.log import getLogger

__usual__ = True
__changes__ = ("fire_master", "fire", "send")

log = getLogger(__name__)


def fire_master(data, tag, preload=None):
    """
    Tell the controller of an event; True when it was told

    data
        What the event says
    tag
        Its tag
    preload
        More that belongs to it, a dict: kept beside the data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' event.fire_master '{release: 2.1}' 'app/started'
    """
    if isinstance(preload, dict):
        data = dict(preload, data=data)
    return _sent(tag, data)


def fire(data, tag):
    """
    The same as ``event.fire_master``: no agent on the target could hear it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' event.fire '{release: 2.1}' 'app/started'
    """
    return _sent(tag, data)


def send(
    tag, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, with_env_opts=False, **kwargs
):
    """
    Tell the controller of an event, with more about this target; True when it was told

    tag
        Its tag
    data
        What it says, a dict; it goes over all of the following
    with_env, with_grains, with_pillar
        All of the environment, the grains, the pillar; or a list of what of them
    with_env_opts
        ``saltenv`` and ``pillarenv``
    preload
        As in ``event.fire_master``
    kwargs
        More of the data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' event.send 'app/started' version=7 with_grains='[os]'
    """
    found = {}
    for name, wanted, known in (
        ("environ", with_env, os.environ),
        ("grains", with_grains, __grains__),
        ("pillar", with_pillar, __pillar__),
    ):
        if wanted:
            found[name] = {key: known[key] for key in (wanted if isinstance(wanted, list) else known) if key in known}
    if with_env_opts:
        found["saltenv"] = __opts__.get("saltenv", "base")
        found["pillarenv"] = __opts__.get("pillarenv")
    found.update((key, value) for key, value in kwargs.items() if not key.startswith("__"))
    if isinstance(data, dict):
        found.update(data)
    return fire_master(found, tag, preload)


def _sent(tag, data):
    if not link.connected():
        log.warning("There is no controller to tell: the event %s is lost", tag)
        return False
    link.event(str(tag), data)
    return True
