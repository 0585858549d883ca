"""Calculations with IP networks. Salt: ``salt/modules/netaddress.py``, which needs a library."""

from thin.exceptions import SaltInvocationError

__virtualname__ = "netaddress"

#: All functions only compute.
__controller__ = True
__reads__ = ("list_cidr_ips", "list_cidr_ips_ipv6", "cidr_netmask", "cidr_broadcast")


def list_cidr_ips(cidr):
    """
    Return all addresses of a network, including the network and broadcast addresses

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' netaddress.list_cidr_ips 192.168.0.0/28
    """
    return [str(address) for address in _network(cidr)]


def list_cidr_ips_ipv6(cidr):
    """
    Return all addresses of a network as IPv6; IPv4 addresses are mapped

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' netaddress.list_cidr_ips_ipv6 192.168.0.0/28
    """
    network = _network(cidr)
    return ["::ffff:%s" % address if network.version == 4 else str(address) for address in network]


def cidr_netmask(cidr):
    """
    Return the netmask of a network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' netaddress.cidr_netmask 10.20.0.0/14
    """
    return str(_network(cidr).netmask)


def cidr_broadcast(cidr):
    """
    Return the broadcast address of a network; the text ``None`` if there is none

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' netaddress.cidr_broadcast 10.20.0.0/14
    """
    network = _network(cidr)
    return "None" if network.prefixlen >= network.max_prefixlen - 1 else str(network.broadcast_address)


def _network(cidr):
    import ipaddress

    try:
        return ipaddress.ip_network(str(cidr), strict=False)
    except ValueError as exc:
        raise SaltInvocationError("No network: %s" % exc)
