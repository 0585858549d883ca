"""Salt: ``salt/utils/validate/net.py``."""

import ipaddress
import re


def mac(addr):
    """Whether the text is a MAC address other than all zeros and broadcast."""
    return re.match(r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$", str(addr).lower()) is not None


def _ip(addr, kind):
    try:
        return ipaddress.ip_interface(str(addr)).version == kind
    except ValueError:
        return False


def ipv4_addr(addr):
    """Whether the text is an IPv4 address, with or without a prefix length."""
    return _ip(addr, 4)


def ipv6_addr(addr):
    return _ip(addr, 6)


def ip_addr(addr):
    return ipv4_addr(addr) or ipv6_addr(addr)


def netmask(mask):
    """Whether the text is an IPv4 netmask."""
    try:
        return isinstance(mask, str) and ipaddress.ip_network("0.0.0.0/" + mask).version == 4
    except ValueError:
        return False
