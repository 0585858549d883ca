"""Services of a dummy."""

#: Functions that templates cannot call in a dry run.
__changes__ = ("start", "stop", "restart")
__reads__ = ("get_all", "available", "missing", "status")


def get_all():
    """Return the names of its services"""
    return __resource_funcs__["dummy.service_list"]()


def available(name):
    """Whether it has this service"""
    return name in get_all()


def missing(name):
    """Whether it does not have this service"""
    return not available(name)


def status(name, sig=None):
    """Whether a service runs"""
    return __resource_funcs__["dummy.service_status"](name)["comment"] == "running"


def start(name):
    """Start a service"""
    return __resource_funcs__["dummy.service_start"](name) == "running"


def stop(name):
    """Stop a service"""
    return __resource_funcs__["dummy.service_stop"](name) == "stopped"


def restart(name):
    """Restart a service"""
    return __resource_funcs__["dummy.service_restart"](name)
