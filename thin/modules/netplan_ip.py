"""
Network interfaces and routes where netplan manages them. Salt: ``salt/modules/netplan_ip.py``.

Each interface has its own file in ``/etc/netplan``, which is read after the system's files. Settings have Salt's names;
settings that netplan does not support (commands at ``up``, offloading) raise CommandExecutionError.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import yamlout
from thin.utils.files import safepath, textfile

__virtualname__ = "ip"
__reads__ = ("netplan_active", "get_interface", "get_routes", "get_network_settings")
__changes__ = ("build_interface", "build_routes", "build_network_settings", "apply_network_settings", "up", "down")

FOLDER = "/etc/netplan"

_SECTIONS = {"eth": "ethernets", "bond": "bonds", "slave": "ethernets", "vlan": "vlans", "bridge": "bridges"}
_UNSUPPORTED = (
    "up_cmds",
    "down_cmds",
    "pre_up_cmds",
    "post_up_cmds",
    "pre_down_cmds",
    "post_down_cmds",
    "ethtool",
)
_BOND = {
    "mode": "mode",
    "miimon": "mii-monitor-interval",
    "lacp_rate": "lacp-rate",
    "xmit_hash_policy": "transmit-hash-policy",
    "downdelay": "down-delay",
    "updelay": "up-delay",
    "arp_interval": "arp-interval",
    "primary": "primary",
}
_BRIDGE = {
    "fd": "forward-delay",
    "forward_delay": "forward-delay",
    "ageing": "ageing-time",
    "maxage": "max-age",
    "hello": "hello-time",
    "priority": "priority",
}


def __virtual__():
    if __grains__.get("os_family") != "Debian":
        return False, "netplan_ip: only applicable to the Debian os_family"
    if not netplan_active():
        return False, "netplan_ip: netplan is not the active renderer on this system"
    return __virtualname__


def netplan_active():
    """
    Whether netplan manages the network: the program and its folder are there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.netplan_active
    """
    return bool(process.which("netplan")) and os.path.isdir(FOLDER)


def build_interface(iface, iface_type, enabled, **settings):
    """
    Write an interface's file for netplan and return its lines; ``test=True``: only return them

    iface_type
        eth, bond, slave, vlan or bridge.
    enabled
        Without effect.
    settings
        proto (static, dhcp), ipaddr, netmask, ipaddrs, gateway, dns, mtu, ipv6proto, ipv6ipaddr, ipv6netmask,
        ipv6addrs, ipv6gateway; slaves and options of a bond; ports and options of a bridge; vlan_id and link of a VLAN.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_interface ens3 eth True ipaddr=192.0.2.10 netmask=255.255.255.128 test=True
    """
    kind = iface_type.lower()
    if kind not in _SECTIONS:
        words = "netplan_ip supports interface types %s; got '%s'"
        raise CommandExecutionError(words % (", ".join(sorted(_SECTIONS)), kind))
    lines = _lines(_document(iface, kind, settings))
    if not settings.get("test") and textfile.lines(_file(iface)) != lines:
        _write(_file(iface), lines)
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
    Write an interface's routes into a file for netplan and return them as lines; ``test=True``: only return them

    routes
        A list of ``{ipaddr, netmask, gateway, metric}``; without ``ipaddr`` the default route.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_routes ens3 routes='[{ipaddr: 172.20.0.0, netmask: 255.252.0.0, gateway: 192.0.2.1}]'
    """
    routes = [_route(route) for route in settings.get("routes") or []]
    lines = _lines({"routes": routes}) if routes else []
    if not settings.get("test") and lines != get_routes(iface):
        if routes:
            section = _section_of(iface)
            _write(_routes_file(iface), _lines({"network": {"version": 2, section: {iface: {"routes": routes}}}}))
        else:
            safepath.unlink(_routes_file(iface))
    return lines


def get_routes(iface):
    """
    Return the routes that ``ip.build_routes`` wrote, as lines

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_routes ens3
    """
    lines = textfile.lines(_routes_file(iface))
    starts = [number for number, line in enumerate(lines) if line.strip() == "routes:"]
    if not starts:
        return []
    indent = len(lines[starts[0]]) - len(lines[starts[0]].lstrip())
    ours = [line for line in lines[starts[0] :] if line[indent : indent + 1] in ("r", "-", " ")]
    return [line[indent:] for line in ours if line[:indent].strip() == ""]


def get_network_settings():
    """
    Return []: netplan has only settings of interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_network_settings
    """
    return []


def build_network_settings(**settings):
    """
    Return []: netplan has only settings of interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_network_settings
    """
    return []


def apply_network_settings(**settings):
    """
    Let netplan check and apply the configuration. Raises CommandExecutionError if it fails

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.apply_network_settings
    """
    if settings.get("test"):
        return True
    for word in ("generate", "apply"):  # an invalid file fails before anything is changed
        _run(["netplan", word])
    return True


def up(iface, iface_type=None):
    """
    Apply the whole configuration, which brings interfaces up

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.up ens3
    """
    return apply_network_settings()


def down(iface, iface_type=None):
    """
    Bring an interface down

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.down ens3
    """
    return _run(["ip", "link", "set", "dev", iface, "down"])


def _file(iface):
    return os.path.join(FOLDER, "90-salt-%s.yaml" % iface)


def _routes_file(iface):
    return os.path.join(FOLDER, "91-salt-%s-routes.yaml" % iface)


def _write(path, lines):
    textfile.write(path, "".join(lines), mode=0o600)
    safepath.chmod(path, 0o600)


def _run(command):
    if not process.which(command[0]):
        raise CommandExecutionError("%s command not found" % command[0])
    done = __salt__["cmd.run_all"](command, python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True)
    if done["retcode"]:
        raise CommandExecutionError("%s failed: %s" % (" ".join(command), done["stderr"] or done["stdout"]))
    return done["stdout"]


def _lines(document):
    text = yamlout.dump(document)
    # addresses need no quotes
    text = re.sub(r"'((?:\d+\.){3}\d+(?:/\d+)?|[0-9a-f:]*::[0-9a-f:]*(?:/\d+)?|802\.3ad)'$", r"\1", text, flags=re.M)
    return text.splitlines(True)


def _section_of(iface):
    """The section of netplan for an interface: that of its own file, by default ethernets."""
    section = "ethernets"
    for line in get_interface(iface):
        if re.match(r"  (\w+):$", line):
            section = line.strip()[:-1]
        elif line.startswith("    %s:" % iface):
            return section
    return "ethernets"


def _renderer():
    """The renderer in the system's files, networkd by default."""
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith((".yaml", ".yml")):
            for line in textfile.lines(os.path.join(FOLDER, name)):
                match = re.match(r"\s+renderer:\s*['\"]?(\w+)", line)
                if match:
                    return match.group(1)
    return "networkd"


def _cidr(address, netmask):
    import ipaddress

    if "/" in str(address):
        return str(address)
    try:
        return str(ipaddress.ip_interface("%s/%s" % (address, netmask)).with_prefixlen)
    except ValueError as exc:
        raise CommandExecutionError("Invalid address/netmask %s/%s: %s" % (address, netmask, exc))


def _list(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else str(value).replace(",", " ").split()


def _first(settings, *names):
    return next((settings[name] for name in names if settings.get(name)), None)


def _members(iface, kind, settings):
    if kind == "bond":
        return _list(_first(settings, "slaves", "interfaces"))
    if kind == "bridge":
        return _list(_first(settings, "ports", "bridge_ports", "interfaces"))
    return []


def _vlan(iface, settings):
    """(id, parent interface), from settings or a name like ``eth0.100``."""
    number = _first(settings, "vlan_id", "id")
    link = _first(settings, "vlan-raw-device", "vlan_raw_device", "parent", "link")
    base, dot, tag = iface.rpartition(".")
    if dot:
        link = link or base
        number = tag if number is None and tag.isdigit() else number
    return int(number) if str(number).isdigit() else number, link


def _document(iface, kind, settings):
    section = _SECTIONS[kind]
    network = {"version": 2, "renderer": _renderer(), section: {iface: _definition(iface, kind, settings)}}
    members = _members(iface, kind, settings)
    if kind == "vlan":
        members = [link for link in [_vlan(iface, settings)[1]] if link]
    for member in members:  # netplan must have a definition of the parent interface
        if member != iface:
            network.setdefault("ethernets", {}).setdefault(member, {})
    return {"network": network}


def _definition(iface, kind, settings):
    unsupported = sorted(key for key in _UNSUPPORTED if settings.get(key))
    if unsupported:
        words = "netplan does not support these network.managed options: %s. Manage them outside network.managed"
        raise CommandExecutionError(words % ", ".join(unsupported) + " on netplan systems.")
    result = {"dhcp4": str(settings.get("proto", "static")).lower() in ("dhcp", "dhcp4")}
    netmask = settings.get("netmask")
    addresses = [_cidr(settings["ipaddr"], netmask)] if settings.get("ipaddr") and netmask else []
    addresses += [_cidr(address, netmask) for address in _list(_first(settings, "ipaddrs", "addresses"))]
    if str(settings.get("ipv6proto", "")).lower() in ("dhcp", "dhcp6"):
        result["dhcp6"] = True
    if settings.get("ipv6ipaddr") and settings.get("ipv6netmask"):
        addresses.append(_cidr(settings["ipv6ipaddr"], settings["ipv6netmask"]))
    addresses += _list(settings.get("ipv6addrs"))
    routes = [{"to": "default", "via": str(settings[key])} for key in ("gateway", "ipv6gateway") if settings.get(key)]
    servers = _list(_first(settings, "dns", "nameservers"))
    result.update({"addresses": addresses} if addresses else {})
    result.update({"routes": routes} if routes else {})
    result.update({"nameservers": {"addresses": servers}} if servers else {})
    result.update({"mtu": int(settings["mtu"])} if settings.get("mtu") else {})
    members, parameters = _members(iface, kind, settings), {}
    if kind == "bridge" and settings.get("stp") is not None:
        parameters["stp"] = str(settings["stp"]).lower() in ("true", "yes", "on", "1")
    for option, word in {"bond": _BOND, "bridge": _BRIDGE}.get(kind, {}).items():
        if settings.get(option) is not None:
            parameters[word] = settings[option]
    result.update({"interfaces": members} if members else {})
    result.update({"parameters": parameters} if parameters else {})
    if kind == "vlan":
        number, link = _vlan(iface, settings)
        result.update({"id": number} if number is not None else {})
        result.update({"link": link} if link else {})
    return result


def _route(route):
    where = _first(route, "ipaddr", "destination", "name")
    if where in (None, "default", "0.0.0.0"):  # noqa: S104  (the default route)
        where = "default"
    elif route.get("netmask"):
        where = _cidr(where, route["netmask"])
    result = {"to": where}
    result.update({"via": str(route["gateway"])} if route.get("gateway") else {})
    result.update({"metric": int(route["metric"])} if route.get("metric") else {})
    return result
