"""Addresses, names and routes. On Linux they are read with rtnetlink, without programs and without root's rights.

Salt: ``ip_interfaces``, ``hwaddr_interfaces``, ``hostname``, ``ip_fqdn``, ``dns``, ``default_gateway`` of
salt.grains.core, which parse the output of ``ip``.
"""

import struct

try:
    import _socket as socket  # the module in C is enough, and faster to import
except ImportError:
    import socket

from thin.grains.probe import Command, read, which
from thin.utils.system import netlink


def grains(opts):
    links = interfaces()
    ret = interface_grains(links)
    ret.update(names(ret, opts))
    if netlink.available():
        ret.update(gateways(read("/proc/net/route"), read("/proc/net/ipv6_route")))
    else:
        from thin.utils.outputs import ifconfig

        netstat = which("netstat")
        ret.update(ifconfig.gateways(Command([netstat, "-rn"]).output()[1] if netstat else ""))
    resolv = read("/run/systemd/resolve/resolv.conf", None)
    if resolv is None:
        resolv = read("/etc/resolv.conf", None)
    if resolv is not None:
        ret["dns"] = parse_resolv(resolv)
    return ret


def interfaces():
    """{name: {"hwaddr": text, "inet": [address], "inet6": [...], "secondary": [...]}} in the kernel's order."""
    if not netlink.available():
        return _by_ifconfig()
    ret, by_index = {}, {}
    for link in netlink.links():
        by_index[link["index"]] = ret.setdefault(link["name"], {"inet": [], "inet6": [], "secondary": []})
        if link["address"]:
            by_index[link["index"]]["hwaddr"] = link["address"]
    for entry in netlink.addresses():
        if entry["index"] in by_index:
            kind = "secondary" if entry["secondary"] else entry["family"]
            by_index[entry["index"]][kind].append(entry["address"])
    return ret


def _by_ifconfig():
    from thin.utils.outputs import ifconfig

    program, ret = which("ifconfig"), {}
    for name, data in ifconfig.table(Command([program, "-a"]).output()[1] if program else "").items():
        ret[name] = {kind: [each["address"] for each in data.get(kind, [])] for kind in ("inet", "inet6")}
        ret[name]["secondary"] = []
        if "hwaddr" in data:
            ret[name]["hwaddr"] = data["hwaddr"]
    return ret


def interface_grains(links):
    """The grains that are computed from ``interfaces``."""
    four = {name: data["inet"] + data["secondary"] for name, data in links.items()}
    six = {name: list(data["inet6"]) for name, data in links.items()}
    return {
        "ip_interfaces": {name: data["inet"] + data["inet6"] + data["secondary"] for name, data in links.items()},
        "ip4_interfaces": four,
        "ip6_interfaces": six,
        "hwaddr_interfaces": {name: data["hwaddr"] for name, data in links.items() if "hwaddr" in data},
        "ipv4": _sorted(socket.AF_INET, four),
        "ipv6": _sorted(socket.AF_INET6, six),
    }


def names(addresses, opts):
    """``localhost``, ``fqdn``, ``host``, ``domain``, ``fqdn_ip4``, ``fqdn_ip6``, ``fqdns``."""
    hostname = socket.gethostname()
    fqdn = _fqdn(hostname) or "localhost.localdomain"
    host, _, domain = fqdn.partition(".")
    ret = {"localhost": hostname, "fqdn": fqdn, "host": host, "domain": domain, "fqdns": []}
    for family, version in ((socket.AF_INET, "4"), (socket.AF_INET6, "6")):
        own_addresses = addresses.get("ipv" + version)
        ret["fqdn_ip" + version] = _resolve(fqdn, family) if own_addresses else []
    if opts.get("enable_fqdns_grains"):
        ret["fqdns"] = _reverse(addresses)
    return ret


def gateways(route_text, ipv6_route_text):
    """``ip_gw``, ``ip4_gw``, ``ip6_gw`` from /proc/net/route and /proc/net/ipv6_route: an address, True or False."""
    ret = {"ip4_gw": False, "ip6_gw": False}
    for line in route_text.splitlines()[1:]:
        cols = line.split()
        if len(cols) >= 8 and cols[1] == "00000000" and cols[7] == "00000000":
            packed = struct.pack("=I", int(cols[2], 16))
            ret["ip4_gw"] = socket.inet_ntop(socket.AF_INET, packed) if int(cols[3], 16) & 0x2 else True
            break
    for line in ipv6_route_text.splitlines():
        cols = line.split()
        if len(cols) >= 10 and cols[1] == "00" and not int(cols[0], 16) and not int(cols[8], 16) & 0x200:
            packed = bytes(bytearray.fromhex(cols[4]))
            ret["ip6_gw"] = socket.inet_ntop(socket.AF_INET6, packed) if any(bytearray(packed)) else True
            break
    ret["ip_gw"] = bool(ret["ip4_gw"] or ret["ip6_gw"])
    return ret


def parse_resolv(text):
    """The ``dns`` grain from a resolv.conf. Salt: salt.utils.dns.parse_resolv."""
    ret = {
        "nameservers": [],
        "ip4_nameservers": [],
        "ip6_nameservers": [],
        "sortlist": [],
        "domain": "",
        "search": [],
        "options": [],
    }
    for line in text.splitlines():
        words = []
        for word in line.split():
            if word[0] in "#;":
                break
            words.append(word)
        if len(words) < 2:
            if words and words[0].lower() == "search":
                ret["search"] = []
            continue
        directive, args = words[0].lower(), words[1:]
        if directive == "nameserver":
            for family, key in ((socket.AF_INET, "ip4_nameservers"), (socket.AF_INET6, "ip6_nameservers")):
                address = _canonical(family, args[0])
                if address:
                    for each in ("nameservers", key):
                        if address not in ret[each]:
                            ret[each].append(address)
        elif directive == "domain":
            ret["domain"] = args[0]
        elif directive == "search":
            ret["search"] = args
        elif directive == "sortlist":
            ret["sortlist"] += [net for net in map(_network, args) if net and net not in ret["sortlist"]]
        elif directive == "options" and args[0] not in ret["options"]:
            ret["options"].append(args[0])
    return ret


# --- addresses and names ---------------------------------------------------------------------------------------------


def _sorted(family, by_name):
    unique = {address for addresses in by_name.values() for address in addresses}
    return sorted(unique, key=lambda address: socket.inet_pton(family, address))


def _canonical(family, address):
    try:
        return socket.inet_ntop(family, socket.inet_pton(family, address))
    except (OSError, ValueError):
        return None


def _network(text):
    """ "192.0.2.0/255.255.255.0" from an entry of a sortlist; without a mask that of the address's class."""
    import ipaddress

    try:
        if "/" not in text and ":" not in text:
            first = int(text.split(".")[0])
            text += "/8" if first < 128 else "/16" if first < 192 else "/24"
            return ipaddress.ip_network(text, strict=False).with_netmask
        return ipaddress.ip_network(text).with_netmask
    except ValueError:
        return None


def _fqdn(hostname):
    """The host's canonical name from the resolver, with the same queries as Salt's."""
    try:
        kind, protocol, flags = socket.SOCK_STREAM, 6, socket.AI_CANONNAME
        canonical = [info[3] for info in socket.getaddrinfo(hostname, 0, 0, kind, protocol, flags) if info[3]]
        if canonical:
            return canonical[-1]
    except (OSError, UnicodeError):
        pass
    from socket import getfqdn  # it queries again, by address

    return getfqdn()


def _resolve(name, family):
    try:
        result = [info[4][0] for info in socket.getaddrinfo(name, None, family)]
    except (OSError, UnicodeError):
        return []
    return sorted(set(result), key=result.index)


def _reverse(addresses):
    """The names of all addresses except loopback, resolved one after the other."""
    from socket import getfqdn

    ret = set()
    for address in addresses.get("ipv4", []) + addresses.get("ipv6", []):
        if address == "::1" or address.startswith("127."):
            continue
        try:
            ret.add(getfqdn(socket.gethostbyaddr(address)[0]))
        except (OSError, UnicodeError):
            continue
    return sorted(ret)
