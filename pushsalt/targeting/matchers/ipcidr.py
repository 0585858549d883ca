"""An address, or a network that one of the target's addresses is in. Salt: salt.matchers.ipcidr_match."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pushsalt.errors import UsageError

LETTER = "S"
SOURCE = "grains"

Wanted = ipaddress.IPv4Address | ipaddress.IPv6Address | ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=64)
def wanted(expr: str) -> Wanted:
    """The address or network of an expression. Raises UsageError for anything else."""
    try:
        return ipaddress.ip_network(expr) if "/" in expr else ipaddress.ip_address(expr)
    except ValueError as exc:
        raise UsageError(f"{expr!r} is no address or network: {exc}", hint="write 192.0.2.1 or 192.0.2.0/24") from None


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    looked_for = wanted(str(expr))
    addresses = value.get(f"ipv{looked_for.version}") or ()
    if isinstance(looked_for, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return isinstance(addresses, str | list | tuple) and str(looked_for) in addresses
    return any(_inside(address, looked_for) for address in ((addresses,) if isinstance(addresses, str) else addresses))


def _inside(address: Any, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    try:
        return ipaddress.ip_address(address) in network
    except ValueError:
        return False
