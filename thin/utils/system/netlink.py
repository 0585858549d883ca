"""Reads network interfaces and addresses from the kernel by rtnetlink; it runs no program and need not be root.

Layouts are those of linux/netlink.h, linux/rtnetlink.h, linux/if_addr.h, linux/if_link.h.
"""

import os
import struct

try:
    import _socket as socket  # the module in C is enough, and faster to import
except ImportError:
    import socket

_RTM_NEWLINK, _RTM_GETLINK, _RTM_NEWADDR, _RTM_GETADDR = 16, 18, 20, 22
_NLM_F_REQUEST_DUMP = 0x1 | 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_LINK, _IFLA_LINK_NETNSID = 1, 3, 5, 37
_IFA_ADDRESS, _IFA_LOCAL, _IFA_LABEL, _IFA_BROADCAST = 1, 2, 3, 4
_IFA_F_SECONDARY = 0x01
_IFF_UP = 0x1
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")  # family, type, index, flags, change
_ADDRESS = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, index
_SCOPES = {0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
#: Link types whose address is that of a tunnel's end (linux/if_arp.h): IPIP, IP6IP6, SIT, IPGRE, IP6GRE.
_TUNNELS = (768, 769, 776, 778, 823)


def available():
    """Whether this system has rtnetlink: Linux does."""
    return hasattr(socket, "AF_NETLINK") and os.uname()[0] == "Linux"


def links():
    """All interfaces in the kernel's order: ``{"index", "name", "up", "address", "parent"}``.

    ``address`` is the hardware address as text, or None. ``parent`` is the name of the interface that this one is based
    on, ``ifN`` if that is in another network namespace, else None.
    """
    links, names = [], {}
    for body in _dump(_RTM_GETLINK, _RTM_NEWLINK, _LINK.size):
        _, link_type, index, flags, _ = _LINK.unpack_from(body)
        attributes = _attributes(body[_LINK.size :])
        name = _text(attributes.get(_IFLA_IFNAME, b""))
        names[index] = name
        packed = attributes.get(_IFLA_ADDRESS)
        links.append(
            {
                "index": index,
                "name": name,
                "up": bool(flags & _IFF_UP),
                "address": link_address(link_type, packed) if packed else None,
                "parent": (attributes.get(_IFLA_LINK), _IFLA_LINK_NETNSID in attributes),
            }
        )
    for link in links:
        packed, elsewhere = link["parent"]
        on = struct.unpack("=i", packed)[0] if packed else 0
        link["parent"] = None if not on else "if%d" % on if elsewhere or on not in names else names[on]
    return links


def addresses():
    """All addresses in the kernel's order.

    ``{"index", "family": "inet" or "inet6", "address", "prefix", "broadcast", "scope", "label", "secondary"}``:
    ``prefix`` is a number; ``broadcast`` and ``label`` are None if there is none. The prefix of an address with a peer
    is that of a single host, whatever the prefix of the peer.
    """
    addresses = []
    for body in _dump(_RTM_GETADDR, _RTM_NEWADDR, _ADDRESS.size):
        family, prefix, flags, scope, index = _ADDRESS.unpack_from(body)
        attributes = _attributes(body[_ADDRESS.size :])
        local, peer = attributes.get(_IFA_LOCAL), attributes.get(_IFA_ADDRESS)
        packed, broadcast = local or peer, attributes.get(_IFA_BROADCAST)
        kind = {socket.AF_INET: "inet", socket.AF_INET6: "inet6"}.get(family)
        if kind is None or packed is None:
            continue
        addresses.append(
            {
                "index": index,
                "family": kind,
                "address": socket.inet_ntop(family, packed),
                "prefix": len(packed) * 8 if local and peer and local != peer else prefix,
                "broadcast": socket.inet_ntop(family, broadcast) if broadcast else None,
                "scope": _SCOPES.get(scope, str(scope)),
                "label": _text(attributes[_IFA_LABEL]) if _IFA_LABEL in attributes else None,
                # for IPv6 this flag means "temporary", which `ip` shows by another word
                "secondary": kind == "inet" and bool(flags & _IFA_F_SECONDARY),
            }
        )
    return addresses


def _dump(request, answer, size):
    """The bodies of all messages that answer a dump request; [] if the kernel refuses it."""
    try:
        channel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    except (OSError, AttributeError):
        return []
    parts = []
    try:
        channel.settimeout(2)
        channel.bind((0, 0))
        channel.send(_HEADER.pack(_HEADER.size + size, request, _NLM_F_REQUEST_DUMP, 1, 0) + b"\0" * size)
        while True:
            data = channel.recv(256 * 1024)
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, _, _, _ = _HEADER.unpack_from(data, at)
                if kind in (_NLMSG_DONE, _NLMSG_ERROR) or length < _HEADER.size:
                    return parts
                if kind == answer:
                    parts.append(data[at + _HEADER.size : at + length])
                at += (length + 3) & ~3
            if not data:
                return parts
    except OSError:
        return parts
    finally:
        channel.close()


def _attributes(data):
    """{type: bytes} from a sequence of rtattr."""
    ret, at = {}, 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4:
            break
        ret[kind & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return ret


def link_address(link_type, packed):
    if link_type in _TUNNELS and len(packed) in (4, 16):
        return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
    return ":".join("%02x" % byte for byte in bytearray(packed))


def _text(packed):
    return packed.rstrip(b"\0").decode("utf-8", "replace")
