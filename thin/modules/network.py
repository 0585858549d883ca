"""Addresses, names, routes and connections of the target. Salt: ``salt/modules/network.py``.

This file has interfaces, addresses and names. network_routes.py has routes and connections to other machines,
network_tools.py has functions that call other programs.
"""

from thin.utils.system import interfaces as links

#: Functions that only compute.
__controller__ = ("calc_net", "convert_cidr", "ip_in_subnet", "iphexval", "is_loopback", "is_private", "reverse_ip")
__recorded__ = ("calc_net", "convert_cidr", "ip_in_subnet", "iphexval", "is_loopback", "is_private", "reverse_ip")
__reads__ = (
    "interfaces",
    "hw_addr",
    "hwaddr",
    "interface",
    "interface_ip",
    "ifacestartswith",
    "ip_addrs",
    "ipaddrs",
    "ip_addrs6",
    "ipaddrs6",
    "ip_networks",
    "ip_networks6",
    "subnets",
    "subnets6",
    "in_subnet",
    "ip_in_subnet",
    "calc_net",
    "convert_cidr",
    "is_private",
    "is_loopback",
    "reverse_ip",
    "iphexval",
    "get_hostname",
    "get_fqdn",
    "fqdns",
)
__changes__ = ("mod_hostname",)


# Interfaces


def interfaces():
    """
    Return ``{name: {up, hwaddr, inet, inet6, ...}}`` of all interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.interfaces
    """
    return links.table()


def hw_addr(iface):
    """
    Return an interface's hardware address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.hw_addr ens3
    """
    interfaces = links.table()
    return interfaces[iface].get("hwaddr", "") if iface in interfaces else _no_interface(iface, interfaces)


hwaddr = hw_addr


def interface(iface):
    """
    Return an interface's IPv4 addresses, with netmask, broadcast address and label

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.interface ens3
    """
    interfaces = links.table()
    return interfaces[iface].get("inet", "") if iface in interfaces else _no_interface(iface, interfaces)


def interface_ip(iface):
    """
    Return an interface's first IPv4 address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.interface_ip ens3
    """
    interfaces = links.table()
    if iface not in interfaces:
        return _no_interface(iface, interfaces)
    return interfaces[iface]["inet"][0]["address"] if "inet" in interfaces[iface] else ""


def ifacestartswith(cidr):
    """
    Return the labels of IPv4 addresses that begin with a text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ifacestartswith 192.0.2
    """
    result = [entry for data in links.table().values() for entry in data.get("inet", [])]
    return [entry["label"] for entry in result if entry["address"].startswith(str(cidr))]


# Addresses and networks


def ip_addrs(interface=None, include_loopback=False, cidr=None, type=None):
    """
    Return the sorted IPv4 addresses: of interfaces (names or globs), in a network, ``type`` public or private

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_addrs cidr=192.0.2.0/24
    """
    addresses = links.addresses("inet", interface, include_loopback)
    if cidr:
        return [address for address in addresses if _within(cidr, [address])]
    if type in ("public", "private"):
        return [address for address in addresses if is_private(address) == (type == "private")]
    return addresses


ipaddrs = ip_addrs


def ip_addrs6(interface=None, include_loopback=False, cidr=None):
    """
    Return the sorted IPv6 addresses: of interfaces (names or globs), in a network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_addrs6 ens3
    """
    addresses = links.addresses("inet6", interface, include_loopback)
    return [address for address in addresses if not cidr or _within(cidr, [address])]


ipaddrs6 = ip_addrs6


def ip_networks(interface=None, include_loopback=False, verbose=False):
    """
    Return the IPv4 networks that the target is in; ``verbose``: with netmask, prefix and size

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_networks interface='ens*'
    """
    return _networks("inet", interface, include_loopback, verbose)


def ip_networks6(interface=None, include_loopback=False, verbose=False):
    """
    Return the IPv6 networks that the target is in; ``verbose``: with netmask, prefix and size

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_networks6 interface='ens*'
    """
    return _networks("inet6", interface, include_loopback, verbose)


def subnets(interfaces=None):
    """
    Return the IPv4 networks of the target, or of these interfaces

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.subnets ens3
    """
    subnets = links.table()
    if interfaces is not None:
        names = interfaces if isinstance(interfaces, list) else [interfaces]
        subnets = {name: subnets[name] for name in subnets if name in names}
    return [str(network) for network in sorted(links.networks("inet", subnets))]


def subnets6():
    """
    Return the IPv6 networks that the target is in

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.subnets6
    """
    return [str(network) for network in sorted(links.networks("inet6", links.table()))]


def in_subnet(cidr):
    """
    Whether the target has an address in a network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.in_subnet 192.0.2.0/24
    """
    return _within(cidr, links.addresses("inet") + links.addresses("inet6"))


def ip_in_subnet(ip_addr, cidr):
    """
    Whether an address (or one of a list) is in a network

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_in_subnet 192.0.2.77 192.0.2.64/26
    """
    return _within(cidr, ip_addr if isinstance(ip_addr, (list, tuple)) else [ip_addr])


def calc_net(ip_addr, netmask=None):
    """
    Return the network that an address is in

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.calc_net 192.0.2.77 255.255.255.192
    """
    from ipaddress import ip_network

    return str(ip_network(ip_addr if netmask is None else "%s/%s" % (ip_addr, netmask), strict=False))


def convert_cidr(cidr):
    """
    Return a network's address, netmask and broadcast address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.convert_cidr 198.51.100.0/25
    """
    from ipaddress import ip_network

    network = ip_network(calc_net(cidr))
    return {
        "network": str(network.network_address),
        "netmask": str(network.netmask),
        "broadcast": str(network.broadcast_address),
    }


def is_private(ip_addr):
    """
    Whether an address is in a range for private networks

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.is_private 192.168.4.9
    """
    return _address(ip_addr).is_private


def is_loopback(ip_addr):
    """
    Whether an address is a loopback address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.is_loopback 127.0.1.1
    """
    return _address(ip_addr).is_loopback


def reverse_ip(ip_addr):
    """
    Return the name in the DNS for reverse look-ups of an address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.reverse_ip 192.0.2.10
    """
    return _address(ip_addr).reverse_pointer


def iphexval(ip):
    """
    Return an IPv4 address in hexadecimal digits

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.iphexval 192.0.2.10
    """
    return "".join("%02X" % int(part) for part in ip.split("."))


# Names


def get_hostname():
    """
    Return the host name of the kernel

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.get_hostname
    """
    import socket

    return socket.gethostname()


def get_fqdn():
    """
    Return the fully qualified name of the machine

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.get_fqdn
    """
    import socket

    return socket.getfqdn()


def fqdns():
    """
    Return all names of the machine's addresses in the DNS, as ``{"fqdns": [...]}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.fqdns
    """
    import socket

    names = set()
    for address in links.addresses("inet") + links.addresses("inet6"):
        try:
            names.add(socket.getfqdn(socket.gethostbyaddr(address)[0]))
        except (OSError, UnicodeError):
            continue
    return {"fqdns": sorted(names)}


def mod_hostname(hostname):
    """
    Change the host name, now, at boot, and in ``/etc/hosts``; returns whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.mod_hostname web01.example.org
    """
    import os

    from thin import process
    from thin.utils.files import textfile

    if not hostname:
        return False
    before, program = get_hostname(), process.which("hostnamectl")
    command = ["hostnamectl", "set-hostname", str(hostname)] if program else ["hostname", str(hostname)]
    if __salt__["cmd.run_all"](command, python_shell=False)["retcode"] != 0:
        return False
    lines = [line.split() for line in textfile.lines("/etc/hosts")]
    renamed = [[hostname if word == before else word for word in words] for words in lines]
    textfile.write("/etc/hosts", "".join("\t".join(words) + "\n" for words in renamed))
    if __grains__.get("os_family") == "RedHat" and os.path.exists("/etc/sysconfig/network"):
        kept = textfile.lines("/etc/sysconfig/network")
        kept = ["HOSTNAME=%s\n" % hostname if line.startswith("HOSTNAME") else line for line in kept]
        textfile.write("/etc/sysconfig/network", "".join(kept))
    elif __grains__.get("os_family") == "Debian" or (__grains__.get("kernel") == "Linux" and not program):
        textfile.write("/etc/hostname", "%s\n" % hostname)
    return _kept_at_boot(str(hostname))


def _kept_at_boot(hostname):
    """Write the name where other systems than Linux store it; returns whether that worked."""
    from thin.utils.files import textfile

    kernel = __grains__.get("kernel")
    if kernel in ("FreeBSD", "DragonFly"):
        command = ["sysrc", "hostname=%s" % hostname]
    elif kernel == "Darwin":
        command = ["scutil", "--set", "HostName", hostname]
    else:
        if kernel == "OpenBSD":
            textfile.write("/etc/myname", "%s\n" % hostname)
        return True
    return __salt__["cmd.run_all"](command, python_shell=False)["retcode"] == 0


# Private functions


def _networks(family, interface, include_loopback, verbose):
    networks = links.networks(family, links.chosen(interface, links.table()), include_loopback)
    if not verbose:
        return [str(network) for network in sorted(networks)]
    return {
        str(network): {
            "address": str(network.network_address),
            "netmask": str(network.netmask),
            "num_addresses": network.num_addresses,
            "prefixlen": network.prefixlen,
        }
        for network in networks
    }


def _within(cidr, addresses):
    from ipaddress import ip_network

    try:
        network = ip_network(cidr)
    except ValueError:
        return False
    return any(_address(address) in network for address in addresses)


def _address(text):
    from ipaddress import ip_address

    return ip_address(text)


def _no_interface(iface, interfaces):
    return 'Interface "%s" not in available interfaces: "%s"' % (iface, '", "'.join(interfaces))
