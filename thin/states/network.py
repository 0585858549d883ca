"""
Network interfaces, their routes, and the host's network settings. Salt: ``salt/states/network.py``.

The module ``ip`` of the system writes the configuration: ``/etc/network/interfaces`` (Debian), netplan, ``ifcfg`` files
(Red Hat), or NetworkManager.
"""

from thin import process
from thin.exceptions import CommandExecutionError, CommandNotFoundError
from thin.log import getLogger
from thin.utils.system import interfaces
from thin.utils.unified import unified

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt

log = getLogger(__name__)

#: exceptions of the providers for wrong settings and failed commands
_FAILURES = (AttributeError, CommandExecutionError, CommandNotFoundError)


def __virtual__():
    return True if "ip.get_interface" in __salt__ else (False, "ip module could not be loaded")


def managed(name, enabled=True, **kwargs):
    """
    An interface has this configuration, and is up or down.

    name
        The interface.
    enabled
        Whether it is up, now and at boot.
    type
        eth (the default), bond, slave, vlan, bridge, pppoe, source, team, teamport, ib: as the system's module
        supports.
    noifupdown
        Only write the configuration.
    kwargs
        The settings: proto, ipaddr, netmask, gateway, dns, mtu, ipv6proto, slaves, ports … as ``ip.build_interface``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Interface %s is up to date." % name}
    kwargs.setdefault("test", __opts__.get("test", False))
    kind = str(kwargs.pop("type", "eth"))
    if "addr" in kwargs:
        _misnamed(ret, kwargs)
    try:
        old = __salt__["ip.get_interface"](name)
        new = __salt__["ip.build_interface"](name, kind, enabled, **kwargs)
        anew = _compare(ret, "interface", old, new, kwargs["test"], "Interface %s" % name, "Added network interface.")
        if kind == "source":
            return ret
        if kind == "bond" and "ip.get_bond" in __salt__:
            old = __salt__["ip.get_bond"](name)
            new = __salt__["ip.build_bond"](name, **kwargs)
            what = "Bond interface %s" % name
            anew = _compare(ret, "bond", old, new, kwargs["test"], what, "Added bond %s." % name) or anew
        if kwargs["test"]:
            return ret
        if "range" in name:
            if not anew:
                return dict(ret, comment="no change, passing it")
            words = "network restarted for change of ranged interfaces"
            return dict(ret, result=__salt__["service.restart"]("network"), comment=words)
        was_up = _is_up(name)
        if "noifupdown" not in kwargs:
            _switch(ret, name, kind, enabled, was_up)
            if kind == "bond" and kwargs.get("slaves"):
                _enslave(ret, name, kwargs["slaves"])
    except _FAILURES as exc:
        return dict(ret, result=False, comment=str(exc))
    if not (enabled and was_up):
        __salt__["saltutil.refresh_grains"]()
    return ret


def routes(name, **kwargs):
    """
    An interface has these routes.

    name
        The interface.
    routes
        A list of ``{name, ipaddr, netmask, gateway}``, and other keys of the system's module.
    kwargs
        Arguments of ``ip.apply_network_settings``, such as ``require_reboot``.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "Interface %s routes are up to date." % name}
    kwargs.setdefault("test", __opts__.get("test", False))
    try:
        old = __salt__["ip.get_routes"](name)
        new = __salt__["ip.build_routes"](name, **kwargs)
        what = "Interface %s routes" % name
        anew = _compare(
            ret, "network_routes", old, new, kwargs["test"], what, "Added interface %s routes." % name, "are"
        )
        if anew:
            __salt__["ip.apply_network_settings"](**kwargs)
    except _FAILURES as exc:
        return dict(ret, result=False, comment=str(exc))
    return ret


def system(name, **kwargs):
    """
    The host has these network settings.

    name
        Without effect.
    enabled
        Whether interfaces are brought up at boot.
    hostname
        The host's name.
    apply_hostname
        Set that name now.
    require_reboot
        Do not restart networking.
    retain_settings
        Red Hat: keep settings that are not given.
    kwargs
        More settings, as ``ip.build_network_settings``: search, gateway, gatewaydev, nozeroconf, nisdomain …
    """
    words = "Global network settings"
    ret = {"name": name, "changes": {}, "result": True, "comment": words + " are up to date."}
    kwargs["test"] = __opts__["test"]
    try:
        old = __salt__["ip.get_network_settings"]()
        new = __salt__["ip.build_network_settings"](**kwargs)
        comment = ret["comment"]
        added = "Added global network settings."
        anew = _compare(ret, "network_settings", old, new, kwargs["test"], words, added, "are")
        if anew:
            ret["comment"] = comment  # as in Salt
            __salt__["ip.apply_network_settings"](**kwargs)
    except _FAILURES + (KeyError,) as exc:
        return dict(ret, result=False, comment=str(exc))
    return ret


def _misnamed(ret, kwargs):
    address = kwargs.pop("addr")
    words = "'addr' is not a valid argument name, "
    if "hwaddr" in kwargs:
        words += "it has been ignored in favor of 'hwaddr'."
    else:
        kwargs["hwaddr"] = address
        words += "its value has been assigned to 'hwaddr' instead."
    ret.setdefault("warnings", []).append(words + " Update your SLS file to get rid of this warning.")


def _compare(ret, key, old, new, test, what, added, verb="is"):
    """Report the differences between the present and the wanted lines. Returns whether there are any."""
    if old == new or (not old and not new):
        return False
    diff = "\n".join(unified(_lines(old), _lines(new), end=""))
    if test:
        ret["result"] = None
        words = "%s %s set to be updated:\n%s" % (what, verb, diff) if old else "%s %s set to be added." % (what, verb)
        ret["comment"] = words
        return False
    ret["comment"] = "%s %s." % (what, "updated" if old else "added")
    ret["changes"][key] = diff if old else added
    return True


def _lines(value):
    return value.splitlines() if isinstance(value, str) else list(value or ())


def _is_up(name):
    """Whether the interface is up; an alias is up if an address has its label."""
    table = interfaces.table()
    if name in table:
        return table[name].get("up")
    return any(entry.get("label") == name for entry in interfaces.entries("inet", table))


def _switch(ret, name, kind, enabled, was_up):
    if not enabled:
        if was_up:
            __salt__["ip.down"](name, kind)
            ret["changes"]["status"] = "Interface %s down" % name
    elif not was_up:
        __salt__["ip.up"](name, kind)
        ret["changes"]["status"] = "Interface %s is up" % name
    elif ret["changes"]:
        __salt__["ip.down"](name, kind)
        __salt__["ip.up"](name, kind)
        ret["changes"]["status"] = "Interface %s restart to validate" % name


def _enslave(ret, name, slaves):
    """Add missing members to the bond."""
    from thin.utils.files import textfile

    wanted = slaves if isinstance(slaves, list) else slaves.split()
    present = "".join(textfile.lines("/sys/class/net/%s/bonding/slaves" % name)).split()
    missing = [slave for slave in wanted if slave not in present]
    if not missing:
        return
    if __grains__.get("os_family") != "Suse":
        program = process.which("ifenslave")
        if program:
            __salt__["cmd.run"]([program, name] + missing, python_shell=False)
        else:
            log.error("ifenslave is not installed")
    ret["changes"]["enslave"] = "Added slaves '%s' to master '%s'" % (" ".join(missing), name)
