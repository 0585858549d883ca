"""Types of IP sets with their options, and whether a set has an entry. Salt: ``salt/modules/ipset.py``."""

from thin.utils import words

FAMILIES = {"ipv4": "inet", "ip4": "inet", "ipv6": "inet6", "ip6": "inet6"}

_ALL = ("timeout", "counters", "comment", "skbinfo")
_HASH = ("hashsize", "maxelem") + _ALL
_NET = ("family", "netmask") + _HASH

#: The options that a set of each type has when it is created.
CREATE = {
    "bitmap:ip": ("range", "netmask") + _ALL,
    "bitmap:ip,mac": ("range",) + _ALL,
    "bitmap:port": ("range",) + _ALL,
    "hash:ip": _NET,
    "hash:mac": _HASH,
    "hash:net": _NET,
    "hash:net,net": _NET,
    "hash:net,port": _NET,
    "hash:net,port,net": _NET,
    "hash:net,iface": _NET,
    "hash:ip,port": _NET,
    "hash:ip,port,ip": _NET,
    "hash:ip,port,net": _NET,
    "hash:ip,mark": ("family", "markmask") + _HASH,
    "list:set": ("size", "timeout", "counters", "comment"),
}
WITHOUT_VALUE = ("comment", "counters", "skbinfo")

_ENTRY = ("timeout", "packets", "bytes", "skbmark", "skbprio", "skbqueue")
_WITH_NOMATCH = (
    "hash:net",
    "hash:net,net",
    "hash:net,port",
    "hash:net,port,net",
    "hash:net,iface",
    "hash:ip,port",
    "hash:ip,port,net",
)


def entry_options(set_type):
    """The options of an entry of a set of this type."""
    return _ENTRY + (("nomatch",) if set_type in _WITH_NOMATCH else ())


def contains(set_type, members, entries):
    """Whether one of ``members`` (lines of ``ipset list``) contains one of ``entries``.

    An entry may have fewer parts or options than a member: only those that it has are compared. A member's timeout is
    the time that is left, so that its value is not compared.
    """
    present = [_parts(set_type, member) for member in members]
    return any(_holds(member, _parts(set_type, entry)) for entry in entries for member in present)


def options_of(text):
    """``{option: value}`` from the text after an entry; "" for an option without a value."""
    try:
        parts = words.split(text)
    except ValueError:
        parts = text.split()
    options = {}
    while parts:
        name = parts.pop(0)
        options[name] = "" if name == "nomatch" or not parts else parts.pop(0)
    return options


def _parts(set_type, text):
    """([part], options). Addresses and networks are objects, a range of addresses is a list of networks, a port is a
    number."""
    value, _, options = text.partition(" ")
    kinds = set_type.split(":")[1].split(",")
    return [_part(*pair) for pair in zip(kinds, value.split(","))], options_of(options)


def _part(kind, text):
    import ipaddress

    try:
        if kind in ("ip", "net"):
            if "/" in text:
                return ipaddress.ip_network(text, strict=False)
            if "-" in text:
                first, last = map(ipaddress.ip_address, text.split("-"))
                return list(ipaddress.summarize_address_range(first, last))
            return ipaddress.ip_address(text)
        return int(text[4:] if text.startswith("tcp:") else text) if kind == "port" else text  # tcp is the default
    except ValueError:
        return text


def _holds(member, entry):
    (mine, options), (parts, wanted) = member, entry
    if len(mine) < len(parts) or not all(_covers(*pair) for pair in zip(mine, parts)):
        return False
    return all(key in options and (key == "timeout" or options[key] == wanted[key]) for key in wanted)


def _covers(member, entry):
    if member == entry:
        return True
    if isinstance(entry, list):
        return all(_covers(member, each) for each in entry)
    for one, other in ((member, entry), (entry, member)):
        if hasattr(one, "network_address") and hasattr(other, "packed") and not hasattr(other, "network_address"):
            return other in one
    return False
