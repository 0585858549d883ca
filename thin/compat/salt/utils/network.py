"""Addresses. Salt: ``salt/utils/network.py``."""

import ipaddress
import socket

from thin.utils.system import interfaces as _interfaces


def _address(value, kind=None):
    try:
        address = ipaddress.ip_address(str(value).partition("%")[0])
    except ValueError:
        return None
    return address if kind in (None, address.version) else None


def is_ip(ip_addr):
    return _address(ip_addr) is not None


def is_ipv4(ip_addr):
    return _address(ip_addr, 4) is not None


def is_ipv6(ip_addr):
    return _address(ip_addr, 6) is not None


def is_loopback(ip_addr):
    """Whether an address is a loopback address. Raises ValueError for an invalid one."""
    return ipaddress.ip_address(ip_addr).is_loopback


def _subnet(value, kind):
    try:
        return "/" in str(value) and ipaddress.ip_network(value, strict=False).version in kind
    except ValueError:
        return False


def is_subnet(cidr):
    return _subnet(cidr, (4, 6))


def is_ipv4_subnet(cidr):
    return _subnet(cidr, (4,))


def is_ipv6_subnet(cidr):
    return _subnet(cidr, (6,))


def sanitize_host(host):
    """The host without characters that a host name cannot have."""
    return "".join(char for char in host[:255] if char.isalnum() or char in "._-")


def get_fqhostname():
    return socket.getfqdn()


def host_to_ips(host):
    """The addresses of a host name, or None."""
    try:
        return list(dict.fromkeys(str(entry[4][0]) for entry in socket.getaddrinfo(host, None))) or None
    except OSError:
        return None


def ip_to_host(ip):
    try:
        return socket.gethostbyaddr(ip)[0]
    except OSError:
        return None


def is_reachable_host(entity_name):
    return host_to_ips(entity_name) is not None


def isportopen(host, port):
    """0 if the port is open, else the errno; False for an invalid port."""
    if not 1 <= int(port) <= 65535:
        return False
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.settimeout(5)
        return sock.connect_ex((sanitize_host(host) if ":" not in host else host, int(port)))


def interfaces():
    """``{interface: {up, hwaddr, inet, inet6}}``, as ``network.interfaces``."""
    return _interfaces.table()


def ip_addrs(interface=None, include_loopback=False, interface_data=None):
    return _interfaces.addresses("inet", [interface] if isinstance(interface, str) else interface, include_loopback)


def ip_addrs6(interface=None, include_loopback=False, interface_data=None):
    return _interfaces.addresses("inet6", [interface] if isinstance(interface, str) else interface, include_loopback)


def in_subnet(cidr, addr=None):
    """Whether one of the addresses (by default this machine's) is in a network."""
    network = ipaddress.ip_network(cidr)
    addrs = [addr] if isinstance(addr, str) else (addr if addr is not None else ip_addrs() + ["127.0.0.1"])
    return any(ipaddress.ip_address(one) in network for one in addrs)


def cidr_to_ipv4_netmask(cidr_bits):
    """The netmask of a prefix length; "" for an invalid one."""
    try:
        return str(ipaddress.IPv4Network("0.0.0.0/%d" % int(cidr_bits)).netmask) if int(cidr_bits) else ""
    except ValueError:
        return ""


def calc_net(ipaddr, netmask=None):
    return str(ipaddress.ip_network("%s/%s" % (ipaddr, netmask) if netmask is not None else ipaddr, strict=False))


def parse_host_port(host_port):
    """(host, port or None) from ``host:port``, ``[v6]:port`` or a bare host. Raises ValueError."""
    text, port = host_port.strip(), None
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.lstrip(":") or None
    elif text.count(":") == 1:
        host, port = text.split(":")
    else:
        host = text
    if not host:
        raise ValueError("bad hostname: %r" % host_port)
    return host, int(port) if port is not None else None


def gen_mac(prefix="AC:DE:48"):
    import os

    return prefix + "".join(":%02X" % byte for byte in bytearray(os.urandom(3)))


def dns_check(addr, port=80, safe=False, ipv6=None):
    """The first address of a name. Raises SaltException (Salt: SaltSystemExit), unless ``safe``."""
    result = [one for one in host_to_ips(addr) or () if ipv6 is None or (":" in one) == bool(ipv6)]
    if result:
        return result[0]
    if safe:
        return addr
    from thin.exceptions import SaltException

    raise SaltException("DNS lookup of '%s' failed." % addr)
