"""Starts and stops services of a dummy."""


def running(name):
    """Ensure that the service runs."""
    return _ensure(name, True)


def dead(name):
    """Ensure that the service does not run."""
    return _ensure(name, False)


def _ensure(name, wanted):
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    word = "running" if wanted else "stopped"
    if __salt__["service.status"](name) == wanted:
        ret["comment"] = "The service %s is %s already" % (name, word)
        return ret
    ret["changes"] = {name: wanted}
    if __opts__["test"]:
        ret.update(result=None, comment="The service %s would be %s" % (name, word))
        return ret
    __salt__["service.start" if wanted else "service.stop"](name)
    ret["comment"] = "The service %s is %s now" % (name, word)
    return ret
