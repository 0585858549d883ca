"""Routes, neighbours, and connections from the target to other machines. Salt: ``salt/modules/network.py``.

The functions of ``network`` for the target itself are in network.py.
"""

from thin.exceptions import CommandExecutionError, CommandNotFoundError

__virtualname__ = "network"
__reads__ = (
    "routes",
    "default_route",
    "get_route",
    "arp",
    "ip_neighs",
    "ipneighs",
    "ip_neighs6",
    "ipneighs6",
    "ping",
    "connect",
    "dns_check",
    "active_tcp",
    "dig",
)

_HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")


# Routes and neighbours


def routes(family=None):
    """
    Return the routes, as a list of ``{addr_family, destination, gateway, netmask, flags, interface}``

    ``family`` (inet, inet6): only routes of this family.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.routes inet
    """
    from thin import process
    from thin.utils.outputs import routes as text

    if family not in ("inet", "inet6", None):
        raise CommandExecutionError("Invalid address family %s" % family)
    if process.which("netstat"):
        rows = text.netstat(_out("netstat", "-A", "inet", "-rn"), _out("netstat", "-A", "inet6", "-rn"))
    else:
        four, six = ("ip", "-4", "route", "show", "table", "main"), ("ip", "-6", "route", "show", "table", "all")
        rows = text.iproute(_out(*four), _out(*six))
    return [route for route in rows if family in (None, route["addr_family"])]


def default_route(family=None):
    """
    Return the default routes

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.default_route inet
    """
    everywhere = ("0.0.0.0", "::/0", "default")  # noqa: S104
    return [route for route in routes(family) if route["destination"] in everywhere]


def get_route(ip):
    """
    Return the route of packets to an address: ``{destination, gateway, interface, source}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.get_route 198.51.100.7
    """
    words = (_out("ip", "route", "get", _host_argument(ip)).splitlines() or [""])[0].split()
    values = dict(zip(words, words[1:]))
    if "dev" not in values:
        raise CommandExecutionError("no route to %s: %s" % (ip, " ".join(words)))
    return {"destination": ip, "gateway": values.get("via"), "interface": values["dev"], "source": values.get("src")}


def arp():
    """
    Return ``{hardware address: IPv4 address}`` of the neighbours, by the program ``arp``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.arp
    """
    _need("arp")
    rows = [line.split() for line in _out("arp", "-an").splitlines()]
    return {row[3]: row[1].strip("()") for row in rows if len(row) > 3}


def ip_neighs():
    """
    Return ``{hardware address: IPv4 address}`` of the neighbours

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_neighs
    """
    return _neighbours(".")


ipneighs = ip_neighs


def ip_neighs6():
    """
    Return ``{hardware address: IPv6 address}`` of the neighbours

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ip_neighs6
    """
    return _neighbours(":")


ipneighs6 = ip_neighs6


# Connections


def ping(host, timeout=False, return_boolean=False):
    """
    Send four echo requests and return the output of ``ping``, or with ``return_boolean`` whether all were answered

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.ping web01.example.org timeout=2
    """
    command = ["ping"] + (["-W", str(timeout)] if timeout else []) + ["-c", "4", _host_argument(host)]
    if return_boolean:
        return __salt__["cmd.run_all"](command, python_shell=False)["retcode"] == 0
    return __salt__["cmd.run"](command, python_shell=False)


def connect(host, port=None, **kwargs):
    """
    Try to connect to a port; ``proto`` (tcp, udp), ``timeout`` (seconds; 5), ``family`` (ipv4, ipv6)

    Returns ``{result, comment}``. With udp, a reply to a packet is necessary.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.connect web01.example.org port=8443 timeout=2
    """
    import os
    import socket

    for name, value in (("host", host), ("port", port)):
        if not value:
            return {"result": False, "comment": "Required argument, %s, is missing." % name}
    proto = "udp" if kwargs.get("proto") == "udp" else "tcp"
    family = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}.get(kwargs.get("family"), 0)
    kind = socket.SOCK_DGRAM if proto == "udp" else socket.SOCK_STREAM
    try:
        address = socket.getaddrinfo(_host_argument(host), port, family, kind)[0]
    except (socket.gaierror, UnicodeError):
        return {"result": False, "comment": "Unable to resolve host %s on %s port %s" % (host, proto, port)}
    where = "%s (%s) on %s port %s" % (host, address[4][0], proto, port)
    channel = socket.socket(*address[:3])
    try:
        channel.settimeout(kwargs.get("timeout", 5))
        channel.connect(address[4])
        if proto == "udp":
            channel.send(os.urandom(16))
            channel.recv(255)
    except (OSError, ValueError, TypeError):
        return {"result": False, "comment": "Unable to connect to %s" % where}
    finally:
        channel.close()
    return {"result": True, "comment": "Successfully connected to %s" % where}


def dns_check(addr, port, safe=False, ipv6=None):
    """
    Return the address of a name, IPv6 in brackets: the first with a reachable port, otherwise the first

    The Jinja filter of that name uses this. ``ipv6``: True prefers IPv6, False allows only IPv4.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.dns_check web01.example.org 443
    """
    import socket

    families = [socket.AF_INET6, socket.AF_INET] if ipv6 else [socket.AF_UNSPEC if ipv6 is None else socket.AF_INET]
    result = []
    for family in families:
        try:
            result = socket.getaddrinfo(_host_argument(addr), port, family, socket.SOCK_STREAM)
            break
        except (OSError, UnicodeError):
            continue
    if not result:
        raise CommandExecutionError("DNS lookup or connection check of '%s' failed." % addr)
    address = result[0][4][0]
    for family, kind, proto, _, where in result:
        channel = socket.socket(family, kind, proto)
        try:
            channel.settimeout(2)
            channel.connect(where)
        except OSError:
            continue
        finally:
            channel.close()
        address = where[0]
        break
    return "[%s]" % address if ":" in address else address


def active_tcp():
    """
    Return the open TCP connections, numbered: ``{local_addr, local_port, remote_addr, remote_port}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.active_tcp
    """
    from thin.utils.files import textfile

    rows = [line.split() for path in ("/proc/net/tcp", "/proc/net/tcp6") for line in textfile.lines(path)[1:]]
    result = {}
    for row in [row for row in rows if int(row[3], 16) == 1]:
        (local, local_port), (remote, remote_port) = [_endpoint(row[column]) for column in (1, 2)]
        result[len(result)] = {
            "local_addr": local,
            "local_port": local_port,
            "remote_addr": remote,
            "remote_port": remote_port,
        }
    return result


def dig(host):
    """
    Return the output of the program ``dig`` for a name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.dig web01.example.org
    """
    _need("dig")
    return _out("dig", _host_argument(host))


# Private functions


def _neighbours(mark):
    rows = [line.split() for line in _out("ip", "neigh", "show").splitlines()]
    return {row[4]: row[0] for row in rows if len(row) > 4 and mark in row[0]}


def _endpoint(text):
    """(address, port) of a column of /proc/net/tcp: hexadecimal words in the byte order of the machine."""
    import struct
    from ipaddress import ip_address

    digits, _, port = text.partition(":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    address = ip_address(struct.pack("=%dI" % len(words), *words))
    return str(getattr(address, "ipv4_mapped", None) or address), int(port, 16)


def _host_argument(host):
    """Return an address unchanged; of a name, only characters that are allowed in names, and never an option."""
    from ipaddress import ip_address

    try:
        return str(ip_address(host))
    except ValueError:
        return "".join(char for char in str(host)[:255] if char in _HOST_CHARACTERS).lstrip("-")


def _need(program):
    from thin import process

    if not process.which(program):
        raise CommandNotFoundError("The '%s' binary was not found in $PATH." % program)


def _out(*command):
    return __salt__["cmd.run"](list(command), python_shell=False)
