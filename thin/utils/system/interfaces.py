"""Network interfaces in the shape of Salt's ``network`` functions, and their addresses.

``ipaddress`` is slow to import, so that only functions that need it import it.
"""

from thin.utils.system import netlink


def table():
    """``{name: {"up", "hwaddr", "parent", "inet", "inet6", "secondary"}}`` in the kernel's order.

    Only "up" is always there. ``inet`` is a list of ``{"address", "netmask", "broadcast", "label"}``, ``inet6`` of
    ``{"address", "prefixlen": text, "scope"}``; ``secondary`` is a list of such addresses with an additional ``type``.
    """
    if not netlink.available():
        from thin.grains.probe import Command, which
        from thin.utils.outputs import ifconfig

        program = which("ifconfig")
        return ifconfig.table(Command([program, "-a"]).output()[1] if program else "")
    result, by_index = {}, {}
    for link in netlink.links():
        entry = result[link["name"]] = by_index[link["index"]] = {"up": link["up"]}
        entry.update({"parent": link["parent"]} if link["parent"] else {})
        entry.update({"hwaddr": link["address"]} if link["address"] else {})
    for each in netlink.addresses():
        if each["index"] not in by_index:
            continue
        address = {"type": each["family"]} if each["secondary"] else {}
        address["address"] = each["address"]
        if each["family"] == "inet":
            address.update(netmask=netmask(each["prefix"]), broadcast=each["broadcast"], label=each["label"])
        else:
            address.update(prefixlen=str(each["prefix"]), scope=each["scope"])
        kind = "secondary" if each["secondary"] else each["family"]
        by_index[each["index"]].setdefault(kind, []).append(address)
    return result


def netmask(prefix):
    """The netmask for a prefix length from 1 to 32, as text; "" for another one."""
    if not 1 <= prefix <= 32:
        return ""
    bits = (0xFFFFFFFF << (32 - prefix)) & 0xFFFFFFFF
    return ".".join(str(bits >> shift & 255) for shift in (24, 16, 8, 0))


def entries(family, table):
    """The entries of ``inet`` or ``inet6`` of all interfaces, each followed by its secondary ones."""
    ret = []
    for data in table.values():
        ret += data.get(family, [])
        ret += [entry for entry in data.get("secondary", []) if entry["type"] == family]
    return ret


def chosen(names, table):
    """The interfaces that match one of ``names``: globs, a list or a comma-separated string. None: all."""
    if names is None:
        return table
    from fnmatch import fnmatch

    globs = [glob.strip() for glob in names.split(",")] if isinstance(names, str) else [str(glob) for glob in names]
    return {name: table[name] for name in table if any(fnmatch(name, glob) for glob in globs)}


def addresses(family, names=None, include_loopback=False):
    """The sorted addresses (text) of these interfaces."""
    from ipaddress import ip_address

    unique = {ip_address(entry["address"]) for entry in entries(family, chosen(names, table()))}
    return [str(address) for address in sorted(unique) if include_loopback or not address.is_loopback]


def networks(family, table, include_loopback=False):
    """The set of networks (``ipaddress`` objects) of these interfaces."""
    from ipaddress import ip_network

    size = "netmask" if family == "inet" else "prefixlen"
    pairs = [(entry["address"], entry[size]) for entry in entries(family, table) if entry[size]]
    unique = {ip_network("%s/%s" % pair, strict=False) for pair in pairs}
    return {network for network in unique if include_loopback or not network.is_loopback}
