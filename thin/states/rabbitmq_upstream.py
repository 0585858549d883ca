"""Upstreams of RabbitMQ's federated exchanges and queues. Salt: states/rabbitmq_upstream.py"""

import re

from thin.exceptions import CommandExecutionError
from thin.utils.files import serial


def __virtual__():
    return True if "rabbitmq.set_upstream" in __salt__ else (False, "rabbitmq module could not be loaded")


def present(
    name,
    uri,
    prefetch_count=None,
    reconnect_delay=None,
    ack_mode=None,
    trust_user_id=None,
    exchange=None,
    max_hops=None,
    expires=None,
    message_ttl=None,
    ha_policy=None,
    queue=None,
    runas=None,
):
    """The upstream exists, with these parameters and no others. changes: ``{old, new}``, of what differs.

    ``uri``: its address, or several with spaces between them; passwords in it are not shown. ``prefetch_count``,
    ``reconnect_delay``, ``ack_mode``, ``trust_user_id``, ``exchange``, ``max_hops``, ``expires``, ``message_ttl``,
    ``ha_policy`` and ``queue`` are the parameters of these names, with the broker's defaults. ``runas``: the account to
    run rabbitmqctl as.
    """
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    wanted = {
        "prefetch_count": prefetch_count,
        "reconnect_delay": reconnect_delay,
        "ack_mode": ack_mode,
        "trust_user_id": trust_user_id,
        "exchange": exchange,
        "max_hops": max_hops,
        "expires": expires,
        "message_ttl": message_ttl,
        "ha_policy": ha_policy,
        "queue": queue,
    }
    new = {key.replace("_", "-"): value for key, value in dict(wanted, uri=uri).items() if value}
    verb = "create"
    try:
        upstreams = __salt__["rabbitmq.list_upstreams"](runas=runas)
        changes = {"old": None, "new": _shown(new)}
        if name in upstreams:
            verb, old = "update", serial.loads(upstreams[name])
            sides = {
                "old": {key: old[key] for key in old if new.get(key) != old[key]},
                "new": {key: new[key] for key in new if old.get(key) != new[key]},
            }
            changes = {side: _shown(values) for side, values in sides.items() if values}
            if not changes:
                return dict(ret, comment='Upstream "%s" already present as specified.' % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment='Upstream "%s" would have been %sd.' % (name, verb))
        __salt__["rabbitmq.set_upstream"](name, uri, runas=runas, **wanted)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error trying to %s upstream: %s" % (verb, exc))
    return dict(ret, changes=changes, comment='Upstream "%s" %sd.' % (name, verb))


def _shown(values):
    """The parameters without passwords."""
    hidden = re.sub(r"(://[^/@:\s]*:)[^/@\s]*@", r"\1XXXXXX@", str(values.get("uri", "")))
    return dict(values, uri=hidden) if "uri" in values else values


def absent(name, runas=None):
    """The upstream does not exist. changes: ``{old: name, new: None}``."""
    ret = {"name": name, "result": True, "comment": "", "changes": {}}
    try:
        if not __salt__["rabbitmq.upstream_exists"](name, runas=runas):
            return dict(ret, comment='The upstream "%s" is already absent.' % name)
        if __opts__["test"]:
            return dict(ret, result=None, comment='Upstream "%s" would have been deleted.' % name)
        __salt__["rabbitmq.delete_upstream"](name, runas=runas)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment="Error: %s" % exc)
    return dict(ret, changes={"old": name, "new": None}, comment='Upstream "%s" has been deleted.' % name)
