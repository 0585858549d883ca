"""
Network interfaces and routes where NetworkManager alone manages them. Salt: ``salt/modules/nm_ip.py``.

Each interface has its own file in NetworkManager's folder, which nmcli applies. Settings have Salt's names; settings
that NetworkManager's files do not support (commands at ``up``, offloading) raise CommandExecutionError.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath, textfile

__virtualname__ = "ip"
__reads__ = ("nm_managed", "get_interface", "get_routes", "get_network_settings")
__changes__ = ("build_interface", "build_routes", "build_network_settings", "apply_network_settings", "up", "down")

FOLDER = "/etc/NetworkManager/system-connections"

_TYPES = {"eth": "ethernet", "slave": "ethernet", "bond": "bond", "vlan": "vlan", "bridge": "bridge"}
_UNSUPPORTED = """
up_cmds down_cmds pre_up_cmds post_up_cmds pre_down_cmds post_down_cmds ethtool advertise channels rx tx sg tso ufo gso
gro lro
""".split()
_WAKE = {
    "default": 0x1,
    "phy": 0x2,
    "unicast": 0x4,
    "multicast": 0x8,
    "broadcast": 0x10,
    "arp": 0x20,
    "magic": 0x40,
    "ignore": 0x8000,
}
#: settings that are no options of the bonding driver
_NOT_OF_BONDS = frozenset(
    """
type test enabled onboot name noifupdown addr slaves interfaces ports bridge_ports master slave_type proto ipaddr
ipaddrs addresses netmask prefix gateway broadcast metric pointopoint scope srcaddr dns nameservers dns_search
domain search peerdns enable_ipv6 ipv6proto ipv6addr ipv6ipaddr ipv6addrs ipv6gateway ipv6netmask ipv6_autoconf
ipv6_peerdns ipv6_defroute ipv6_peerroutes dhcpv6c mtu hwaddr macaddr autoneg speed duplex wol stp fd forward_delay
ageing maxage hello priority id vlan_id parent link vlan-raw-device vlan_raw_device reorder_hdr gvrp loose_binding
zone uuid nickname userctl nm_controlled defroute ipv4_failure_fatal peerroutes arpcheck routes
""".split()
    + _UNSUPPORTED
)
_BRIDGE = {
    "fd": "forward-delay",
    "forward_delay": "forward-delay",
    "ageing": "ageing-time",
    "maxage": "max-age",
    "hello": "hello-time",
    "priority": "priority",
}


def __virtual__():
    if __grains__.get("os_family") != "RedHat":
        return False, "nm_ip: only applicable to the RedHat os_family"
    if not nm_managed():
        return False, "nm_ip: NetworkManager is not managing this system, or ifup is there (rh_ip handles it)"
    return __virtualname__


def nm_managed():
    """
    Whether only NetworkManager manages the network: it runs, nmcli is installed, and ifup and ifdown are not

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.nm_managed
    """
    running = process.which("nmcli") and os.path.isdir("/run/NetworkManager")
    return bool(running and not process.which("ifup") and not process.which("ifdown"))


def build_interface(iface, iface_type, enabled, **settings):
    """
    Write an interface's file for NetworkManager, and those of a bond's or bridge's members; return its lines

    iface_type
        eth, slave, bond, vlan or bridge.
    enabled
        Whether it comes up at boot.
    settings
        proto, ipaddr, netmask, ipaddrs, gateway, dns, dns_search, mtu, hwaddr, macaddr, autoneg, speed, duplex, wol,
        ipv6proto, ipv6ipaddr, ipv6netmask, ipv6addrs, ipv6gateway; options of bonds, bridges and VLANs.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_interface ens3 eth True ipaddr=192.0.2.10 netmask=255.255.255.128 test=True
    """
    kind = iface_type.lower()
    if kind not in _TYPES:
        words = "nm_ip supports interface types %s; got '%s'"
        raise CommandExecutionError(words % (", ".join(sorted(_TYPES)), iface_type))
    lines = _lines(_sections(iface, kind, enabled, settings))
    if settings.get("test"):
        return lines
    _write(iface, lines)
    for member in _members(kind, settings):
        if member != iface:
            master = (iface, "bond" if kind == "bond" else "bridge")
            _write(member, _lines([("connection", _connection(member, "ethernet", enabled, master))]))
    return lines


def get_interface(iface):
    """
    Return the lines of an interface's own file; [] if it has none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_interface ens3
    """
    return textfile.lines(_file(iface))


def build_routes(iface, **settings):
    """
    Write routes to an interface's file, which must exist, and return them as lines

    routes
        A list of ``{ipaddr, netmask, gateway}``; without ``ipaddr`` the default route.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_routes ens3 routes='[{ipaddr: 172.20.0.0, netmask: 255.252.0.0, gateway: 192.0.2.1}]'
    """
    build_routes = {"ipv4": [], "ipv6": []}
    for route in settings.get("routes") or []:
        where, gateway = _first(route, "ipaddr", "destination", "name"), route.get("gateway")
        if where in (None, "default", "0.0.0.0", "::"):  # noqa: S104  (the default route)
            where = "0.0.0.0/0" if gateway and ":" not in str(gateway) else "::/0"
        elif route.get("netmask"):
            where = _cidr(where, route["netmask"])
        entry = "%s,%s" % (where, gateway) if gateway else str(where)
        build_routes["ipv6" if ":" in entry else "ipv4"].append(entry)
    lines = _route_lines(build_routes)
    existing = get_interface(iface)
    if existing and not settings.get("test") and lines != get_routes(iface):
        _write(iface, _with_routes(existing, build_routes))
    return lines


def get_routes(iface):
    """
    Return the routes in an interface's file, as lines

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_routes ens3
    """
    section, routes = None, {"ipv4": [], "ipv6": []}
    for line in get_interface(iface):
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            section = text[1:-1]
        elif section in routes and re.match(r"route\d*=", text):
            routes[section].append(text.partition("=")[2])
    return _route_lines(routes)


def get_network_settings():
    """
    Return []: NetworkManager has only settings of interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_network_settings
    """
    return []


def build_network_settings(**settings):
    """
    Return []: NetworkManager has only settings of interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_network_settings
    """
    return []


def apply_network_settings(**settings):
    """
    Make NetworkManager reload its files

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.apply_network_settings
    """
    if not settings.get("test"):
        _nmcli("connection", "reload")
    return True


def up(iface, iface_type=None):
    """
    Make NetworkManager reload its files, and activate an interface

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.up ens3
    """
    if iface_type and iface_type.lower() in ("slave", "teamport"):
        return None
    _nmcli("connection", "reload")
    return _nmcli("connection", "up", iface)


def down(iface, iface_type=None):
    """
    Have NetworkManager bring an interface down

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.down ens3
    """
    if iface_type and iface_type.lower() in ("slave", "teamport"):
        return None
    return _nmcli("connection", "down", iface)


def _file(iface):
    return os.path.join(FOLDER, "%s.nmconnection" % iface)


def _write(iface, lines):
    """Write a file atomically, readable only by root: NetworkManager watches the folder and ignores other files."""
    if textfile.lines(_file(iface)) != lines:
        textfile.write(_file(iface), "".join(lines), mode=0o600)
    safepath.chmod(_file(iface), 0o600)


def _nmcli(*words):
    program = process.which("nmcli")
    if not program:
        raise CommandExecutionError("nmcli command not found")
    done = __salt__["cmd.run_all"](
        [program] + list(words), python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True
    )
    if done["retcode"]:
        raise CommandExecutionError("nmcli %s failed: %s" % (" ".join(words), done["stderr"] or done["stdout"]))
    return done["stdout"]


def _lines(sections):
    lines = []
    for name, pairs in sections:
        lines += ["[%s]\n" % name] + ["%s=%s\n" % pair for pair in pairs] + ["\n"]
    return lines


def _route_lines(routes):
    sections = [(family, list(_numbered("route", routes[family]))) for family in ("ipv4", "ipv6") if routes[family]]
    return _lines(sections)


def _numbered(word, values):
    return (("%s%d" % (word, number), value) for number, value in enumerate(values, 1))


def _with_routes(lines, routes):
    """The lines of a file in which these routes replace the existing ones."""
    out, section = [], None

    def end():
        while section in routes and out and not out[-1].strip():
            out.pop()
        if section in routes:
            out.extend("%s=%s\n" % pair for pair in _numbered("route", routes[section]))
            out.append("\n")

    for line in lines:
        text = line.strip()
        if text.startswith("[") and text.endswith("]"):
            end()
            section = text[1:-1]
        if not (section in routes and re.match(r"route\d*=", text)):
            out.append(line)
    end()
    return out


def _uuid(iface):
    """A UUID that is always the same for an interface."""
    from hashlib import sha256

    text = sha256(b"pushsalt-" + iface.encode("utf-8")).hexdigest()
    return "%s-%s-5%s-8%s-%s" % (text[:8], text[8:12], text[13:16], text[17:20], text[20:32])


def _first(settings, *names):
    return next((settings[name] for name in names if settings.get(name)), None)


def _list(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else re.split("[,; ]+", str(value).strip(",; "))


def _true(value):
    return value if isinstance(value, bool) else str(value).lower() in ("true", "yes", "on", "1")


def _word(value):
    return "true" if _true(value) else "false"


def _cidr(address, netmask):
    import ipaddress

    if "/" in str(address):
        return str(address)
    if netmask is None:
        raise CommandExecutionError("No netmask supplied for address %s" % address)
    try:
        return str(ipaddress.ip_interface("%s/%s" % (address, netmask)).with_prefixlen)
    except ValueError as exc:
        raise CommandExecutionError("Invalid address/netmask %s/%s: %s" % (address, netmask, exc))


def _members(kind, settings):
    if kind == "bond":
        return _list(_first(settings, "slaves", "interfaces"))
    return _list(_first(settings, "ports", "bridge_ports", "interfaces")) if kind == "bridge" else []


def _connection(iface, of_type, enabled, master=None):
    result = [("id", iface), ("uuid", _uuid(iface)), ("type", of_type), ("interface-name", iface)]
    result.append(("autoconnect", _word(bool(enabled))))
    return result + ([("master", master[0]), ("slave-type", master[1])] if master and master[0] else [])


def _sections(iface, kind, enabled, settings):
    unsupported = sorted(key for key in _UNSUPPORTED if settings.get(key))
    if unsupported:
        words = "NetworkManager keyfiles do not support these network.managed options: %s. Manage them outside"
        raise CommandExecutionError(words % ", ".join(unsupported) + " network.managed on NetworkManager systems.")
    master = (settings.get("master"), settings.get("slave_type", "bond")) if kind == "slave" else None
    sections = [("connection", _connection(iface, _TYPES[kind], enabled, master))]
    if master and master[0]:
        return sections
    if settings.get("hwaddr") and settings.get("macaddr"):
        raise CommandExecutionError("interface '%s': use either hwaddr or macaddr, not both" % iface)
    device = {"bond": _bond, "bridge": _bridge, "vlan": _vlan}.get(kind, lambda iface, settings: [])(iface, settings)
    sections += [(_TYPES[kind], device)] if device else []
    ethernet = _ethernet(kind, settings)
    sections += [("ethernet", ethernet)] if ethernet else []
    return sections + [("ipv4", _ipv4(settings)), ("ipv6", _ipv6(settings))]


def _bond(iface, settings):
    if "mode" not in settings:
        words = "Missing required option 'mode' for bond interface '%s' (e.g. active-backup, 802.3ad, balance-rr)."
        raise CommandExecutionError(words % iface)
    options = {key: value for key, value in settings.items() if value is not None and key not in _NOT_OF_BONDS}
    for key in options:
        if not re.match(r"\w+$", key):
            raise CommandExecutionError("Invalid bond option name '%s'" % key)
    return sorted(options.items())


def _bridge(iface, settings):
    result = [("stp", _word(settings["stp"]))] if settings.get("stp") is not None else []
    result += [(word, settings[key]) for key, word in _BRIDGE.items() if settings.get(key) is not None]
    return result + [("mac-address", pin) for pin in [_pinned(settings)] if pin]


def _vlan(iface, settings):
    number = _first(settings, "vlan_id", "id")
    parent = _first(settings, "vlan-raw-device", "vlan_raw_device", "parent", "link")
    base, dot, tag = iface.rpartition(".")
    if dot:
        parent = parent or base
        number = tag if number is None and tag.isdigit() else number
    if number is None or not parent:
        words = "vlan interface '%s' needs both a vlan id and a parent (set vlan_id/id and parent, or name it like"
        raise CommandExecutionError(words % iface + " eth0.100)")
    switches = (("reorder_hdr", True, 1), ("gvrp", False, 2), ("loose_binding", False, 4))
    flags = sum(value for key, default, value in switches if _true(settings.get(key, default)))
    return [("id", int(number)), ("parent", parent)] + ([("flags", flags)] if flags != 1 else [])


def _pinned(settings):
    address = settings.get("hwaddr")
    return None if str(address or "none").strip().lower() in ("auto", "none") else address


def _ethernet(kind, settings):
    result = [("mtu", int(settings["mtu"]))] if settings.get("mtu") else []
    if kind in ("eth", "vlan") and _pinned(settings):
        result.append(("mac-address", _pinned(settings)))
    if kind != "eth":
        return result
    result += [("cloned-mac-address", settings["macaddr"])] if settings.get("macaddr") else []
    if settings.get("autoneg") is not None:
        result.append(("auto-negotiate", _word(settings["autoneg"])))
    speed, duplex = settings.get("speed"), settings.get("duplex")
    if (speed is None) != (duplex is None):
        raise CommandExecutionError("ethtool 'speed' and 'duplex' must be set together")
    if speed is not None:
        if str(duplex).lower() not in ("half", "full"):
            raise CommandExecutionError("Invalid duplex '%s'; expected 'half' or 'full'" % duplex)
        result += [("speed", int(speed)), ("duplex", str(duplex).lower())]
    wake = _wake(settings.get("wol"))
    return result + ([] if wake is None else [("wake-on-lan", wake)])


def _wake(value):
    """The wake-on-LAN setting: a number, names of events, or a boolean."""
    if value is None or isinstance(value, bool):
        return {True: _WAKE["magic"], False: _WAKE["ignore"], None: None}[value]
    text = str(value).strip().lower()
    if not text or text.isdigit():
        return int(text) if text else None
    mask = 0
    for word in text.replace(",", " ").split():
        if word not in _WAKE:
            words = "Invalid wol value '%s'; expected an integer flag mask or one or more of: %s"
            raise CommandExecutionError(words % (value, ", ".join(sorted(_WAKE))))
        mask |= _WAKE[word]
    return mask


def _addresses(addresses, gateway):
    for number, address in enumerate(addresses, 1):
        yield "address%d" % number, "%s,%s" % (address, gateway) if number == 1 and gateway else address


def _names(settings, wanted, search=True):
    """Name servers of an address family, and the search list."""
    servers = [str(each) for each in _list(_first(settings, "dns", "nameservers")) if wanted(str(each))]
    domains = _list(_first(settings, "dns_search", "domain")) if search else []
    pairs = (("dns", servers), ("dns-search", domains))
    return [(key, ";".join(map(str, values)) + ";") for key, values in pairs if values]


def _ipv4(settings):
    proto, netmask = str(settings.get("proto", "")).lower(), settings.get("netmask")
    addresses = [_cidr(settings["ipaddr"], netmask)] if settings.get("ipaddr") else []
    addresses += [_cidr(each, netmask) for each in _list(_first(settings, "ipaddrs", "addresses"))]
    off = proto in ("none", "disabled", "off") and not addresses
    if proto in ("dhcp", "dhcp4", "bootp") or not (addresses or off):
        result = [("method", "auto")]
    else:
        result = [("method", "disabled" if off else "manual")] + list(_addresses(addresses, settings.get("gateway")))
    return result + _names(settings, lambda server: ":" not in server, not off)


def _ipv6(settings):
    proto = str(settings.get("ipv6proto", "")).lower()
    addresses = [_cidr(settings["ipv6ipaddr"], settings.get("ipv6netmask"))] if settings.get("ipv6ipaddr") else []
    addresses += _list(settings.get("ipv6addrs"))
    method = "manual" if addresses else "auto"
    method = "disabled" if proto in ("disabled", "off", "none") else "dhcp" if proto in ("dhcp", "dhcp6") else method
    result = [("method", method)]
    if method == "manual":
        result += list(_addresses(addresses, settings.get("ipv6gateway")))
    return result + _names(settings, lambda server: ":" in server, method != "disabled")
