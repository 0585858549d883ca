"""Events. There is no event bus: the controller stores the events with the job. Salt: ``salt/modules/event.py``."""

import os

from thin import link
from thin.log import getLogger

__usual__ = True
__changes__ = ("fire_master", "fire", "send")

log = getLogger(__name__)


def fire_master(data, tag, preload=None):
    """
    Send an event to the controller; returns True if it was sent

    data
        The data of the event
    tag
        Its tag
    preload
        A dict that is stored next to the data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' event.fire_master '{release: 2.1}' 'app/started'
    """
    if isinstance(preload, dict):
        data = dict(preload, data=data)
    return _sent(tag, data)


def fire(data, tag):
    """
    The same as ``event.fire_master``: on the target no agent receives events

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' event.fire '{release: 2.1}' 'app/started'
    """
    return _sent(tag, data)


def send(
    tag, data=None, preload=None, with_env=False, with_grains=False, with_pillar=False, with_env_opts=False, **kwargs
):
    """
    Send an event to the controller, with data about this target; returns True if it was sent

    tag
        Its tag
    data
        The data of the event, a dict; it has precedence over all of the following
    with_env, with_grains, with_pillar
        True for all of the environment, the grains, the pillar; or a list of their keys
    with_env_opts
        ``saltenv`` and ``pillarenv``
    preload
        As in ``event.fire_master``
    kwargs
        More keys of the data

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' event.send 'app/started' version=7 with_grains='[os]'
    """
    result = {}
    for name, wanted, values in (
        ("environ", with_env, os.environ),
        ("grains", with_grains, __grains__),
        ("pillar", with_pillar, __pillar__),
    ):
        if wanted:
            result[name] = {
                key: values[key] for key in (wanted if isinstance(wanted, list) else values) if key in values
            }
    if with_env_opts:
        result["saltenv"] = __opts__.get("saltenv", "base")
        result["pillarenv"] = __opts__.get("pillarenv")
    result.update((key, value) for key, value in kwargs.items() if not key.startswith("__"))
    if isinstance(data, dict):
        result.update(data)
    return fire_master(result, tag, preload)


def _sent(tag, data):
    if not link.connected():
        log.warning("There is no controller: the event %s is lost", tag)
        return False
    link.event(str(tag), data)
    return True
