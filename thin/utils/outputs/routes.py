"""Parsers of routes in the output of ``netstat`` and ``ip route``.

Both return a list of ``{"addr_family", "destination", "gateway", "netmask", "flags", "interface"}`` in netstat's
format: an IPv4 destination has a separate netmask, an IPv6 destination has its prefix length in it.
"""

#: First words of lines of ``ip route`` that are not unicast routes.
_TYPES = (
    "unicast",
    "broadcast",
    "throw",
    "unreachable",
    "prohibit",
    "blackhole",
    "nat",
    "anycast",
    "multicast",
    "nexthop",
)


def netstat(four, six):
    """The routes from ``netstat -A inet -rn`` and ``netstat -A inet6 -rn``, including their headings."""
    result = []
    for cols in [line.split() for line in four.splitlines()[2:]]:
        if len(cols) >= 8:
            result.append(_route("inet", cols[0], cols[1], cols[2], cols[3], cols[7]))
    for cols in [line.split() for line in six.splitlines()[2:]]:
        if len(cols) in (6, 7):
            result.append(_route("inet6", cols[0], cols[1], "", cols[2], cols[-1]))
    return result


def iproute(four, six):
    """The routes from ``ip -4 route show table main`` and ``ip -6 route show table all``."""
    from ipaddress import ip_network

    result = []
    for family, text in (("inet", four), ("inet6", six)):
        for line in text.splitlines():
            cols = line.split()
            if not cols or cols[0] in _TYPES:
                continue
            values = dict(zip(cols[1:], cols[2:]))
            interface, gateway = values.get("dev", ""), values.get("via")
            if cols[0] == "default":
                network, mask = ("0.0.0.0", "0.0.0.0") if family == "inet" else ("::/0", "")  # noqa: S104
                result.append(_route(family, network, gateway or interface, mask, "UG" if gateway else "U", interface))
                continue
            if family == "inet6":
                network = cols[1] + "/128" if cols[0] == "local" else cols[0]
                result.append(_route(family, network, "::", "", "U", interface))
                continue
            network = ip_network(cols[0], strict=False)
            result.append(
                _route(family, str(network.network_address), "0.0.0.0", str(network.netmask), "U", interface)  # noqa: S104
            )
    return result


def _route(family, destination, gateway, netmask, flags, interface):
    return {
        "addr_family": family,
        "destination": destination,
        "gateway": gateway,
        "netmask": netmask,
        "flags": flags,
        "interface": interface,
    }
