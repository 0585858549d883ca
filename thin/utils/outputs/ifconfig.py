"""Parsers of ``ifconfig -a`` and ``netstat -rn`` of the BSDs and macOS. Salt: salt.utils.network"""

import re

_INET = re.compile(r"\s+inet (\d+\.\d+\.\d+\.\d+)")
_INET6 = re.compile(r"\s+inet6 ([0-9a-fA-F:]+)")
_MASK = re.compile(r"netmask (?:0x([0-9a-fA-F]{8})|([\d.]+))")
_BROADCAST = re.compile(r"broadcast ([\d.]+)")
_PREFIX = re.compile(r"prefixlen (\d+)")
_SCOPE = re.compile(r"scopeid (0x[0-9a-fA-F]+)")
_HARDWARE = re.compile(r"\s+(?:ether|address:|lladdr) ([0-9a-fA-F:]+)")


def table(text):
    """``{name: {"up", "hwaddr", "inet", "inet6"}}`` in the order of the text, in the shape of ``interfaces.table``."""
    result, entry = {}, None
    for line in text.splitlines():
        if line and not line[0].isspace():
            name = re.match(r"([^\s:]+)", line)
            entry = result[name.group(1)] = {"up": bool(re.search(r"[<,]UP[,>]", line))} if name else {}
        elif entry is not None:
            _take(entry, line)
    return result


def _take(entry, line):
    hardware, four, six = _HARDWARE.match(line), _INET.match(line), _INET6.match(line)
    if hardware:
        entry["hwaddr"] = hardware.group(1)
    elif four:
        address, mask, broadcast = {"address": four.group(1)}, _MASK.search(line), _BROADCAST.search(line)
        if mask:
            address["netmask"] = _dotted(mask.group(1)) if mask.group(1) else mask.group(2)
        if broadcast:
            address["broadcast"] = broadcast.group(1)
        entry.setdefault("inet", []).append(address)
    elif six:
        address, prefix, scope = {"address": six.group(1)}, _PREFIX.search(line), _SCOPE.search(line)
        if prefix:
            address["prefixlen"] = prefix.group(1)
            address["scope"] = scope.group(1) if scope else None
        entry.setdefault("inet6", []).append(address)


def _dotted(digits):
    return ".".join(str(int(digits[at : at + 2], 16)) for at in range(0, 8, 2))


def gateways(text):
    """``{"ip_gw", "ip4_gw", "ip6_gw"}`` from ``netstat -rn``: an address, True if it is unknown, or False."""
    result, section = {"ip4_gw": False, "ip6_gw": False}, "ip4_gw"
    for line in text.splitlines():
        if line.startswith("Internet6"):
            section = "ip6_gw"
        words = line.split()
        if words[:1] == ["default"] and len(words) > 1 and not result[section]:
            address = words[1].split("%")[0]
            result[section] = address if re.match(r"[0-9a-fA-F:.]+\Z", address) and not words[1][:4] == "link" else True
    result["ip_gw"] = bool(result["ip4_gw"] or result["ip6_gw"])
    return result
