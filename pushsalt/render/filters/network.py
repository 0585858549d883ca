"""Filters on addresses: arithmetic only, no packet is sent. Salt: salt.utils.network."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Mapping, Sequence
from types import GeneratorType
from typing import Any

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address  # interfaces are addresses too

_OPTIONS: dict[str, Callable[[Any], bool]] = {
    "global": lambda address: not address.is_private,
    "public": lambda address: not address.is_private,
    "link-local": lambda address: address.is_link_local,
    "link_local": lambda address: address.is_link_local,
    "linklocal": lambda address: address.is_link_local,
    "ll": lambda address: address.is_link_local,
    "lo": lambda address: address.is_loopback,
    "loopback": lambda address: address.is_loopback,
    "multicast": lambda address: address.is_multicast,
    "private": lambda address: address.is_private,
    "reserved": lambda address: address.is_reserved,
    "site-local": lambda address: address.version == 6 and address.is_site_local,
    "site_local": lambda address: address.version == 6 and address.is_site_local,
    "sl": lambda address: address.version == 6 and address.is_site_local,
    "unspecified": lambda address: address.is_unspecified,
}


def _checked(value: Any, version: int, options: str | None) -> str | None:
    """The address or interface in its usual form, if it has that IP version and all the ``options``; else None."""
    try:
        address: _Address = ipaddress.ip_address(value)
    except ValueError:
        try:
            address = ipaddress.ip_interface(value)
        except ValueError:
            return None
    if address.version != version:
        return None
    wanted = [option.strip() for option in options.split(",")] if options else []
    return str(address) if all(_OPTIONS[option](address) for option in wanted if option in _OPTIONS) else None


def _chosen(value: Any, version: int, options: str | None) -> Any:
    if isinstance(value, str | bytes):
        return _checked(value, version, options)
    if isinstance(value, list | tuple | GeneratorType):
        return [address for item in value if (address := _checked(item, version, options)) is not None]
    return None


def ipv4(value: Any, options: str | None = None) -> Any:
    """The IPv4 addresses of a list; of a single value, the address, or None if it is not IPv4."""
    return _chosen(value, 4, options)


def ipv6(value: Any, options: str | None = None) -> Any:
    return _chosen(value, 6, options)


def ipaddr(value: Any, options: str | None = None) -> Any:
    """Addresses of either version, IPv4 first."""
    first, second = ipv4(value, options), ipv6(value, options)
    return first or second if first is None or second is None else first + second


def is_ipv4(value: Any, options: str | None = None) -> bool:
    return _checked(value, 4, options) is not None


def is_ipv6(value: Any, options: str | None = None) -> bool:
    return _checked(value, 6, options) is not None


def is_ip(value: Any, options: str | None = None) -> bool:
    return is_ipv4(value, options) or is_ipv6(value, options)


def _per_network(compute: Callable[[str], Any]) -> Callable[..., Any]:
    """A filter that computes a value of a network, or of each network of a list; None if there is no network."""

    def computed(value: Any, options: str | None = None, version: int | None = None) -> Any:
        choose: Callable[..., Any] | None = ipaddr
        if version:
            choose = ipv4 if version == 4 else ipv6 if version == 6 else None
        chosen = choose(value, options) if choose is not None else None
        if not chosen:
            return None
        if isinstance(value, list | tuple | GeneratorType):
            return [compute(item) for item in chosen]
        return compute(chosen[0] if isinstance(chosen, list) else chosen)

    return computed


def filter_by_networks(values: Any, networks: Any) -> Any:
    """The addresses in any of the networks; for a mapping, those of each of its lists. None as networks means all."""
    if networks is None:
        return values
    parsed = [ipaddress.ip_network(network) for network in networks]

    def within(addresses: Any) -> list[Any]:
        return [item for item in addresses for network in parsed if ipaddress.ip_address(item) in network]

    if isinstance(values, Mapping):
        return {interface: within(addresses) for interface, addresses in values.items()}
    if isinstance(values, Sequence):
        return within(values)
    raise ValueError(f"Do not know how to filter a {type(values)}")


def ipwrap(value: Any) -> Any:
    """IPv6 addresses in square brackets; other values are unchanged."""
    if isinstance(value, list | tuple):
        return [ipwrap(item) if isinstance(item, str | bytes) else item for item in value]
    return f"[{ipaddress.ip_address(str(value).strip('[]'))}]" if _checked(value, 6, None) else value


def gen_mac(prefix: str = "AC:DE:48") -> str:
    """A random MAC address with that prefix."""
    return ":".join([prefix, *(f"{random.randint(0, 255):02X}" for _ in range(3))])  # noqa: S311


def mac_str_to_bytes(text: str) -> bytes:
    if len(text) == 17:
        text = text.replace(text[2], "")
    if len(text) != 12:
        raise ValueError("Invalid MAC address")
    return bytes.fromhex(text)


FILTERS: dict[str, Callable[..., Any]] = {
    "filter_by_networks": filter_by_networks,
    "gen_mac": gen_mac,
    "ip_host": _per_network(lambda item: str(ipaddress.ip_interface(item))),
    "ipaddr": ipaddr,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "ipwrap": ipwrap,
    "is_ip": is_ip,
    "is_ipv4": is_ipv4,
    "is_ipv6": is_ipv6,
    "mac_str_to_bytes": mac_str_to_bytes,
    "network_hosts": _per_network(
        lambda item: [str(host) for host in ipaddress.ip_network(item, strict=False).hosts()]
    ),
    "network_size": _per_network(lambda item: ipaddress.ip_network(item, strict=False).num_addresses),
}
