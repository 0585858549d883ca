"""General names (of subjectAltName and others): DER from pairs of type and value, and Salt's text from DER."""

import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.pki import der, names


def build(pairs):
    """[DER] of (type, value) pairs. Raises CommandExecutionError, SaltInvocationError."""
    result = []
    for pair in pairs:
        if len(pair) != 2:
            raise SaltInvocationError("A general name is written as type:value, not %s" % ":".join(map(str, pair)))
        result.append(_one(pair[0].lower(), pair[1]))
    return result


def _one(kind, value):
    if kind == "othername":
        raise SaltInvocationError("otherName is currently not implemented")
    if kind == "dirname":
        return der.context(4, names.build(value).raw)
    if kind == "ip":
        return der.tlv(0x87, _address(value))
    if kind == "rid":
        return der.implicit(8, oid(value))
    texts = {"email": (1, _mail), "dns": (2, _domain), "uri": (6, _uri)}
    if kind not in texts:
        raise CommandExecutionError("GeneralName type %s is invalid" % kind)
    if not isinstance(value, str):
        raise SaltInvocationError("Expected string value, got %s: `%s`" % (type(value).__name__, value))
    number, change = texts[kind]
    try:
        return der.tlv(0x80 | number, change(value).encode("ascii"))
    except UnicodeEncodeError:
        raise CommandExecutionError("%s values should be passed as an A-label string: %s" % (kind, value))


def oid(value):
    """The DER of an object identifier. Raises CommandExecutionError."""
    try:
        return der.oid(str(value))
    except ValueError:
        raise CommandExecutionError("Invalid oid: %s" % value)


def _address(value):
    import ipaddress

    try:
        return ipaddress.ip_address(value).packed
    except ValueError:
        pass
    try:
        network = ipaddress.ip_network(value)
    except ValueError:
        raise CommandExecutionError("Provided value %s does not seem to be an IP address or network range." % value)
    return network.network_address.packed + network.netmask.packed


def _mail(value):
    user, at, domain = value.rpartition("@")
    return user + at + (ascii_domain(domain) if at else ascii_domain(domain, dot=True))


def _domain(value):
    return ascii_domain(value, dot=True, wildcard=True)


def _uri(value):
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]+)(.*)$", value, re.DOTALL)
    if not match:
        return value
    host, port = re.match(r"(.*?)(:\d*)?$", match.group(2)).groups()
    if host.startswith("["):
        return value
    user, at, host = host.rpartition("@")
    return "".join((match.group(1), user, at, ascii_domain(host), port or "", match.group(3)))


def ascii_domain(value, dot=False, wildcard=False):
    """A domain in the form for certificates. ``dot``: it may begin with a dot; ``wildcard``: with ``*.``."""
    lead = ""
    if value.startswith("."):
        if not dot:
            raise CommandExecutionError("Leading dots are not allowed in this context")
        lead, value = ".", value.lstrip(".")
    if value.startswith("*."):
        if not wildcard:
            raise CommandExecutionError("Wildcards are not allowed in this context")
        if lead:
            raise CommandExecutionError("Wildcards and leading dots cannot be present together")
        lead, value = "*.", value[2:]
    if not value:
        raise CommandExecutionError("Empty domain")
    try:
        value.encode("ascii")
    except UnicodeEncodeError:
        try:
            value = value.encode("idna").decode("ascii")
        except UnicodeError as exc:
            raise CommandExecutionError("%s is no domain name: %s" % (value, exc))
    for label in (value[:-1] if value.endswith(".") else value).split("."):
        if not label:
            raise CommandExecutionError("Empty Label")
        bad = re.search(r"[^A-Za-z0-9-]", label)
        if bad:
            raise CommandExecutionError(
                "Codepoint U+%04X at position %d of %r not allowed" % (ord(bad.group()), bad.end(), label)
            )
        if len(label) > 63:
            raise CommandExecutionError("Label too long")
        if label.startswith("-") or label.endswith("-"):
            raise CommandExecutionError("Label must not start or end with a hyphen")
    return lead + value


def shown(item):
    """Salt's text for the general name in an Item."""
    kind = item.tag & 0x1F
    if kind == 1:
        return "mail:" + item.text()
    if kind == 2:
        return "DNS:" + item.text()
    if kind == 4:
        return "dirName:" + names.read(item.inner()).text()
    if kind == 6:
        return "URI:" + item.text()
    if kind == 7:
        return "IP:" + _shown_address(item.body)
    if kind == 8:
        return "RID:" + item.oid()
    return "otherName:" + item.body.hex()


def _shown_address(octets):
    import ipaddress

    half = len(octets) // 2
    if len(octets) in (4, 16):
        return ipaddress.ip_address(octets).exploded
    if len(octets) not in (8, 32):
        raise ValueError("bad DER: an address of %d octets" % len(octets))
    address, mask = ipaddress.ip_address(octets[:half]), int.from_bytes(octets[half:], "big")
    return "%s/%d" % (address.exploded, bin(mask).count("1"))
