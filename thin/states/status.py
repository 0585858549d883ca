"""Checks of load and processes. Salt: ``salt/states/status.py``."""

__monitor__ = ["loadavg", "process"]


def loadavg(name, maximum=None, minimum=None):
    """
    A load average (``1-min``, ``5-min``, ``15-min``) is between these limits

    .. code-block:: yaml

        5-min:
          status.loadavg:
            - maximum: 4
    """
    ret = {"name": name, "result": False, "comment": "", "changes": {}, "data": {}}
    data = __salt__["status.loadavg"]()
    if name not in data:
        return dict(ret, comment="Requested load average %s not available " % name)
    if minimum and maximum and minimum >= maximum:
        return dict(ret, comment="Min must be less than max")
    ret["data"] = data[name]
    load = float(data[name])
    if minimum and load < float(minimum):
        return dict(ret, comment="Load avg is below minimum of %s at %s" % (minimum, load))
    if maximum and load > float(maximum):
        return dict(ret, comment="Load avg above maximum of %s at %s" % (maximum, load))
    return dict(ret, result=True, comment="Load avg in acceptable range")


def process(name):
    """
    A process with this signature runs

    .. code-block:: yaml

        sshd:
          status.process: []
    """
    ret = {"name": name, "result": False, "comment": "", "changes": {}, "data": {}}
    data = __salt__["status.pid"](name)
    if not data:
        return dict(ret, comment='Process signature "%s" not found ' % name)
    return dict(ret, result=True, data=data, comment='Process signature "%s" was found ' % name)
