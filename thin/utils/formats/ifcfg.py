"""Builds the files of Red Hat's network scripts from settings: ``ifcfg-*``, ``route-*``. Salt:
``salt/modules/rh_ip.py``."""

from thin.utils.formats import ifacewords as check

_ADVERTISE = (
    "0x001 0x002 0x004 0x008 0x010 0x020 0x20000 0x8000 0x1000 0x40000 0x80000 0x200000 0x400000 0x800000 0x1000000"
    " 0x2000000 0x4000000"
).split()
_HASHES = ["layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"]

#: The settings in the order of their lines, with their name in the file if it is another one.
_LINES = """
name=DEVICE nickname=NAME hwaddr macaddr uuid userctl master slave vlan reorder_hdr vlan_id=VID phys_dev=PHYSDEV
devtype=TYPE devicetype team_config team_port_config team_master proto=BOOTPROTO onboot onparent ipv4_failure_fatal
ipaddr ipaddr_start ipaddr_end clonenum_start netmask prefix ipaddrs gateway arpcheck enable_ipv6 ipv6_autoconf dhcpv6c
ipv6addr ipv6gateway=IPV6_DEFAULTGW ipv6addrs=IPV6ADDR_SECONDARIES ipv6_peerdns ipv6_defroute ipv6_peerroutes srcaddr
peerdns peerroutes peerntp defroute bridge stp delay mtu zone my_inner_ipaddr my_outer_ipaddr bonding=BONDING_OPTS
ethtool=ETHTOOL_OPTS domain nm_controlled dns
""".split()
_PLAIN = ("onparent", "my_inner_ipaddr", "my_outer_ipaddr")
_OF_VLAN = ("reorder_hdr", "vlan_id", "phys_dev")
_OF_IPV6 = (
    "ipv6_autoconf",
    "dhcpv6c",
    "ipv6addr",
    "ipv6gateway",
    "ipv6addrs",
    "ipv6_peerdns",
    "ipv6_defroute",
    "ipv6_peerroutes",
)


def lines(settings):
    """The lines of an ``ifcfg`` file, without newlines."""
    out = []
    for entry in _LINES:
        key, _, word = entry.partition("=")
        value = settings.get(key)
        if (not value and not (key == "delay" and value == 0)) or (key in _OF_VLAN and not settings.get("vlan")):
            continue
        if key in _OF_IPV6 and not settings.get("enable_ipv6"):
            continue
        word = word or key.upper()
        if key == "ipaddrs":
            for number, pair in enumerate(value, 1):
                out += ['IPADDR%d="%s"' % (number, pair[0]), 'PREFIX%d="%s"' % (number, pair[1])]
        elif key == "dns":
            servers = value.replace(",", " ").split() if isinstance(value, str) else value
            out += ['DNS%d="%s"' % pair for pair in enumerate(servers, 1)]
        elif key == "enable_ipv6":
            out.append('IPV6INIT="yes"')
        elif key in ("team_config", "team_port_config"):
            out.append("%s='%s'" % (word, value))
        elif key in ("ipv6addrs", "domain") and not isinstance(value, str):
            out.append('%s="%s"' % (word, " ".join(map(str, value))))
        else:
            out.append(("%s=%s" if key in _PLAIN else '%s="%s"') % (word, value))
    return out


#: Settings that are written unchanged.
TAKEN = (
    "prefix",
    "netmask",
    "ipaddr",
    "master",
    "srcaddr",
    "delay",
    "domain",
    "gateway",
    "uuid",
    "nickname",
    "zone",
    "ipv6addr",
    "ipv6gateway",
    "enable_ipv6",
    "ipaddr_start",
    "ipaddr_end",
    "clonenum_start",
    "hwaddr",
    "macaddr",
)
#: Settings that are yes or no.
SWITCHES = (
    "onparent",
    "peerdns",
    "peerroutes",
    "slave",
    "vlan",
    "defroute",
    "stp",
    "ipv6_peerdns",
    "ipv6_defroute",
    "ipv6_peerroutes",
    "ipv6_autoconf",
    "ipv4_failure_fatal",
    "dhcpv6c",
)


def settings(opts, kind, enabled, iface, hwaddr=None, cpus=1, dumps=str):
    """The settings for an ``ifcfg`` file. ``hwaddr``: the adapter's own address; ``cpus``: how many the machine has;
    ``dumps``: a function that makes JSON. Raises AttributeError for a wrong value."""
    settings = {"name": iface}
    if "proto" in opts:
        if opts["proto"] not in ("none", "bootp", "dhcp"):
            raise check.bad_option(iface, opts["proto"], ["none", "bootp", "dhcp"])
        settings["proto"] = opts["proto"]
    if "dns" in opts:
        settings.update(dns=opts["dns"], peerdns="yes")
    if "mtu" in opts:
        valid, settings["mtu"] = check.integer(opts["mtu"])
        if not valid:
            raise check.bad_option(iface, "mtu", ["integer"])
    if "hwaddr" in opts and "macaddr" in opts:
        raise AttributeError("Cannot pass both hwaddr and macaddr. Must use either hwaddr or macaddr")
    if kind != "bridge":
        ethtool = _ethtool(opts, iface, cpus)
        settings.update({"ethtool": " ".join("%s %s" % pair for pair in ethtool.items())} if ethtool else {})
    _by_kind(settings, opts, kind, iface, dumps)
    if kind not in ("bond", "team", "vlan", "bridge", "ipip"):
        _hardware(settings, opts, kind, iface, hwaddr)
    if kind != "bridge" and "bridge" in opts:
        settings["bridge"] = opts["bridge"]
    if "prefix" in opts and "netmask" in opts:
        raise AttributeError("Cannot use prefix and netmask together")
    settings.update({key: opts[key] for key in TAKEN if key in opts})
    for address in opts.get("ipaddrs", ()):
        pair = [part.strip() for part in str(address).split("/")]
        if len(pair) != 2 or not check.ipv4(pair[0]):
            raise AttributeError("ipv4 CIDR is invalid")
        settings.setdefault("ipaddrs", []).append(pair)
    for address in opts.get("ipv6addrs", ()):
        if not check.ipv6(str(address).split("/")[0]):
            raise AttributeError("ipv6 CIDR is invalid")
        settings["ipv6addrs"] = opts["ipv6addrs"]
    for key in SWITCHES:
        if key in opts:
            settings[key] = check.switch(opts, iface, key, "yes", "no")
    settings["onboot"] = "yes" if enabled else "no"
    for key in ("userctl", "nm_controlled"):
        settings[key] = check.switch(opts, iface, key, "yes", "no") if key in opts else "no"
    if opts.get("arpcheck", True) in check.FALSE:
        settings["arpcheck"] = "no"
    return settings


def _by_kind(settings, opts, kind, iface, dumps):
    named = {"bond": "Bond", "vlan": "Vlan", "eth": "Ethernet", "bridge": "Bridge", "ipip": "IPIP", "ib": "InfiniBand"}
    settings.update({"devtype": named[kind]} if kind in named else {})
    if kind == "slave":
        settings["proto"] = "none"
    elif kind == "team":
        settings["devicetype"] = "Team"
        settings.update({"team_config": dumps(opts["team_config"])} if "team_config" in opts else {})
    elif kind == "teamport":
        settings.update(devicetype="TeamPort", team_master=opts["team_master"])
        settings.update({"team_port_config": dumps(opts["team_port_config"])} if "team_port_config" in opts else {})
    elif kind == "bond":
        settings["bonding"] = " ".join("%s=%s" % pair for pair in bond(opts, iface).items())
    elif kind == "vlan":
        if "reorder_hdr" in opts:
            check.switch(opts, iface, "reorder_hdr", "yes", "no")
        if "vlan_id" in opts and not (check.integer(opts["vlan_id"])[0] and int(opts["vlan_id"]) > 0):
            raise check.bad_option(iface, "vlan_id", ["Positive integer"])
        if "phys_dev" in opts and not opts["phys_dev"]:
            raise check.bad_option(iface, "phys_dev", ["Non-empty string"])
        settings.update({key: opts[key] for key in _OF_VLAN if key in opts})
        if not any(key in opts for key in _OF_VLAN):
            settings.pop("devtype")
    elif kind == "ipip":
        for key in ("my_inner_ipaddr", "my_outer_ipaddr"):
            if key not in opts:
                raise check.bad_option(iface, key, ["1.2.3.4"])
            settings[key] = opts[key]


def _hardware(settings, opts, kind, iface, hwaddr):
    given = opts.get("hwaddr", "auto")
    if check.mac(given):
        settings["hwaddr"] = given
    elif given == "auto":
        settings.update({"hwaddr": hwaddr} if hwaddr and kind != "slave" else {})
    elif given != "none":
        raise check.bad_option(iface, given, ["AA:BB:CC:DD:EE:FF", "auto", "none"])


def _ethtool(opts, iface, cpus):
    result = {}
    if "autoneg" in opts:
        result["autoneg"] = check.switch(opts, iface, "autoneg", "on", "off")
    for key, valid in (
        ("duplex", ["full", "half"]),
        ("speed", ["10", "100", "1000", "10000"]),
        ("advertise", _ADVERTISE),
    ):
        if key in opts:
            if str(opts[key]) not in valid:
                raise check.bad_option(iface, key, valid)
            result[key] = opts[key]
    channels = []
    for key in ("rx", "tx", "other", "combined"):
        if key in opts.get("channels", ()):
            if not 1 <= opts["channels"][key] <= cpus:
                raise check.bad_option(iface, opts["channels"][key], range(1, cpus + 1))
            channels.append("%s %s" % (key, opts["channels"][key]))
    result.update({"-L %s" % iface.strip(): " ".join(channels)} if channels else {})
    for key in ("rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro"):
        if key in opts:
            result[key] = check.switch(opts, iface, key, "on", "off")
    return result


def bond(opts, iface):
    """The options of the bonding driver. Modes 0 and 2 require miimon or arp_interval, the others miimon. Raises
    AttributeError."""
    if "mode" not in opts:
        raise AttributeError("Missing required option 'mode'")
    mode = check.bond_mode(opts, iface)
    options = dict({"mode": str(mode)}, **_miimon(opts, iface))
    if mode in (0, 2):
        if "arp_interval" in opts:
            targets = opts.get("arp_ip_target")
            if not check.integer(opts["arp_interval"])[0]:
                raise check.bad_option(iface, "arp_interval", ["integer"])
            if not isinstance(targets, list) or not 1 <= len(targets) <= 16:
                raise check.bad_option(iface, "arp_ip_target", ["list of ips (up to 16)"])
            options.update(arp_interval=opts["arp_interval"], arp_ip_target=",".join(targets))
        elif "miimon" not in opts:
            raise check.bad_option(iface, "miimon or arp_interval", ["at least one of these is required"])
    elif "miimon" not in opts:
        raise check.bad_option(iface, "miimon", ["integer"])
    if mode in (1, 5, 6) and "primary" in opts:
        options["primary"] = opts["primary"]
    if mode == 4:
        rate = str(opts.get("lacp_rate", "0"))
        if rate not in ("fast", "slow", "0", "1"):
            raise check.bad_option(iface, "lacp_rate", ["fast", "1", "slow", "0"])
        options["lacp_rate"] = {"fast": "1", "slow": "0"}.get(rate, rate)
        options["ad_select"] = opts.get("ad_select", "0")
        if not check.integer(options["ad_select"])[0]:
            raise check.bad_option(iface, "ad_select", ["integer"])
    if mode in (2, 4) and "hashing-algorithm" in opts:
        if opts["hashing-algorithm"] not in _HASHES:
            raise check.bad_option(iface, "hashing-algorithm", _HASHES)
        options["xmit_hash_policy"] = opts["hashing-algorithm"]
    return options


def _miimon(opts, iface):
    result = {}
    for key in ("miimon", "downdelay", "updelay"):
        if key in opts:
            valid, result[key] = check.integer(opts[key])
            if not valid:
                raise check.bad_option(iface, key, ["integer"])
    if "miimon" not in result:
        return result
    if not result["miimon"]:
        raise check.bad_option(iface, "miimon", ["nonzero integer"])
    result.setdefault("downdelay", result["miimon"] * 2)
    for key in ("downdelay", "updelay"):
        if result.get(key, 0) % result["miimon"]:
            raise check.bad_option(iface, key, ["0 or a multiple of miimon (%s)" % result["miimon"]])
    result["use_carrier"] = check.switch(opts, iface, "use_carrier", "1", "0") if "use_carrier" in opts else "0"
    return result


def route_lines(routes, iface):
    """The lines of a ``route`` file."""
    out = []
    for route in routes:
        out += ["# %s" % route["name"]] if route.get("name") else []
        line = str(route["ipaddr"]) + ("/%s" % route["netmask"] if route.get("netmask") else "")
        line += " via %s" % route["gateway"] if route.get("gateway") else " dev %s" % iface
        out.append(line + (" metric %s" % route["metric"] if route.get("metric") else ""))
    return out
