"""
Network interfaces, routes and host name where ifupdown manages them. Salt: ``salt/modules/debian_ip.py``.

Settings have Salt's names. ``test=True`` returns what would be written, and writes nothing. Wrong settings raise
AttributeError. Other content of the files is kept, but comments in a file that is written are lost.
"""

import os
import re

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath, textfile
from thin.utils.formats import debianifaces
from thin.utils.formats import ifacewords as check

__virtualname__ = "ip"
__reads__ = ("get_interface", "get_bond", "get_routes", "get_network_settings")
__changes__ = (
    "build_interface",
    "build_bond",
    "build_routes",
    "up",
    "down",
    "build_network_settings",
    "apply_network_settings",
)

_KINDS = ["eth", "bond", "alias", "clone", "ipsec", "dialup", "bridge", "slave", "vlan", "pppoe", "source"]

#: Paths; tests replace them.
ROOT = "/"


def __virtual__():
    if __grains__.get("os_family") != "Debian":
        return False, "The debian_ip module could not be loaded: unsupported OS family"
    if process.which("netplan") and os.path.isdir("/etc/netplan"):
        return False, "The debian_ip module is not loaded: netplan_ip handles the network here"
    return __virtualname__


def build_interface(iface, iface_type, enabled, **settings):
    """
    Write an interface's stanzas into ``/etc/network/interfaces``, and return their lines

    iface_type
        eth, bond, bridge, slave, vlan, pppoe, or source (a line that includes other files).
    enabled
        Whether it comes up at boot.
    settings
        proto, ipaddr, ipaddrs, netmask, gateway, dns, mtu … and the same with ``ipv6`` before; slaves, ports, master;
        ``filename``: another file, in ``/etc/network/interfaces.d`` by default.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_interface ens3 eth True proto=dhcp test=True
    """
    iface_type = iface_type.lower()
    test = settings.get("test")
    if iface_type not in _KINDS:
        raise check.bad_option(iface, iface_type, _KINDS)
    for kind, option in (("slave", "master"), ("bond", "slaves"), ("bridge", "ports")):
        if iface_type == kind and option not in settings:
            raise AttributeError("%s is a required setting for %s interfaces" % (option, kind))
    package = {"vlan": "vlan", "pppoe": "ppp", "bridge": "bridge-utils"}.get(iface_type)
    if package and not test and not __salt__["pkg.version"](package):
        __salt__["pkg.install"](package)
    if iface_type == "source":
        adapter = {"raw": ["", "source %s" % settings["source"]]}
    else:
        adapter = debianifaces.build(settings, iface_type, enabled, iface, carrier=not _new_ubuntu())
    text = debianifaces.render(iface, adapter)
    if not test:
        _store(iface, adapter, text, settings.get("filename"))
        if iface_type == "pppoe":
            _store_peer(adapter)
    return _lines(text)


def get_interface(iface):
    """
    Return the lines of an interface's stanzas, normalized; [] if it has none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_interface ens3
    """
    adapters = _adapters()
    if iface == "source":
        sources = [line for adapter in adapters.values() for line in adapter.get("raw", ()) if line[:6] == "source"]
        return _lines("".join("\n%s\n" % line for line in sources)) if sources else []
    if "data" not in adapters.get(iface, ()):
        return []
    return _lines(debianifaces.render(iface, adapters[iface]))


def build_bond(iface, **settings):
    """
    Write a bond's options for the kernel module into ``/etc/modprobe.d``, load the module, and return the lines

    settings
        mode, and the options of that mode: miimon, updelay, downdelay, use_carrier, primary, lacp_rate, ad_select,
        arp_interval, arp_ip_target, hashing-algorithm.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_bond bond1 mode=802.3ad
    """
    options = check.bond(settings, iface, carrier=not _new_ubuntu())
    words = "".join("%s=%s " % pair for pair in options.items())
    text = "alias %s bonding\noptions %s %s" % (iface, iface, words)
    if settings.get("test"):
        return text.splitlines(True)
    textfile.write(_bond_file(iface), text)
    __salt__["kmod.load"]("bonding")
    if not __salt__["pkg.version"]("ifenslave"):
        __salt__["pkg.install"]("ifenslave")
    return textfile.lines(_bond_file(iface))


def get_bond(iface):
    """
    Return the lines of a bond's file in ``/etc/modprobe.d``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_bond bond1
    """
    return textfile.lines(_bond_file(iface)) or ""


def build_routes(iface, **settings):
    """
    Write the scripts that add and remove an interface's routes when it goes up or down; return their lines

    routes
        A list of ``{name, ipaddr, netmask, gateway, metric}``; ``name`` becomes a comment.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_routes ens3 routes='[{ipaddr: 172.20.0.0, netmask: 255.252.0.0, gateway: 192.0.2.1}]'
    """
    routes = {key.lower(): value for key, value in settings.items()}.get("routes")
    if routes is None:
        raise check.bad_routes(iface, "routes", "List of routes")
    texts = [_route_script(iface, verb, routes) for verb in ("add", "del")]
    if settings.get("test"):
        return "".join(texts).splitlines(True)
    for path, text in zip(_route_files(iface), texts):
        if not os.path.isdir(os.path.dirname(path)):
            raise AttributeError("%s cannot be written. %s does not exist" % (path, os.path.dirname(path)))
        textfile.write(path, text)
        safepath.chmod(path, 0o755)
    return get_routes(iface)


def get_routes(iface):
    """
    Return the lines of the scripts that add and remove an interface's routes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_routes ens3
    """
    return [line for path in _route_files(iface) for line in textfile.lines(path)] or ""


def up(iface, iface_type=None):
    """
    Bring an interface up; a bond's members come with it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.up ens3 vlan
    """
    return _ifupdown("ifup", iface, iface_type)


def down(iface, iface_type=None):
    """
    Bring an interface down; a bond's members go with it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.down ens3 vlan
    """
    return _ifupdown("ifdown", iface, iface_type)


def get_network_settings():
    """
    Return lines with the network settings: ``NETWORKING=yes`` or ``no``, host name, domain and search list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.get_network_settings
    """
    network_settings = _settings()
    if _ubuntu():
        available = __salt__["service.available"]("networking") and __salt__["service.status"]("networking")
        network_settings = {
            "networking": "yes" if available else "no",
            "hostname": network_settings["hostname"],
            "domain": network_settings["domain"],
        }
    return _shown(network_settings)


def build_network_settings(**settings):
    """
    Set whether networking is enabled, the domain and the search list; returns these and the host name as lines

    enabled
        Whether interfaces are brought up at boot.
    hostname
        The host's name, with its domain.
    search
        The search list.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' ip.build_network_settings hostname=web1.example.org enabled=True
    """
    opts = {key.lower(): value for key, value in settings.items()}
    current = _settings()
    networking = opts.get("enabled", current["networking"])
    if networking not in check.TRUE + check.FALSE:
        raise check.bad_setting("networking", check.TRUE + check.FALSE)
    networking = "yes" if networking in check.TRUE else "no"
    hostname = opts.get("hostname", current["hostname"])
    if not hostname:
        raise check.bad_setting("hostname", ["server1.example.com"])
    name, _, domain = str(hostname).partition(".")
    name = hostname if hostname == current["hostname"] else name
    search = opts.get("search", current["search"])
    search = " ".join(search) if isinstance(search, (list, tuple)) else search
    wanted = {"networking": networking, "hostname": name, "domain": domain or current["domain"], "search": search}
    if not settings.get("test"):
        if _ubuntu():
            for service in ("NetworkManager", "networking"):
                if __salt__["service.available"](service):
                    __salt__["service.enable" if networking == "yes" else "service.disable"](service)
        else:
            textfile.write(_path("/etc/default/networking"), _NETWORKING % networking)
        if (wanted["domain"], wanted["search"]) != (current["domain"], current["search"]):
            _resolver(wanted)
    return _shown(wanted)


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
    stopped = __salt__["service.stop"]("networking")
    return bool(stopped and __salt__["service.start"]("networking") and named)


_NETWORKING = """# Configuration for networking init script being run during
# the boot sequence

# Set to 'no' to skip interfaces configuration on boot
CONFIGURE_INTERFACES=%s

# Don't configure these interfaces. Shell wildcards supported/
#EXCLUDE_INTERFACES=

# Set to 'yes' to enable additional verbosity
#VERBOSE=no"""


def _path(path):
    return os.path.join(ROOT, path.lstrip("/"))


def _bond_file(iface):
    return _path("/etc/modprobe.d/%s.conf" % iface)


def _route_files(iface):
    # run-parts ignores names with dots, which names of VLANs have
    return [_path("/etc/network/if-%s.d/route-%s" % (word, iface.replace(".", "_"))) for word in ("up", "down")]


def _route_script(iface, verb, routes):
    lines = ["#!/bin/sh", "# " + verb, 'test "${IFACE}" = "%s" || exit 0' % iface]
    for route in routes:
        lines += ["# %s" % route["name"]] if route.get("name") else []
        where = "%s%s" % (route.get("ipaddr") or "", "/%s" % route["netmask"] if route.get("netmask") else "")
        via = "via %s" % route["gateway"] if route.get("gateway") else ""
        metric = " metric %s" % route["metric"] if route.get("metric") else ""
        lines.append("ip route %s %s %s dev %s%s" % (verb, where, via, iface, metric))
    return "\n".join(lines) + "\n"


def _lines(text):
    """Lines with newlines, and an empty last line, as in Salt."""
    return [line + "\n" for line in text.split("\n")]


def _adapters(files=None):
    """The interfaces in the files, those of the main file first."""
    if files is None:
        folder = _path("/etc/network/interfaces.d")
        more = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        files = [_path("/etc/network/interfaces")] + [os.path.join(folder, name) for name in more]
    adapters = {}
    for path in files:
        debianifaces.parse("".join(textfile.lines(path)), path, adapters)
    return adapters


def _store(iface, adapter, text, filename):
    """Write an interface's stanzas to its file, unless it already has them."""
    if filename:
        path = filename if filename.startswith("/") else _path("/etc/network/interfaces.d/" + filename)
        if not os.path.isdir(os.path.dirname(path)):
            raise AttributeError("%s cannot be written." % os.path.dirname(path))
        textfile.write(path, text)
        return
    now = _adapters()
    path = now.get(iface, {}).get("filename", _path("/etc/network/interfaces"))
    if "raw" in adapter:
        if any(line == adapter["raw"][-1] for each in now.values() for line in each.get("raw", ())):
            return
    elif "data" in now.get(iface, ()) and debianifaces.render(iface, now[iface]) == text:
        return
    if not os.path.isdir(os.path.dirname(path)):
        raise AttributeError("%s cannot be written." % os.path.dirname(path))
    adapters = _adapters([path])
    adapters[iface] = adapter
    textfile.write(path, "".join(debianifaces.render(name, adapters[name]) for name in adapters))


def _store_peer(adapter):
    """The pppd file of a PPPoE connection, readable only by root because it contains the password."""
    family = adapter["data"].get("inet", {})
    path = _path("/etc/ppp/peers/%s" % family.get("provider"))
    if not family.get("provider") or not os.path.isdir(os.path.dirname(path)):
        raise AttributeError("%s cannot be written." % path)
    textfile.write(path, debianifaces.peer(family), mode=0o600)


def _ifupdown(program, iface, kind):
    if kind in ("slave", "source"):
        return None
    done = __salt__["cmd.run_all"]([program, iface], python_shell=False, env={"LC_ALL": "C"}, ignore_retcode=True)
    output = "\n".join(filter(None, (done["stdout"], done["stderr"])))
    if done["retcode"]:
        raise CommandExecutionError("%s %s failed: %s" % (program, iface, output))
    return output


def _ubuntu():
    return __grains__.get("osfullname") == "Ubuntu" and int(str(__grains__["osrelease"]).split(".")[0]) >= 12


def _new_ubuntu():
    return __grains__.get("os") == "Ubuntu" and __grains__["osrelease_info"][0] >= 16


def _settings():
    """The current settings: networking ("" if unset), hostname, domain, search."""
    settings = {"networking": "", "hostname": "", "domain": "", "search": ""}
    for line in textfile.lines(_path("/etc/default/networking")):
        if line.startswith("CONFIGURE_INTERFACES"):
            settings["networking"] = line.partition("=")[2].strip()
    settings["hostname"] = "".join(textfile.lines(_path("/etc/hostname"))[:1]).rstrip("\n")
    for line in textfile.lines(_path("/etc/resolv.conf")):
        words = re.split("[#;]", line)[0].split()
        if words[:1] in (["domain"], ["search"]) and len(words) > 1:
            settings[words[0]] = " ".join(words[1:])
    return settings


def _shown(settings):
    pairs = (("NETWORKING", "networking"), ("HOSTNAME", "hostname"), ("DOMAIN", "domain"), ("SEARCH", "search"))
    return ["%s=%s\n" % (word, settings[key]) for word, key in pairs if settings.get(key)]


def _resolver(wanted):
    """Domain and search list in ``/etc/resolv.conf``."""
    path = _path("/etc/resolv.conf")
    if not os.path.exists(path):
        raise AttributeError("%s cannot be written: it does not exist" % path)
    lines = [line.rstrip("\n") for line in textfile.lines(path)]
    for at, key in ((0, "domain"), (1, "search")):
        if not wanted[key]:
            continue
        places = [number for number, line in enumerate(lines) if line.split()[:1] == [key]]
        for number in places:
            lines[number] = "%s %s" % (key, wanted[key])
        if not places:
            lines.insert(min(at, len(lines)), "%s %s" % (key, wanted[key]))
    textfile.write(path, "".join(line + "\n" for line in lines))
