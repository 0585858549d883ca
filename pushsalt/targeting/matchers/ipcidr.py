"""An address, or a network that one of the target's addresses is in. Salt: salt.matchers.ipcidr_match."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from pushsalt.errors import UsageError

LETTER = "S"
SOURCE = "grains"


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    try:
        network = ipaddress.ip_network(str(expr))
    except ValueError as exc:
        raise UsageError(f"{expr!r} is no address or network: {exc}", hint="write 192.0.2.1 or 192.0.2.0/24") from None
    addresses = value.get(f"ipv{network.version}") or ()
    return any(ipaddress.ip_address(address) in network for address in addresses)
