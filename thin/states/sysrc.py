"""Variables of FreeBSD's rc.conf. Salt: the state sysrc of Salt 3007"""

from thin.exceptions import CommandExecutionError


def __virtual__():
    return True if "sysrc.get" in __salt__ else (False, "Command not found: sysrc")


def managed(name, value, **kwargs):
    """
    The variable has this value

    name
        the variable
    value
        the value; True and False are YES and NO
    file
        another file than /etc/rc.conf
    jail
        in this jail

    .. code-block:: yaml

        nginx_flags:
          sysrc.managed:
            - value: -q
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    options = _options(kwargs)
    wanted = {True: "YES", False: "NO"}[value] if isinstance(value, bool) else str(value)
    try:
        now = __salt__["sysrc.get"](name=name, **options)
        if any(pairs.get(name) == wanted for pairs in (now or {}).values()):
            ret["comment"] = "%s is already set to the desired value." % name
        elif __opts__["test"]:
            ret["result"] = None
            ret["comment"] = 'The value of "%s" will be changed!' % name
            ret["changes"] = {"old": now, "new": "%s = %s will be set." % (name, wanted)}
        else:
            ret["changes"] = {"old": now, "new": __salt__["sysrc.set"](name=name, value=wanted, **options)}
            ret["comment"] = 'The value of "%s" was changed!' % name
    except CommandExecutionError as exc:
        ret["result"], ret["comment"] = False, str(exc)
    return ret


def absent(name, **kwargs):
    """
    The variable is not set

    name
        the variable
    file
        another file than /etc/rc.conf
    jail
        in this jail

    .. code-block:: yaml

        gateway_enable:
          sysrc.absent: []
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": ""}
    options = _options(kwargs)
    try:
        now = __salt__["sysrc.get"](name=name, **options)
        if now is None:
            ret["comment"] = '"%s" is already absent.' % name
        elif __opts__["test"]:
            ret["result"] = None
            ret["comment"] = '"%s" will be removed!' % name
            ret["changes"] = {"old": now, "new": '"%s" will be removed.' % name}
        else:
            ret["changes"] = {"old": now, "new": __salt__["sysrc.remove"](name=name, **options)}
            ret["comment"] = '"%s" was removed!' % name
    except CommandExecutionError as exc:
        ret["result"], ret["comment"] = False, str(exc)
    return ret


def _options(kwargs):
    return {key: kwargs[key] for key in ("file", "jail") if kwargs.get(key) is not None}
