"""Keys and replicas of Redis. Salt (until 3007): states/redismod.py; then saltext-redis

``host``, ``port``, ``db`` and ``password`` tell how to connect, and default to the options ``redis.host`` and so on.
"""

from thin.exceptions import CommandExecutionError

__virtualname__ = "redis"


def __virtual__():
    return __virtualname__ if "redis.set_key" in __salt__ else (False, "redis module could not be loaded")


def string(name, value, expire=None, expireat=None, **connection_args):
    """The key has this text. changes: ``{name: Value updated}``; the expiry is set each time.

    ``expire``: seconds until it is deleted; ``expireat``: the UNIX time of that, which has precedence.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Key already set to defined value"}
    try:
        if __salt__["redis.get_key"](name, **connection_args) != str(value):
            ret["changes"][name] = "Value updated"
            ret["comment"] = "Key updated to new value"
            if not __opts__["test"]:
                __salt__["redis.set_key"](name, value, **connection_args)
        if expireat:
            ret["changes"]["expireat"] = "Key expires at %s" % expireat
            if not __opts__["test"]:
                __salt__["redis.expireat"](name, expireat, **connection_args)
        elif expire:
            ret["changes"]["expire"] = "TTL set to %s seconds" % expire
            if not __opts__["test"]:
                __salt__["redis.expire"](name, expire, **connection_args)
    except CommandExecutionError as exc:
        return dict(ret, result=False, changes={}, comment=str(exc))
    if __opts__["test"] and ret["changes"]:
        return dict(ret, result=None, comment="Key %s would be updated" % name)
    return ret


def absent(name, keys=None, **connection_args):
    """The key does not exist, or none of ``keys`` (a list), which has precedence over the name. changes: ``{deleted:
    [key]}``."""
    ret = {"name": name, "changes": {}, "result": True, "comment": "Key(s) specified already absent"}
    if keys and not isinstance(keys, list):
        return dict(ret, result=False, comment="`keys` not formed as a list type")
    try:
        present = [key for key in keys or [name] if __salt__["redis.exists"](key, **connection_args)]
        if not present:
            return ret
        word = "Keys" if keys else "Key"
        if __opts__["test"]:
            return dict(ret, result=None, changes={"deleted": present}, comment="%s would be deleted" % word)
        __salt__["redis.delete"](*present, **connection_args)
    except CommandExecutionError as exc:
        return dict(ret, result=False, comment=str(exc))
    return dict(ret, changes={"deleted": present}, comment="%s deleted" % word)


def slaveof(name, sentinel_host=None, sentinel_port=None, sentinel_password=None, **connection_args):
    """The server is a replica of the master ``name``, whose address a sentinel provides. changes: ``{old, new}``.

    ``sentinel_host``, ``sentinel_port``, ``sentinel_password``: the sentinel. On the master itself nothing is done.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": "Failed to setup slave"}
    try:
        wanted = __salt__["redis.sentinel_get_master_ip"](name, sentinel_host, sentinel_port, sentinel_password)
        if not wanted:
            return dict(ret, comment="The sentinel does not know a master %s" % name)
        if wanted["master_host"] in __salt__["network.ip_addrs"]():
            return dict(ret, result=True, comment="Minion is the master: %s" % name)
        before = __salt__["redis.get_master_ip"](**connection_args)
        if before == wanted:
            return dict(ret, result=True, comment="Minion already slave of master: %s" % name)
        if __opts__["test"]:
            comment = "Minion will be made a slave of %s: %s" % (name, wanted["master_host"])
            return dict(ret, result=None, changes={"old": before, "new": wanted}, comment=comment)
        __salt__["redis.slaveof"](**dict(connection_args, **wanted))
        now = __salt__["redis.get_master_ip"](**connection_args)
    except CommandExecutionError as exc:
        return dict(ret, comment=str(exc))
    if now != wanted:
        return ret
    comment = "Minion successfully connected to master: %s" % name
    return dict(ret, result=True, changes={"old": before, "new": now}, comment=comment)
