"""Where an address, interface or name is, by cached data. Salt: ``salt/runners/net.py``.

As in Salt, the mine functions ``net.interfaces``, ``net.ipaddrs``, ``net.arp``, ``net.mac`` and ``net.lldp`` are read,
in the shape that NAPALM gives them. Of targets without the first two, the interfaces are those of the cached grains.
Other than in Salt, where a table is printed, the rows are the return.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pushsalt.runners import cache
from pushsalt.runners import mine as mines

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run

Row = dict[str, Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_MAC: Final = re.compile(r"[0-9a-f]{12}")
_EMPTY: Final = (
    *("int_net", "int_descr", "int_name", "int_ip", "int_mac", "int_device", "lldp_descr", "lldp_int", "lldp_device"),
    *("lldp_mac", "lldp_device_int", "mac_device", "mac_int", "arp_device", "arp_int", "arp_mac", "arp_ip"),
)


def find(run: Run, addr: Any, best: bool = True, display: Any = None) -> dict[str, Any]:
    """All rows about a MAC or IP address, a network, a device, an interface or its description, or a VLAN (a number).

    Of networks around an address, ``best`` has only the smallest. Keys: where it was found (``int_ip``, ``arp_mac``).
    """
    if not addr:
        return {}
    networks = _Network(run)
    matches: dict[str, Any] = {key: [] for key in _EMPTY}
    if isinstance(addr, int):
        return {**matches, "mac": networks.macs(vlan=addr)}
    text = str(addr)
    mac, network = _mac(text), _network(text)
    if mac:
        matches["int_descr"], matches["arp_mac"] = networks.macs(mac=mac), networks.arps(mac=mac)
        matches["lldp_mac"] = networks.lldps(chassis=mac)
        rows = [row for row in networks.rows() if row["mac"] == mac]
    elif network:
        matches["int_net"] = networks.interfaces(network, best=best)
        rows = []
        if network.prefixlen == network.max_prefixlen:
            matches["arp_ip"] = networks.arps(ip=text)
            address = str(network.network_address)
            rows = [row for row in networks.rows() if address in [each.partition("/")[0] for each in row["ips"]]]
    else:
        matches["int_descr"] = [row for row in networks.rows() if text.lower() in row["interface_description"].lower()]
        for key, name in (("name", "interface"), ("device", "device")):
            matches[f"int_{key}"] = [row for row in networks.rows() if row[name] == text]
        matches["lldp_descr"], matches["lldp_int"] = networks.lldps(pattern=text), networks.lldps(interface=text)
        matches["lldp_device"] = networks.lldps(device=text)
        matches["mac_device"], matches["mac_int"] = networks.macs(device=text), networks.macs(interface=text)
        matches["arp_device"], matches["arp_int"] = networks.arps(device=text), networks.arps(interface=text)
        return matches
    if rows:
        matches["int_mac" if mac else "int_ip"] = rows[:1]
        matches["lldp_device_int"] = networks.lldps(rows[0]["device"], rows[0]["interface"])
    return matches


def multi_find(run: Run, *patterns: Any, **kwargs: Any) -> dict[str, Any]:
    """``find`` of several: pattern -> rows."""
    return {str(pattern): find(run, pattern, best=kwargs.get("best", True)) for pattern in patterns}


def interfaces(
    run: Run,
    device: str | None = None,
    interface: str | None = None,
    title: Any = None,
    pattern: str | None = None,
    ipnet: str | None = None,
    best: bool = True,
    display: Any = None,
) -> list[Row]:
    """Interfaces: of a device, of a name, with a text in their description, or with an address of a network."""
    networks = _Network(run)
    network = _network(ipnet) if ipnet else None
    rows = networks.interfaces(network, best=best) if network else networks.rows()
    rows = [row for row in rows if device in (None, row["device"]) and interface in (None, row["interface"])]
    return [row for row in rows if not pattern or pattern.lower() in row["interface_description"].lower()]


def findarp(
    run: Run,
    device: str | None = None,
    interface: str | None = None,
    mac: str | None = None,
    ip: str | None = None,
    display: Any = None,
) -> list[Row]:
    """Entries of ARP tables."""
    return _Network(run).arps(device, interface, _mac(mac or ""), ip)


def findmac(
    run: Run,
    device: str | None = None,
    mac: str | None = None,
    interface: str | None = None,
    vlan: Any = None,
    display: Any = None,
) -> list[Row]:
    """Entries of tables of MAC addresses."""
    return _Network(run).macs(device, _mac(mac or ""), interface, vlan)


def lldp(
    run: Run,
    device: str | None = None,
    interface: str | None = None,
    title: Any = None,
    pattern: str | None = None,
    chassis: str | None = None,
    display: Any = None,
) -> list[Row]:
    """Neighbours by LLDP."""
    return _Network(run).lldps(device, interface, pattern, _mac(chassis or ""))


class _Network:
    """What the mine and the grains say. Rows have Salt's keys."""

    def __init__(self, run: Run) -> None:
        self._run = run
        runners = run.client.project.config.opts.get("runners")
        given = (runners if isinstance(runners, dict) else {}).get("net.find") or {}
        self._tgt, self._tgt_type = str(given.get("target", "*")), str(given.get("expr_form", "glob"))
        self._ignored = given.get("ignore_interfaces") or ()
        self._tables: dict[str, dict[str, Any]] = {}

    def _mine(self, name: str) -> dict[str, Any]:
        """id -> ``out`` of a mine function that succeeded there."""
        if name not in self._tables:
            values = mines.get(self._run, self._tgt, name, self._tgt_type)
            good = {id: value for id, value in values.items() if isinstance(value, dict) and value.get("result")}
            self._tables[name] = {id: value.get("out") or {} for id, value in good.items()}
        return self._tables[name]

    def rows(self) -> list[Row]:
        """All interfaces."""
        rows = []
        named = self._mine("net.interfaces")
        for id, ports in named.items():
            addresses = self._mine("net.ipaddrs").get(id, {})
            for name, about in ports.items():
                ips = [each for port, of in addresses.items() if port.split(".")[0] == name for each in _ips(of)]
                rows.append(_row(id, name, about, ips))
        grains = cache.grains(self._run, self._tgt, self._tgt_type)
        for id, values in grains.items():
            macs, of = values.get("hwaddr_interfaces") or {}, values.get("ip_interfaces") or {}
            for name in {**macs, **of} if id not in named else ():
                rows.append(_row(id, str(name), {"mac_address": macs.get(name)}, list(map(_one, of.get(name) or ()))))
        return rows

    def interfaces(self, network: Network, *, best: bool) -> list[Row]:
        """The interfaces with an address within the network, or whose own network contains it."""
        rows = []
        for row in self.rows():
            near = [each for each in map(_network, row["ips"]) if each is not None and _overlap(each, network)]
            if near and row["interface"] not in self._ignored:
                rows.append((max(each.prefixlen for each in near), row))
        if best and rows:
            return [max(rows, key=lambda each: each[0])[1]]
        return [row for _, row in rows]

    def _entries(self, name: str, device: str | None, meant: Callable[[Row], bool]) -> Iterator[tuple[str, Row]]:
        for id, entries in self._mine(name).items():
            for entry in entries if device in (None, id) else ():
                if isinstance(entry, dict) and meant(entry):
                    yield id, entry

    def arps(
        self, device: str | None = None, interface: str | None = None, mac: str = "", ip: str | None = None
    ) -> list[Row]:
        def meant(entry: Row) -> bool:
            of_mac = bool(mac) and _mac(str(entry.get("mac", ""))) == mac
            of_port = bool(interface) and str(interface) in str(entry.get("interface", ""))
            of_ip = bool(ip) and _network(str(entry.get("ip", ""))) == _network(str(ip))
            return of_mac or of_port or of_ip

        rows = []
        for id, entry in self._entries("net.arp", device, meant):
            about = {key: entry.get(key) for key in ("interface", "ip", "age")}
            rows.append({"device": id, **about, "mac": _mac(str(entry.get("mac", "")))})
        return rows

    def macs(
        self, device: str | None = None, mac: str = "", interface: str | None = None, vlan: Any = None
    ) -> list[Row]:
        def meant(entry: Row) -> bool:
            of_mac = bool(mac) and _mac(str(entry.get("mac", ""))) == mac
            of_port = bool(interface) and str(interface) in str(entry.get("interface", ""))
            return of_mac or of_port or (bool(vlan) and str(entry.get("vlan", "")) == str(vlan))

        rows = []
        for id, entry in self._entries("net.mac", device, meant):
            names = ("interface", "vlan", "static", "active", "moves", "last_move")
            rows.append(
                {"device": id, **{key: entry.get(key) for key in names}, "mac": _mac(str(entry.get("mac", "")))}
            )
        return rows

    def lldps(
        self, device: str | None = None, interface: str | None = None, pattern: str | None = None, chassis: str = ""
    ) -> list[Row]:
        rows = []
        for id, ports in self._mine("net.lldp").items():
            for port, entries in ports.items() if device in (None, id) else ():
                for entry in entries if interface in (None, port) else ():
                    row = _neighbour(id, port, entry)
                    texts = (row[key] for key in row if key.startswith("remote_"))
                    if pattern and not any(pattern.lower() in str(text).lower() for text in texts):
                        continue
                    if not chassis or row["remote_chassis_id"] == chassis:
                        rows.append(row)
        return rows


def _row(id: str, name: str, about: Row, ips: list[str]) -> Row:
    given = {key: about.get(key) or "" for key in ("is_up", "is_enabled", "speed")}
    text = str(about.get("description") or "")
    mac = _mac(str(about.get("mac_address") or ""))
    return {"device": id, "interface": name, "interface_description": text, **given, "mac": mac, "ips": ips}


def _neighbour(id: str, port: str, entry: Row) -> Row:
    texts = {key: str(entry.get(key) or "") for key in ("parent_interface", "remote_port_id", "remote_system_name")}
    chassis = str(entry.get("remote_chassis_id") or "")
    return {
        "device": id,
        "interface": port,
        **texts,
        "remote_chassis_id": _mac(chassis) or chassis,
        "remote_port_descr": str(entry.get("remote_port_description") or ""),
        "remote_system_descr": str(entry.get("remote_system_description") or ""),
    }


def _ips(of: Any) -> list[str]:
    """The addresses of an interface with their prefix lengths, in the shape of NAPALM."""
    addresses: list[str] = []
    for family in ("ipv4", "ipv6"):
        for address, about in (of.get(family) or {}).items():
            addresses.append(f"{address}/{about.get('prefix_length', '32')}")
    return addresses


def _one(address: Any) -> str:
    return f"{address}/{128 if ':' in str(address) else 32}"


def _mac(text: str) -> str:
    """A MAC address in its usual form, ``AA:BB:…``; empty if it is none."""
    digits = re.sub(r"[:.\-]", "", text.strip().lower())
    if not _MAC.fullmatch(digits) or _network(text) is not None:
        return ""
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2)).upper()


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)
