"""Questions to the DNS, by the program ``dig``. Salt: ``salt/modules/dig.py``.

If ``dig`` fails, the result is an empty list. ``nameserver`` is the server to query; by default the system's resolver
is used.
"""

import re

from thin import process
from thin.log import getLogger

__reads__ = (
    "check_ip",
    "A",
    "AAAA",
    "PTR",
    "CNAME",
    "NS",
    "SPF",
    "MX",
    "TXT",
    "a",
    "aaaa",
    "cname",
    "mx",
    "ns",
    "ptr",
    "spf",
)

log = getLogger(__name__)


def __virtual__():
    if process.which("dig"):
        return True
    return False, "The dig execution module cannot be loaded: the dig binary is not in the path."


def check_ip(addr):
    """
    Whether a text is an IP address, or one with a prefix length

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.check_ip 192.0.2.53
    """
    from ipaddress import ip_address

    if not isinstance(addr, str):
        return False
    address, slash, prefix = addr.rpartition("/") if "/" in addr else (addr, "", "")
    try:
        version = ip_address(address).version
    except ValueError:
        return False
    if not slash:
        return True
    smallest, largest = (1, 32) if version == 4 else (8, 128)
    return prefix.isdigit() and smallest <= int(prefix) <= largest


def A(host, nameserver=None):
    """
    Return the IPv4 addresses of a name

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.A www.example.org
    """
    return [line for line in _lines(["-q", str(host), "-t", "A"], nameserver) if check_ip(line)]


def AAAA(host, nameserver=None):
    """
    Return the IPv6 addresses of a name

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.AAAA www.example.org
    """
    return [line for line in _lines(["-q", str(host), "-t", "AAAA"], nameserver) if check_ip(line)]


def PTR(host, nameserver=None):
    """
    Return the names of an address

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.PTR 192.0.2.4
    """
    return _lines(["-x", str(host)], nameserver)


def CNAME(host, nameserver=None):
    """
    Return the canonical name of a name, as text

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.CNAME mail.example.org
    """
    answer = _answer(["-q", str(host), "-t", "CNAME"], nameserver)
    return [] if answer is None else answer


def NS(domain, resolve=True, nameserver=None):
    """
    Return the IPv4 addresses of a domain's name servers; with ``resolve=False`` their names

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.NS example.org
    """
    names = _lines(["-q", str(domain), "-t", "NS"], nameserver)
    return [address for name in names for address in A(name, nameserver)] if resolve else names


def SPF(domain, record="SPF", nameserver=None):
    """
    Return the networks that may send mail for a domain, those of included domains too

    If there is no SPF record, the TXT record is used.

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.SPF example.org
    """
    return _spf(domain, record, nameserver, set())


def MX(domain, resolve=False, nameserver=None):
    """
    Return ``[[preference, name], ...]`` of a domain's mail servers; with ``resolve`` one IPv4 address for each name

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.MX example.org
    """
    answer = _answer(["-q", str(domain), "-t", "MX"], nameserver)
    if answer is None:
        return []
    pairs = [line.split() for line in answer.split("\n")]
    return [[pair[0], A(pair[1], nameserver)[0]] for pair in pairs] if resolve else pairs


def TXT(host, nameserver=None):
    """
    Return the text records of a name

    CLI Example:

    .. code-block:: bash

        pushsalt run ns1 dig.TXT example.org
    """
    return _lines(["-q", str(host), "-t", "TXT"], nameserver)


a = A
aaaa = AAAA
cname = CNAME
mx = MX
ns = NS
ptr = PTR
spf = SPF


def _spf(domain, record, nameserver, seen):
    if domain in seen:  # domains that include each other
        return []
    answer = _answer(["-q", str(domain), "-t", str(record)], nameserver)
    if not answer:
        return _spf(domain, "TXT", nameserver, seen) if answer == "" and record == "SPF" else []
    seen.add(domain)
    words = answer.replace('"', "").split()
    if len(words) < 2 or words[0] != "v=spf1":
        return []
    if words[1].startswith("redirect="):
        return _spf(words[1][len("redirect=") :], "SPF", nameserver, seen)
    result = []
    for word in words[1:]:
        match = re.match(r"[+~]?(ip[46]|include):(.+)", word)
        if match and match.group(1) == "include":
            result += _spf(match.group(2), "SPF", nameserver, seen)
        elif match and check_ip(match.group(2)):
            result.append(match.group(2))
    return result


def _lines(question, nameserver):
    answer = _answer(question, nameserver)
    return [] if answer is None else answer.split("\n")


def _answer(question, nameserver):
    """The output of dig; None if it fails."""
    command = ["dig", "+short"] + question + ([] if nameserver is None else ["@%s" % nameserver])
    done = __salt__["cmd.run_all"](command, python_shell=False)
    if done["retcode"] != 0:
        log.warning("dig exits with %s; no answer is returned", done["retcode"])
        return None
    return done["stdout"]
