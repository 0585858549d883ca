"""The module ``service`` of a machine whose init is runit: its functions are those of the module ``runit``."""

from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"init": ("runit",)}

__func_alias__ = {"reload_": "reload"}
__reads__ = (
    "add_svc_avail_path",
    "available",
    "disabled",
    "enabled",
    "get_all",
    "get_disabled",
    "get_enabled",
    "get_svc_alias",
    "get_svc_avail_path",
    "get_svc_broken_path",
    "missing",
    "offline",
    "show",
    "status",
    "status_autostart",
)
__changes__ = ("disable", "enable", "full_restart", "reload", "remove", "restart", "start", "stop")

FUNCTIONS = (
    "available",
    "disable",
    "disabled",
    "enable",
    "enabled",
    "full_restart",
    "get_all",
    "get_disabled",
    "get_enabled",
    "missing",
    "offline",
    "reload",
    "remove",
    "restart",
    "show",
    "start",
    "status",
    "status_autostart",
    "stop",
    "add_svc_avail_path",
    "get_svc_alias",
    "get_svc_avail_path",
    "get_svc_broken_path",
)


def __virtual__():
    if initsystem.manager(__grains__) == "runit":
        return __virtualname__
    return False, "The init of this machine is not runit"


def _asking(name):
    def function(*args, **kwargs):
        return __salt__["runit." + name](*args, **kwargs)

    function.__name__ = name
    function.__doc__ = "Return what ``runit.%s`` returns, which has the same arguments" % name
    return function


for _name in FUNCTIONS:
    globals()["reload_" if _name == "reload" else _name] = _asking(_name)
