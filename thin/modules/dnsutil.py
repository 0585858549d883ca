"""Hosts files, zone files, and DNS queries by the program dig if it is installed. Salt: ``salt/modules/dnsutil.py``."""

from thin import process
from thin.utils.files import textfile

__reads__ = ("parse_hosts", "parse_zone", "check_ip", "A", "AAAA", "NS", "SPF", "MX")
__reads_unless__ = {"serial": {"update": ()}}
__changes__ = ("hosts_append", "hosts_remove")

_NO_DIG = "This function requires dig, which is not currently available"


def parse_hosts(hostsfile="/etc/hosts", hosts=None):
    """
    Return ``{address: [names]}`` of a hosts file, or of its text (``hosts``)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' dnsutil.parse_hosts
    """
    text = hosts or textfile.read(hostsfile)
    if text is None:
        return "Error: hosts data was not found"
    by_address = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            by_address.setdefault(words[0], []).extend(words[1:])
    return by_address


def hosts_append(hostsfile="/etc/hosts", ip_addr=None, entries=None):
    """
    Add a line with an address and those names (with commas) that it lacks to a hosts file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' dnsutil.hosts_append /srv/chroot/app/etc/hosts 192.0.2.10 web01.example.org,web01
    """
    present = parse_hosts(hostsfile)
    present = present.get(ip_addr, []) if isinstance(present, dict) else []
    names = [name for name in entries.split(",") if name not in present]
    if not names:
        return "No additional hosts were added to %s" % hostsfile
    line = "\n%s %s" % (ip_addr, " ".join(names))
    textfile.write(hostsfile, (textfile.read(hostsfile) or "") + line)
    return "The following line was added to %s:%s" % (hostsfile, line)


def hosts_remove(hostsfile="/etc/hosts", entries=None):
    """
    Remove names (with commas) from a hosts file; lines without a name left are removed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' dnsutil.hosts_remove /srv/chroot/app/etc/hosts web01
    """
    unwanted, kept = entries.split(","), []
    for line in (textfile.read(hostsfile) or "").splitlines():
        words = line.split()
        if words and not words[0].startswith("#"):
            words = words[:1] + [word for word in words[1:] if word not in unwanted]
            if len(words) < 2:
                continue
            line = " ".join(words)
        kept.append(line + "\n")
    textfile.write(hostsfile, "".join(kept))


def parse_zone(zonefile=None, zone=None):
    """
    Return the data of a zone file, or of its text (``zone``): ORIGIN, SERIAL, REFRESH ..., and records by type and name

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.parse_zone /etc/bind/db.example.org
    """
    text = textfile.read(zonefile) if zonefile else None
    text = zone if text is None else text
    if not text:
        return "Error: Zone data was not found"
    result, pending = {}, None
    for line in text.splitlines():
        line = line.partition(";")[0].strip()
        if not line:
            continue
        if line.startswith("$"):
            words = line.split()
            result[words[0][1:]] = words[1] if len(words) > 1 else ""
            continue
        if pending is not None or ("(" in line and ")" not in line):
            pending = "%s %s" % (pending or "", line)
            if ")" not in line:
                continue
            line, pending = pending, None
        _record(result, line.replace("(", " ").replace(")", " "))
    return result


def check_ip(ip_addr):
    """
    Whether a text is an IP address

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.check_ip 192.0.2.53
    """
    return _dig("check_ip", ip_addr)


def A(host, nameserver=None):
    """
    Return the IPv4 addresses of a name, a list

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.A www.example.org
    """
    return _dig("A", host, nameserver) if nameserver or process.which("dig") else _resolved(host, "AF_INET")


def AAAA(host, nameserver=None):
    """
    Return the IPv6 addresses of a name, a list

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.AAAA www.example.org
    """
    return _dig("AAAA", host, nameserver) if nameserver or process.which("dig") else _resolved(host, "AF_INET6")


def NS(domain, resolve=True, nameserver=None):
    """
    Return the IPv4 addresses of a domain's name servers; with ``resolve=False`` their names

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.NS example.org
    """
    return _dig("NS", domain, resolve, nameserver)


def SPF(domain, record="SPF", nameserver=None):
    """
    Return the networks that may send mail for a domain

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.SPF example.org
    """
    return _dig("SPF", domain, record, nameserver)


def MX(domain, resolve=False, nameserver=None):
    """
    Return ``[[preference, name]]`` of a domain's mail servers; with ``resolve`` an address for each name

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.MX example.org
    """
    return _dig("MX", domain, resolve, nameserver)


def serial(zone="", update=False):
    """
    Return a zone's serial number: the current date with a counter, which is stored as the grain ``dnsserial_ZONE``

    update
        Increase it, and store the new one.

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dnsutil.serial example.org update=True
    """
    import time

    key = "dnsserial" + ("_" + zone if zone else "")
    stored = str(__salt__["grains.get"](key=key) or "")
    today = time.strftime("%Y%m%d01")
    if not update:
        return stored or today
    current = str(int(stored) + 1) if stored and stored >= today else today
    __salt__["grains.setval"](key=key, val=current)
    return current


def _dig(function, *args):
    return __salt__["dig." + function](*args) if process.which("dig") else _NO_DIG


def _resolved(host, family):
    import socket

    try:
        answers = socket.getaddrinfo(host, None, getattr(socket, family), 0, socket.SOCK_RAW)
    except (OSError, UnicodeError):
        return "Unable to resolve %s" % host
    return [entry[4][0] for entry in answers]


def _record(records, line):
    """Add one record to the result."""
    words = line.replace("@", records["ORIGIN"]).split() if "ORIGIN" in records else line.split()
    if "SOA" in words:
        if words[1] != "IN":
            words.pop(1)
        keys = ("ORIGIN", "NETWORK", None, "SOURCE", "CONTACT", "SERIAL")
        records.update({key: word for key, word in zip(keys, words) if key})
        records["CONTACT"] = records["CONTACT"].replace(".", "@", 1)
        records.update({key: _seconds(word) for key, word in zip(("REFRESH", "RETRY", "EXPIRE", "MINTTL"), words[6:])})
        return
    if words[0] == "IN":
        words.insert(0, records["ORIGIN"])
    if not words[0].endswith(".") and "NS" not in line:
        words[0] = "%s.%s" % (words[0], records["ORIGIN"])
    if len(words) < 4:
        return
    if words[2] == "NS":
        records.setdefault("NS", []).append(words[3])
    elif words[2] == "MX":
        if "MX" not in records and len(words) > 4:
            records["MX"] = [{"priority": words[3], "host": words[4]}]
    elif words[3] in ("A", "AAAA") and len(words) > 4:
        records.setdefault(words[3], {})[words[0]] = {"TARGET": words[4], "TTL": words[1]}
    else:
        records.setdefault(words[2], {})[words[0]] = words[3]


def _seconds(text):
    """A time of a zone file in seconds, a week at most."""
    week, text = 604800, text.upper()
    for letter, size in (("H", 3600), ("D", 86400), ("M", 60)):
        if text.endswith(letter) and text[:-1].isdigit():
            return min(int(text[:-1]) * size, week)
    return min(int(text), week) if text.isdigit() else week
