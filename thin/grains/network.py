"""Addresses, names and routes. Interfaces come from rtnetlink, so nothing is started and root is not needed.

Salt: ``ip_interfaces``, ``hwaddr_interfaces``, ``hostname``, ``ip_fqdn``, ``dns``, ``default_gateway`` of
salt.grains.core, which parse what ``ip`` prints.
"""

import struct

try:
    import _socket as socket  # the C half is all that is needed; the rest of ``socket`` takes longer to import
except ImportError:
    import socket

from thin.grains.probe import read

# linux/netlink.h, linux/rtnetlink.h, linux/if_addr.h, linux/if_link.h
_RTM_NEWLINK, _RTM_GETLINK, _RTM_NEWADDR, _RTM_GETADDR = 16, 18, 20, 22
_NLM_F_REQUEST_DUMP = 0x1 | 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_IFLA_ADDRESS, _IFLA_IFNAME = 1, 3
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_IFA_F_SECONDARY = 0x01
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")  # family, type, index, flags, change
_ADDRESS = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, index
#: link types whose address is that of a tunnel's end (linux/if_arp.h): IPIP, IP6IP6, SIT, IPGRE, IP6GRE
_TUNNELS = (768, 769, 776, 778, 823)


def grains(opts):
    found = interfaces()
    ret = interface_grains(found)
    ret.update(names(ret, opts))
    ret.update(gateways(read("/proc/net/route"), read("/proc/net/ipv6_route")))
    resolv = read("/run/systemd/resolve/resolv.conf", None)
    if resolv is None:
        resolv = read("/etc/resolv.conf", None)
    if resolv is not None:
        ret["dns"] = parse_resolv(resolv)
    return ret


def interfaces():
    """{name: {"hwaddr": text, "inet": [address], "inet6": [...], "secondary": [...]}} in the kernel's order."""
    if not hasattr(socket, "AF_NETLINK"):
        return {}
    ret, by_index = {}, {}
    for body in _dump(_RTM_GETLINK, _RTM_NEWLINK, _LINK.size):
        _, link_type, index, _, _ = _LINK.unpack_from(body)
        attributes = _attributes(body[_LINK.size:])
        name = attributes.get(_IFLA_IFNAME, b"").rstrip(b"\0").decode("utf-8", "replace")
        by_index[index] = ret.setdefault(name, {"inet": [], "inet6": [], "secondary": []})
        if attributes.get(_IFLA_ADDRESS):
            by_index[index]["hwaddr"] = _link_address(link_type, attributes[_IFLA_ADDRESS])
    for body in _dump(_RTM_GETADDR, _RTM_NEWADDR, _ADDRESS.size):
        family, _, flags, _, index = _ADDRESS.unpack_from(body)
        attributes = _attributes(body[_ADDRESS.size:])
        packed = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
        kind = {socket.AF_INET: "inet", socket.AF_INET6: "inet6"}.get(family)
        if kind is None or packed is None or index not in by_index:
            continue
        address = socket.inet_ntop(family, packed)
        # of IPv6 addresses the flag means "temporary", which `ip` writes in another word
        secondary = kind == "inet" and flags & _IFA_F_SECONDARY
        by_index[index]["secondary" if secondary else kind].append(address)
    return ret


def interface_grains(found):
    """The grains that follow from ``interfaces``."""
    four = {name: data["inet"] + data["secondary"] for name, data in found.items()}
    six = {name: list(data["inet6"]) for name, data in found.items()}
    return {
        "ip_interfaces": {name: data["inet"] + data["inet6"] + data["secondary"] for name, data in found.items()},
        "ip4_interfaces": four,
        "ip6_interfaces": six,
        "hwaddr_interfaces": {name: data["hwaddr"] for name, data in found.items() if "hwaddr" in data},
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
        known = addresses.get("ipv" + version)
        ret["fqdn_ip" + version] = _resolve(fqdn, family) if known else []
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
    """The ``dns`` grain of a resolv.conf. Salt: salt.utils.dns.parse_resolv."""
    ret = {
        "nameservers": [], "ip4_nameservers": [], "ip6_nameservers": [], "sortlist": [], "domain": "", "search": [],
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


# --- netlink -------------------------------------------------------------------------------------------------------


def _dump(request, answer, size):
    """The bodies of all messages that answer a dump request; none where the kernel refuses."""
    try:
        channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    except (OSError, AttributeError):
        return []
    found = []
    try:
        channel.settimeout(2)
        channel.bind((0, 0))
        channel.send(_HEADER.pack(_HEADER.size + size, request, _NLM_F_REQUEST_DUMP, 1, 0) + b"\0" * size)
        while True:
            data = channel.recv(256 * 1024)
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, _, _, _ = _HEADER.unpack_from(data, at)
                if kind in (_NLMSG_DONE, _NLMSG_ERROR) or length < _HEADER.size:
                    return found
                if kind == answer:
                    found.append(data[at + _HEADER.size:at + length])
                at += (length + 3) & ~3
            if not data:
                return found
    except OSError:
        return found
    finally:
        channel.close()


def _attributes(data):
    """{type: bytes} of a run of rtattr."""
    ret, at = {}, 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        ret[kind & 0x3FFF] = data[at + 4:at + length]
        at += (length + 3) & ~3
    return ret


def _link_address(link_type, packed):
    if link_type in _TUNNELS and len(packed) in (4, 16):
        return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
    return ":".join("%02x" % byte for byte in bytearray(packed))


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
    """"192.0.2.0/255.255.255.0" of an entry of a sortlist; without a mask that of the address's class."""
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
    """The canonical name that the resolver gives, as Salt asks for it."""
    try:
        kind, protocol, flags = socket.SOCK_STREAM, 6, socket.AI_CANONNAME
        canonical = [info[3] for info in socket.getaddrinfo(hostname, 0, 0, kind, protocol, flags) if info[3]]
        if canonical:
            return canonical[-1]
    except (OSError, UnicodeError):
        pass
    from socket import getfqdn  # asks once more, by address

    return getfqdn()


def _resolve(name, family):
    try:
        found = [info[4][0] for info in socket.getaddrinfo(name, None, family)]
    except (OSError, UnicodeError):
        return []
    return sorted(set(found), key=found.index)


def _reverse(addresses):
    """The names of all addresses but loopback ones, asked one after the other."""
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
