"""The configuration of logrotate. Salt: ``salt/states/logrotate.py``."""

__func_alias__ = {"set_": "set"}

_CONF = "/etc/logrotate.conf"


def set_(name, key, value, setting=None, conf_file=_CONF):
    """
    A directive has this value; with ``setting``, the directive ``value`` in the block of the path ``key`` has the value
    ``setting``

    changes: ``{old, new}``.

    .. code-block:: yaml

        old_logs_of_all:
          logrotate.set:
            - key: rotate
            - value: 8

        old_logs_of_failed_logins:
          logrotate.set:
            - key: /var/log/btmp
            - value: rotate
            - setting: 3
    """
    ret = {"name": name, "changes": {}, "comment": "", "result": None}
    try:
        if setting is None:
            current = __salt__["logrotate.get"](key=key, conf_file=conf_file)
        else:
            current = __salt__["logrotate.get"](key=key, value=value, conf_file=conf_file)
    except (AttributeError, KeyError):
        current = False
    if setting is None:
        wanted = value = _number(value)
        what, more = "ommand '%s'" % key, {}
        prefix, words = "C", "%s value: %s"
    else:
        wanted = setting = _number(setting)
        what, more = "lock '%s' command '%s'" % (key, value), {"setting": setting}
        prefix, words = "B", "%s value: %s"
    if current == wanted:
        return dict(ret, result=True, comment=prefix + words % (what + " already has", wanted))
    ret["changes"] = {"old": current, "new": wanted}
    if __opts__["test"]:
        return dict(ret, comment=prefix + words % (what + " will be set to", wanted))
    ret["result"] = __salt__["logrotate.set"](key=key, value=value, conf_file=conf_file, **more)
    start = "Set " if ret["result"] else "Unable to set "
    return dict(ret, comment=start + prefix.lower() + words % (what, wanted))


def _number(value):
    try:
        return int(str(value))
    except ValueError:
        return value
