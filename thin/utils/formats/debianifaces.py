"""Parses, builds and writes stanzas of ``/etc/network/interfaces``. Salt: ``salt/modules/debian_ip.py``.

An adapter is ``{"enabled", "hotplug", "data": {"inet": {...}, "inet6": {...}}, "filename"}``. The dict of a family has
``proto``, the options with underscores in their names, and ``ethtool``, ``bonding`` and ``bridging`` as dicts.
"""

import re

from thin.utils.formats import ifacewords as check

ETHTOOL = {
    "speed": "link-speed",
    "duplex": "link-duplex",
    "autoneg": "ethernet-autoneg",
    "ethernet-port": "ethernet-port",
    "wol": "ethernet-wol",
    "driver-message-level": "driver-message-level",
    "ethernet-pause-rx": "ethernet-pause-rx",
    "ethernet-pause-tx": "ethernet-pause-tx",
    "ethernet-pause-autoneg": "ethernet-pause-autoneg",
    "rx": "offload-rx",
    "tx": "offload-tx",
    "sg": "offload-sg",
    "tso": "offload-tso",
    "ufo": "offload-ufo",
    "gso": "offload-gso",
    "gro": "offload-gro",
    "lro": "offload-lro",
    "hardware-irq-coalesce-adaptive-rx": "hardware-irq-coalesce-adaptive-rx",
    "hardware-irq-coalesce-adaptive-tx": "hardware-irq-coalesce-adaptive-tx",
    "hardware-irq-coalesce-rx-usecs": "hardware-irq-coalesce-rx-usecs",
    "hardware-irq-coalesce-rx-frames": "hardware-irq-coalesce-rx-frames",
    "hardware-dma-ring-rx": "hardware-dma-ring-rx",
    "hardware-dma-ring-rx-mini": "hardware-dma-ring-rx-mini",
    "hardware-dma-ring-rx-jumbo": "hardware-dma-ring-rx-jumbo",
    "hardware-dma-ring-tx": "hardware-dma-ring-tx",
}

#: Names of settings -> their names in the file.
_CALLED = {
    "dns": "dns-nameservers",
    "search": "dns-search",
    "hwaddr": "hwaddress",
    "ipaddr": "address",
    "ipaddrs": "addresses",
    "addr": "address",
    "addrs": "addresses",
}
COMMANDS = ("up", "down", "pre-up", "post-up", "pre-down", "post-down")
#: The order of options in a stanza.
_ORDER = """
autoconf privext dhcp hwaddress hwaddr vlan_raw_device address addresses netmask broadcast metric gateway pointopoint
scope hostname media leasehours leasetime vendor client bootfile server mode endpoint dstaddr local ttl mtu provider
unit options master dns_nameservers dns_search wireless_mode wireless_essid wpa_ap_scan wpa_conf wpa_driver wpa_group
wpa_key_mgmt wpa_pairwise wpa_proto wpa_psk wpa_roam wpa_ssid accept_ra preferred_lifetime dad_attempts dad_interval
up_cmds down_cmds pre_up_cmds post_up_cmds pre_down_cmds post_down_cmds
""".split()
_WRITTEN = {"addresses": "address", "hwaddr": "hwaddress", "master": "bond-master", "accept_ra": "accept_ra"}
_WRITTEN.update({word.replace("-", "_") + "_cmds": word for word in COMMANDS})


def _any(value):
    return True, value


def _within(kind, *words):
    def validate(value):
        try:
            value = kind(value)
        except (ValueError, TypeError):
            return False, value
        return value in words, value

    return validate


def _that(test):
    return lambda value: (test(value), value)


def _float(value):
    try:
        return True, float(value)
    except (ValueError, TypeError):
        return False, value


def _mask4(value):
    valid, number = check.integer(value)
    return (True, number) if valid and 0 <= number <= 32 else (check.netmask(number), number)


def _mask6(value):
    valid, number = check.integer(value)
    return valid and 0 <= number <= 128, number


def _list(value):
    value = value.split() if isinstance(value, str) else value
    return isinstance(value, (list, tuple)) and bool(value), value


_IPV4, _MAC = _that(check.ipv4), _that(check.mac)
_BOTH = {
    "addresses": _any,
    "hwaddress": _MAC,
    "mtu": check.integer,
    "slaves": _any,
    "endpoint": _IPV4,
    "local": _IPV4,
    "mode": _within(str, "gre", "GRE", "ipip", "IPIP", "802.3ad"),
    "ttl": check.integer,
    "dns-nameservers": _list,
    "dns-search": _list,
    "vlan-raw-device": _any,
    "test": _any,
    "enable_ipv4": _any,
    "enable_ipv6": _any,
    "wpa-ap-scan": _within(int, 0, 1, 2),
    "wireless-essid": _any,
    "wireless-mode": _any,
    "wpa-conf": _any,
    "wpa-driver": _any,
    "wpa-group": _any,
    "wpa-key-mgmt": _any,
    "wpa-pairwise": _any,
    "wpa-psk": _any,
    "wpa-proto": _any,
    "wpa-roam": _any,
    "wpa-ssid": _any,
}
#: The options of each family, with functions that validate a value and return (valid, value).
OPTIONS = {"inet": dict(_BOTH), "inet6": dict(_BOTH)}
OPTIONS["inet"].update(
    {
        "proto": _within(str, "bootp", "dhcp", "static", "manual", "loopback", "ppp"),
        "address": _IPV4,
        "netmask": _mask4,
        "broadcast": _IPV4,
        "metric": check.integer,
        "gateway": _IPV4,
        "pointopoint": _IPV4,
        "hostname": _any,
        "scope": _within(str, "global", "link", "host"),
        "leasehours": check.integer,
        "leasetime": check.integer,
        "vendor": _any,
        "client": _any,
        "bootfile": _any,
        "server": _IPV4,
        "hwaddr": _MAC,
        "dstaddr": _IPV4,
        "provider": _any,
        "unit": check.integer,
        "options": _any,
        "network": _any,
    }
)
OPTIONS["inet6"].update(
    {
        "proto": _within(str, "auto", "loopback", "static", "manual", "dhcp", "v4tunnel", "6to4"),
        "netmask": _mask6,
        "address": _that(check.ipv6),
        "broadcast": _that(check.ipv6),
        "gateway": _that(check.ipv6),
        "scope": _within(str, "global", "site", "link", "host"),
        "privext": _within(int, 0, 1, 2),
        "dhcp": _within(int, 0, 1),
        "media": _any,
        "accept_ra": _within(int, 0, 1, 2),
        "autoconf": _within(int, 0, 1),
        "preferred-lifetime": check.integer,
        "dad-attempts": check.integer,
        "dad-interval": _float,
    }
)


def parse(text, filename, adapters=None):
    """Parse the text of an interfaces file. Returns ``{name: adapter}``; adds to ``adapters`` if given.

    ``source`` lines and unknown stanzas are stored as ``{"raw": [lines]}``, under keys that are no interface names.
    Raises AttributeError for a malformed stanza.
    """
    adapters = {} if adapters is None else adapters
    family, place = {}, ""
    for number, line in enumerate(text.splitlines()):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        words = line.split()
        if line[0].isspace():
            if "raw" in adapters.get(place, ()):
                adapters[place]["raw"].append(line.rstrip())
            else:
                _option(family, place and adapters[place]["addrfam"], line.strip())
        elif words[0] == "iface":
            if len(words) != 4:
                raise AttributeError("Interface file malformed: %s." % words)
            place = words[1]
            adapter = _adapter(adapters, place, filename)
            adapter["addrfam"] = words[2]
            family = adapter.setdefault("data", {}).setdefault(words[2], {"addrfam": words[2]})
            family["proto"] = words[3]
        elif words[0] in ("auto", "allow-auto", "allow-hotplug"):
            for name in words[1:]:
                _adapter(adapters, name, filename)["hotplug" if words[0] == "allow-hotplug" else "enabled"] = True
        else:
            place = " %s %d" % (filename, number)
            adapters[place] = {"raw": [line.rstrip()], "filename": filename}
    return adapters


def _adapter(adapters, name, filename):
    return adapters.setdefault(name, {"filename": filename})


def _option(family, addrfam, line):
    attr, _, value = line.partition(" ") if " " in line else line.partition("\t")
    value, name = value.strip(), attr.replace("-", "_")
    options = OPTIONS.get(addrfam, {})
    if attr in OPTIONS["inet"] or attr in OPTIONS["inet6"]:
        value = options[attr](value)[1] if attr in options else value
        if name == "address" and "address" in family:
            family.setdefault("addresses", []).append(value)
        else:
            family[name] = value
    elif attr in ETHTOOL.values():
        family.setdefault("ethtool", {})[attr] = value
    elif re.match("(bond|bridge)[_-]", attr):
        kind, _, option = re.match("(bond|bridge)([_-])(.*)", attr).groups()
        if attr == "bond-master":
            family["master"] = value
        else:
            family.setdefault({"bond": "bonding", "bridge": "bridging"}[kind], {})[option] = value
    elif attr in COMMANDS:
        family.setdefault(name + "_cmds", []).append(value)
    else:
        family.setdefault("unknown", []).append(line)


def render(name, adapter):
    """The text of the stanzas of an interface."""
    if "raw" in adapter:
        return "".join(line + "\n" for line in adapter["raw"])
    lines = ["auto " + name] if adapter.get("enabled") else []
    lines += ["allow-hotplug " + name] if adapter.get("hotplug") else []
    for addrfam in ("inet", "inet6"):
        family = adapter.get("data", {}).get(addrfam)
        if not family or family.get("addrfam") != addrfam or not family.get("proto"):
            continue
        lines.append("iface %s %s %s" % (name, addrfam, family["proto"]))
        for option in _ORDER:
            value, word = family.get(option), _WRITTEN.get(option, option.replace("_", "-"))
            if value is None or value is False or value == "" or value == []:
                continue
            if option in ("dns_nameservers", "dns_search") and not isinstance(value, str):
                value = " ".join(map(str, value))
            lines += ["    %s %s" % (word, each) for each in (value if isinstance(value, (list, tuple)) else [value])]
        for kind, form in (("ethtool", "%s"), ("bonding", "bond-%s"), ("bridging", "bridge_%s")):
            for option, value in sorted(family.get(kind, {}).items()):
                value = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
                lines.append("    %s %s" % (form % option, value))
        lines += ["    " + line for line in family.get("unknown", ())]
    return "".join(line + "\n" for line in lines)


def build(settings, kind, enabled, iface, carrier=True):
    """Build an adapter from settings. ``kind``: eth, bond, bridge, slave, vlan, pppoe. Raises AttributeError."""
    opts = dict(settings)
    if isinstance(opts.get("ports"), list):
        opts["ports"] = " ".join(opts["ports"])
    data = {"inet": {}, "inet6": {}}
    adapter = {"data": data}
    adapter.update({"enabled": True} if enabled else {})
    adapter.update({"hotplug": True} if opts.get("hotplug") else {})
    if kind == "slave":
        opts["proto"] = "manual"
    for addrfam, family in data.items():
        if kind != "bridge":
            ethtool = {ETHTOOL[key]: value for key, value in _ethtool(opts, iface).items()}
            family.update({"ethtool": ethtool} if ethtool else {})
        if kind == "bridge":
            family["bridging"] = _bridge(opts, iface)
        elif kind == "bond":
            family["bonding"] = dict(check.bond(opts, iface, carrier), slaves=opts["slaves"])
        elif kind == "slave":
            family["master"] = opts["master"]
        elif kind == "vlan":
            family["vlan_raw_device"] = re.sub(r"\.\d*", "", iface)
        elif kind == "pppoe":
            family.update(pppoe(opts, iface))
        if kind != "eth":
            family["addrfam"] = addrfam
    opts.pop("mode", None)
    for option, value in opts.items():
        _place(data, option, value)
    for word in COMMANDS:
        key = word.replace("-", "_") + "_cmds"
        for family in data.values() if key in opts else ():
            family[key] = opts[key]
    for addrfam, switch in (("inet", "enable_ipv4"), ("inet6", "enable_ipv6")):
        if opts.get(switch) is False or data[addrfam].get("addrfam") != addrfam:
            data.pop(addrfam)
    return adapter


def _place(data, option, value):
    """Add a setting to the family that its name says, else to each family that has such an option."""
    wanted = None
    if option[:4] in ("ipv4", "ipv6"):
        wanted, option = ("inet" if option[:4] == "ipv4" else "inet6"), option[4:]
    elif option in ("ipaddr", "address", "ipaddresses", "addresses", "gateway", "proto"):
        wanted = "inet"
    if wanted:
        data[wanted]["addrfam"] = wanted
    word = _CALLED.get(option, option)
    name = word.replace("-", "_")
    for addrfam, family in data.items():
        valid, checked = OPTIONS[addrfam][word](value) if word in OPTIONS[addrfam] else (False, None)
        if valid and (wanted == addrfam or (wanted is None and name not in family)):
            family[name] = checked


def _ethtool(opts, iface):
    result = {}
    if "autoneg" in opts:
        result["autoneg"] = check.switch(opts, iface, "autoneg", "on", "off")
    for option, valid in (("duplex", ["full", "half"]), ("speed", ["10", "100", "1000", "10000"])):
        if option in opts:
            if str(opts[option]) not in valid:
                raise check.bad_option(iface, option, valid)
            result[option] = opts[option]
    for option in ("rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro"):
        if option in opts:
            result[option] = check.switch(opts, iface, option, "on", "off")
    return result


_PPPOE = """
user password provider pppoe_iface noipdefault usepeerdns defaultroute holdoff maxfail hide-password lcp-echo-interval
lcp-echo-failure connect noauth persist mtu noaccomp linkname
""".split()
_PPPOE_SWITCHES = ("noipdefault", "usepeerdns", "defaultroute", "hide-password", "noauth", "persist", "noaccomp")


def pppoe(opts, iface):
    """The settings of a PPPoE connection; switches have the strings True and False. Raises AttributeError."""
    if "provider" in opts and not opts["provider"]:
        raise check.bad_option(iface, "provider", ["name"])
    result = {option: opts[option] for option in _PPPOE if option in opts}
    for option in _PPPOE_SWITCHES:
        if option in opts:
            result[option] = check.switch(opts, iface, option, "True", "False")
    return result


def peer(family):
    """The text of a pppd peer file. ``family``: the inet part of an adapter."""
    if not family.get("user"):
        return ""
    lines = ["user %s" % family["user"]]
    lines += ["password %s" % family["password"]] if family.get("password") else []
    lines.append("plugin rp-pppoe.so %s" % family.get("pppoe_iface", "eth0"))
    for option, default in (
        ("noipdefault", None),
        ("usepeerdns", None),
        ("defaultroute", None),
        ("holdoff", "15"),
        ("maxfail", "0"),
        ("hide-password", None),
        ("lcp-echo-interval", "20"),
        ("lcp-echo-failure", "3"),
        ("noauth", None),
        ("persist", None),
        ("mtu", "1492"),
        ("noaccomp", None),
    ):
        if default is None:
            lines += [option] if family.get(option) != "False" else []
        elif family.get(option, default) != "":
            lines.append("%s %s" % (option, family.get(option, default)))
    lines += ["default-asyncmap"] if family.get("default-asyncmap") else []
    lines += ["linkname %s" % family["linkname"]] if "linkname" in family else []
    return "".join(line + "\n" for line in lines)


def _bridge(opts, iface):
    result = {"ports": opts["ports"]} if "ports" in opts else {}
    for option in ("ageing", "fd", "gcint", "hello", "maxage"):
        if option in opts:
            if not _float(opts[option])[0]:
                raise check.bad_option(iface, option, ["float"])
            result[option] = opts[option]
    for option in ("bridgeprio", "maxwait"):
        if option in opts:
            if not isinstance(opts[option], int):
                raise check.bad_option(iface, option, ["integer"])
            result[option] = opts[option]
    if "hw" in opts:
        if not check.mac(opts["hw"]):
            raise check.bad_option(iface, "hw", ["valid MAC address"])
        result["hw"] = opts["hw"]
    for option in ("pathcost", "portprio"):
        if option in opts:
            words = str(opts[option]).split()
            if len(words) != 2 or not check.integer(words[1])[0]:
                raise check.bad_option(iface, option, ["interface integer"])
            result[option] = " ".join(words)
    if "stp" in opts:
        result["stp"] = check.switch(opts, iface, "stp", "on", "off")
    if "waitport" in opts:
        words = str(opts["waitport"]).split()
        if not isinstance(opts["waitport"], int) and not (words[0].isdigit() and len(words) > 1):
            raise check.bad_option(iface, "waitport", ["integer [interfaces]"])
        result["waitport"] = " ".join(words)
    return result
