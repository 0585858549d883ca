"""Validates settings of network interfaces, for the providers of ``ip``.

Salt: the helpers of ``debian_ip`` and ``rh_ip``.
"""

import re

from thin.log import getLogger

log = getLogger(__name__)

TRUE = ("yes", "on", "true", "1", True)
FALSE = ("no", "off", "false", "0", False)


def finished(salt, settings):
    """The end of ``ip.apply_network_settings``, except for the restart.

    Returns ``(success, whether the settings need a reboot, so that the network is not restarted)``.
    Sets the host name if ``apply_hostname`` is set. ``salt`` has the function ``network.mod_hostname``.
    """
    good = True
    if settings.get("apply_hostname", False) in TRUE:
        good = salt["network.mod_hostname"](settings["hostname"]) if "hostname" in settings else False
        if "hostname" not in settings:
            log.warning("The network state is to apply a host name, but none is given.")
    later = settings.get("require_reboot", False) in TRUE
    if later:
        log.warning("The network state needs a reboot of the system to apply the network's configuration.")
    return good, later


def bad_option(iface, option, expected):
    """An AttributeError (as in Salt) that says what an option of an interface takes."""
    words = "|".join(str(each) for each in expected)
    return AttributeError("Invalid option -- Interface: %s, Option: %s, Expected: [%s]" % (iface, option, words))


def bad_setting(option, expected):
    """The same for a setting of the whole system."""
    words = "|".join(str(each) for each in expected)
    return AttributeError("Invalid network setting -- Setting: %s, Expected: [%s]" % (option, words))


def bad_routes(iface, option, expected):
    """The same for routes."""
    words = "Invalid option -- Route interface: %s, Option: %s, Expected: [%s]"
    return AttributeError(words % (iface, option, expected))


def switch(opts, iface, option, yes, no):
    """``yes`` or ``no``, depending on the switch ``option``. Raises AttributeError for another value."""
    if opts[option] in TRUE:
        return yes
    if opts[option] in FALSE:
        return no
    raise bad_option(iface, option, TRUE + FALSE)


def integer(value):
    """``(True, the integer)``, or ``(False, the value)`` if it is none."""
    try:
        return True, int(value)
    except (ValueError, TypeError):
        return False, value


def ipv4(value):
    """Whether the value is an IPv4 address in a string."""
    parts = str(value).split(".")
    return len(parts) == 4 and all(re.match(r"\d{1,3}$", part) and int(part) < 256 for part in parts)


def ipv6(value):
    """Whether the value is an IPv6 address."""
    import socket

    try:
        socket.inet_pton(socket.AF_INET6, str(value))
    except (OSError, ValueError):
        return False
    return True


def mac(value):
    """Whether the value is a MAC address."""
    return bool(re.match(r"[0-9a-f]{2}([-:])[0-9a-f]{2}(\1[0-9a-f]{2}){4}$", str(value).lower()))


def netmask(value):
    """Whether the value is a netmask in dotted notation."""
    if not ipv4(value):
        return False
    bits = "".join(format(int(part), "08b") for part in value.split("."))
    return "01" not in bits


# Bonds

_MODES = ("balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb")
_DEFAULTS = {
    "ad_select": "0",
    "miimon": "100",
    "arp_interval": "250",
    "downdelay": "200",
    "lacp_rate": "0",
    "updelay": "0",
    "use_carrier": "on",
}
_LAYERS = ["layer2", "layer2+3", "layer3+4"]


def bond_mode(opts, iface):
    """The number of a bond's mode; settings have its number or name. Raises AttributeError for another."""
    names = [str(number) for number in range(len(_MODES))] + list(_MODES)
    given = str(opts.get("mode"))
    if given not in names:
        raise bad_option(iface, "mode", names)
    return names.index(given) % len(_MODES)


def bond(opts, iface, carrier=True, arp=True):
    """The options of the bonding driver from settings, sorted. The options and their defaults depend on the mode.

    ``carrier``: whether mode 1 takes ``use_carrier``; ``arp``: whether modes 0 and 2 require ``arp_ip_target``.
    Raises AttributeError for a wrong value.
    """
    mode = bond_mode(opts, iface)
    result = {"mode": str(mode)}
    if mode in (0, 2):
        targets = opts.get("arp_ip_target")
        if isinstance(targets, list) and 1 <= len(targets) <= 16:
            result["arp_ip_target"] = ",".join(map(str, targets))
        elif arp or targets is not None:
            raise bad_option(iface, "arp_ip_target", ["list of ips (up to 16)"])
        _number(result, opts, iface, "arp_interval")
    else:
        for option in ("miimon", "downdelay", "updelay") + (("lacp_rate", "ad_select") if mode == 4 else ()):
            _number(result, opts, iface, option)
        if mode == 1 and "primary" in opts:
            result["primary"] = opts["primary"]
        if mode != 1 or carrier:
            result["use_carrier"] = _DEFAULTS["use_carrier"]
            if "use_carrier" in opts:
                result["use_carrier"] = switch(opts, iface, "use_carrier", "1", "0")
        if mode in (5, 6) and "primary" in opts:
            result["primary"] = opts["primary"]
    if mode in (2, 4) and "hashing-algorithm" in opts:
        if opts["hashing-algorithm"] not in _LAYERS:
            raise bad_option(iface, "hashing-algorithm", _LAYERS)
        result["xmit_hash_policy"] = opts["hashing-algorithm"]
    return result


def _number(settings, opts, iface, option):
    value = opts.get(option, _DEFAULTS[option])
    expected = ["integer"]
    if option == "lacp_rate":
        value, expected = {"fast": "1", "slow": "0"}.get(value, value), ["fast", "1", "slow", "0"]
    if not integer(value)[0]:
        raise bad_option(iface, option, expected)
    settings[option] = value
