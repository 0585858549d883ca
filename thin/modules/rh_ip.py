"""
Network interfaces, routes and settings in ``/etc/sysconfig`` of Red Hat's systems. Salt: ``salt/modules/rh_ip.py``.

Settings have Salt's names. ``test=True`` returns what would be written, and writes nothing. Wrong settings raise
AttributeError. Lines are returned without newlines.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import serial, textfile
from thin.utils.formats import ifacewords as check
from thin.utils.formats import ifcfg

log = getLogger(__name__)

__virtualname__ = "ip"
__reads__ = ("get_interface", "get_routes", "get_network_settings")
__changes__ = ("build_interface", "build_routes", "up", "down", "build_network_settings", "apply_network_settings")

#: Paths; tests replace them.
ROOT = "/"

_KINDS = [
    "eth",
    "bond",
    "team",
    "alias",
    "clone",
    "ipsec",
    "dialup",
    "bridge",
    "slave",
    "teamport",
    "vlan",
    "ipip",
    "ib",
]


def __virtual__():
    if __grains__.get("os_family") != "RedHat":
        return False, "The rh_ip execution module is only available on RHEL/Fedora based distributions."
    if os.path.isdir("/run/NetworkManager") and process.which("nmcli") and not process.which("ifup"):
        return False, "The rh_ip module is not loaded: nm_ip handles the network here"
    return __virtualname__


def build_interface(iface, iface_type, enabled, **settings):
    """
    Write an interface's ``ifcfg`` file and return its lines

    iface_type
        eth, bond, team, bridge, slave, teamport, vlan, ipip, ib or alias.
    enabled
        Whether it comes up at boot.
    settings
        proto (none, bootp, dhcp), ipaddr, netmask or prefix, ipaddrs, gateway, dns, mtu, hwaddr, master, mode, miimon …

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_interface ens3 eth True proto=dhcp test=True
    """
    kind, test = iface_type.lower(), settings.get("test")
    if kind not in _KINDS:
        raise check.bad_option(iface, kind, _KINDS)
    for wanted, option in (("slave", "master"), ("bond", "mode")):
        if kind == wanted and option not in settings:
            raise AttributeError("%s is a required setting for %s interfaces" % (option, kind))
    if kind == "slave":
        settings["slave"] = "yes"
    if kind == "vlan":
        settings["vlan"] = "yes"
    if kind == "teamport":
        if "master" not in settings and "team_master" not in settings:
            raise AttributeError("master or team_master is a required setting for teamport interfaces")
        settings.setdefault("team_master", settings.get("master"))
        settings.pop("master", None)
    package = {"bridge": "bridge-utils", "team": "teamd"}.get(kind)
    if package and not test and not __salt__["pkg.version"](package):
        __salt__["pkg.install"](package)
    own = __salt__["network.interfaces"]().get(iface, {}).get("hwaddr")
    config = ifcfg.settings(settings, kind, enabled, iface, own, __grains__.get("num_cpus", 1), serial.dumps)
    if kind == "bridge" and not test:
        _bridge_filters(check.switch(settings, iface, "bypassfirewall", 0, 1) if "bypassfirewall" in settings else 0)
    return _put(_script("ifcfg", iface), ifcfg.lines(config), test)


def get_interface(iface):
    """
    Return the lines of an interface's ``ifcfg`` file; [] if it has none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_interface ens3
    """
    return _read(_script("ifcfg", iface))


def build_routes(iface, **settings):
    """
    Write an interface's ``route`` and ``route6`` files and return their lines

    routes
        A list of ``{name, ipaddr, netmask, gateway, metric}``; ``name`` becomes a comment.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_routes ens3 routes='[{ipaddr: 172.20.0.0, netmask: 255.252.0.0, gateway: 192.0.2.1}]'
    """
    routes = {key.lower(): value for key, value in settings.items()}.get("routes")
    if routes is None:
        raise check.bad_routes(iface, "routes", "List of routes")
    build_routes = []
    for word, wanted in (("route", False), ("route6", True)):
        mine = [route for route in routes if check.ipv6(str(route["ipaddr"]).split("/")[0]) == wanted]
        build_routes += _put(_script(word, iface), ifcfg.route_lines(mine, iface), settings.get("test"))
    return build_routes


def get_routes(iface):
    """
    Return the lines of an interface's ``route`` and ``route6`` files

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_routes ens3
    """
    return _read(_script("route", iface)) + _read(_script("route6", iface))


def up(iface, iface_type="eth"):
    """
    Bring an interface up; members of bonds and teams come with these

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.up ens3 vlan
    """
    return _switch("ifup", iface, iface_type)


def down(iface, iface_type="eth"):
    """
    Bring an interface down; members of bonds and teams go with these

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.down ens3 vlan
    """
    return _switch("ifdown", iface, iface_type)


def get_network_settings():
    """
    Return the lines of ``/etc/sysconfig/network``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_network_settings
    """
    return _read(_path("/etc/sysconfig/network"))


def build_network_settings(**settings):
    """
    Write ``/etc/sysconfig/network`` and return its lines

    enabled
        Whether networking is enabled; by default unchanged.
    hostname
        The host's name; by default unchanged.
    retain_settings
        Keep settings that are not given.
    settings
        nozeroconf, gateway, gatewaydev, nisdomain, networkdelay, devtimeout, networking_ipv6, enable_ipv6, ipv6gateway.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_network_settings hostname=web1.example.org enabled=True
    """
    opts = {key.lower(): value for key, value in settings.items()}
    pairs = [line.split("=", 1) for line in get_network_settings() if "=" in line and line.lstrip()[0] not in "#!"]
    current = {key.strip().lower(): value.rstrip() for key, value in pairs}
    result = dict(current) if opts.get("retain_settings") else {}
    quote = "" if "enabled" in opts else _quote(current.get("networking", ""))
    for key, default in (
        ("networking", opts.get("enabled", current.get("networking"))),
        ("nozeroconf", opts.get("nozeroconf")),
    ):
        value = _bare(default)
        if value is None and key == "nozeroconf":
            continue
        if value not in check.TRUE + check.FALSE:
            raise check.bad_setting(key, check.TRUE + check.FALSE)
        result[key] = "%s%s%s" % (quote, "yes" if value in check.TRUE else "no", quote)
    hostname = _bare(opts.get("hostname", current.get("hostname")))
    if not hostname:
        raise check.bad_setting("hostname", ["server1.example.com"])
    result["hostname"] = "%s%s%s" % (quote, hostname, quote)
    for key in opts:
        if key not in ("networking", "hostname", "nozeroconf"):
            result[key] = "%s%s%s" % (quote, _bare(opts[key]), quote)
    lines = ["%s=%s" % (key.upper(), result[key]) for key in _GLOBAL if result.get(key)]
    lines += ['IPV6INIT="yes"'] if result.get("enable_ipv6") else []
    lines += ['IPV6_DEFAULTGW="%s"' % result["ipv6gateway"]] if result.get("ipv6gateway") else []
    return _put(_path("/etc/sysconfig/network"), lines, settings.get("test"))


def apply_network_settings(**settings):
    """
    Restart networking, unless ``require_reboot``; set the host's name to ``hostname``, if ``apply_hostname``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.apply_network_settings require_reboot=True
    """
    named, later = check.finished(__salt__, settings)
    if later:
        return named
    service = "NetworkManager" if int(__grains__.get("osmajorrelease", 0)) >= 8 else "network"
    return bool(named and __salt__["service.restart"](service))


_GLOBAL = (
    "networking",
    "networking_ipv6",
    "hostname",
    "gateway",
    "gatewaydev",
    "nisdomain",
    "networkdelay",
    "devtimeout",
    "nozeroconf",
)


def _path(path):
    return os.path.join(ROOT, path.lstrip("/"))


def _script(word, iface):
    return _path("/etc/sysconfig/network-scripts/%s-%s" % (word, iface))


def _read(path):
    return [line for line in (textfile.read(path) or "").splitlines() if line]


def _put(path, lines, test):
    if not test and lines != _read(path):
        if not os.path.isdir(os.path.dirname(path)):
            raise AttributeError("%s cannot be written. %s does not exist" % (path, os.path.dirname(path)))
        textfile.write(path, "".join(line + "\n" for line in lines))
    return lines


def _switch(program, iface, kind):
    if kind.lower() in ("slave", "teamport"):
        return None
    done = __salt__["cmd.run_all"]([program, iface], python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True)
    output = "\n".join(filter(None, (done["stdout"], done["stderr"])))
    if done["retcode"]:
        raise CommandExecutionError("%s %s failed: %s" % (program, iface, output))
    return output


def _bridge_filters(value):
    """Whether packets that pass a bridge go through the firewall."""
    for word in ("ip6tables", "iptables", "arptables"):
        try:
            __salt__["sysctl.persist"]("net.bridge.bridge-nf-call-" + word, value)
        except CommandExecutionError:
            log.warning("Failed to set sysctl: net.bridge.bridge-nf-call-%s", word)


def _quote(value):
    return value[0] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else ""


def _bare(value):
    return value[1:-1] if isinstance(value, str) and _quote(value) else value
