"""Services under upstart are not supported: the last systems with upstart no longer receive updates.

The module only reports this. Salt: modules/upstart_service.py
"""

from thin.utils.system import initsystem

__virtualname__ = "service"
__fits__ = {"init": ("upstart",)}


def __virtual__():
    if initsystem.manager(__grains__) == "upstart":
        return False, "services under upstart are not supported; update the system to one with systemd or OpenRC"
    return False, "Not an upstart system"
