"""Sockets, routes to hosts, DNS answers, wake-on-LAN and buffers. Salt: modules/network.py

The functions of ``network`` that call other programs; the rest is in network.py.
"""

import re

from thin.exceptions import CommandExecutionError, CommandNotFoundError, SaltInvocationError

__virtualname__ = "network"
__reads__ = ("netstat", "traceroute", "nslookup", "get_bufsize")
__changes__ = ("wol", "mod_bufsize")

_HOST = re.compile(r"[A-Za-z0-9._:%-]+\Z")
_STATES = {"ESTAB": "ESTABLISHED"}


def __virtual__():
    if __grains__.get("kernel") == "Windows":
        return False, "The network execution module cannot be loaded on Windows: use win_network instead."
    return __virtualname__


def netstat():
    """
    Return the open sockets: ``[{"proto", "local-address", "remote-address", "state", "user", "program", …}]``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.netstat
    """
    kernel = __grains__.get("kernel")
    if kernel == "Linux":
        if __salt__["cmd.which"]("netstat"):
            return _rows_of_netstat(_run("netstat", "-tulpnea"))
        if not __salt__["cmd.which"]("ss"):
            raise CommandNotFoundError("Neither netstat nor ss is there")
        return _rows_of_ss(_run("ss", "-tulpnea"))
    if kernel in ("FreeBSD", "DragonFly", "OpenBSD", "NetBSD"):
        rows = _rows_of_bsd(_run("netstat", "-p", "tcp", "-an")) + _rows_of_bsd(_run("netstat", "-p", "udp", "-an"))
        return _with_owners(rows, _run("sockstat", "-46")) if kernel == "FreeBSD" else rows
    raise CommandExecutionError("Not yet supported on this platform")


def traceroute(host):
    """
    Return the route to another host: ``[{"count", "hostname", "ip", "ms1", "ms2", "ms3"}]``

    host
        its name or address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.traceroute web01.example.org
    """
    _need("traceroute")
    output = __salt__["cmd.run"](
        ["traceroute", _host(host)], python_shell=False, ignore_retcode=True, timeout=120, env={"LC_ALL": "C"}
    )
    if "Timed out after" in output:
        return []
    return [_hop(line) for line in output.splitlines() if " " in line and not line.startswith("traceroute")]


def nslookup(host):
    """
    Return the output of nslookup: ``[{"Server": address}, {"Name": name}, {"Address": address}]``

    host
        its name or address

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.nslookup web01.example.org
    """
    _need("nslookup")
    rows = [line.partition(":") for line in _run("nslookup", _host(host)).splitlines() if ":" in line]
    return [{row[0].strip(): row[2].strip()} for row in rows if not row[0].startswith("Non-authoritative")]


def wol(mac, bcast="255.255.255.255", destport=9):
    """
    Wake a machine: send the magic packet; returns True

    mac
        its hardware address
    bcast
        where to send the packet
    destport
        the port

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.wol 52:54:00:1c:9a:03
    """
    import socket

    digits = str(mac).replace(str(mac)[2:3], "") if len(str(mac)) == 17 else str(mac)
    if not re.match(r"[0-9a-fA-F]{12}\Z", digits):
        raise ValueError("Invalid MAC address")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(b"\xff" * 6 + bytes.fromhex(digits) * 16, (bcast, int(destport)))
    finally:
        sock.close()
    return True


def get_bufsize(iface):
    """
    Return the current and maximum sizes of an interface's buffers: ``{"rx", "rx-max", "tx", …, "result"}``

    iface
        the interface

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.get_bufsize ens3
    """
    if __grains__.get("kernel") != "Linux" or not __salt__["cmd.which"]("ethtool"):
        return {}
    output = _run("ethtool", "-g", str(iface))
    sizes, suffix = {"result": False}, "-max"
    for line in output.splitlines():
        row = re.match(r"(.+):\s+(\d+)$", line)
        if row:
            sizes[row.group(1).lower().replace(" ", "-") + suffix] = int(row.group(2))
            sizes["result"] = True
        elif line.endswith(("maximums:", "settings:")):
            suffix = "-max" if line.endswith("maximums:") else ""
    if not sizes["result"]:
        sizes["comment"] = output
    return sizes


def mod_bufsize(iface, *args, **kwargs):
    """
    Set how many packets an interface keeps: ``{"result", "comment"}``

    iface
        the interface
    rx
        received packets
    rx-mini
        small ones
    rx-jumbo
        large ones
    tx
        packets to send

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' network.mod_bufsize eth0 tx=1024
    """
    if __grains__.get("kernel") != "Linux" or not __salt__["cmd.which"]("ethtool"):
        return False
    if args:
        return {"result": False, "comment": "Unknown arguments: " + " ".join(str(item) for item in args)}
    words = []
    for name in ("rx", "tx", "rx-mini", "rx-jumbo"):
        words += [name, str(kwargs[name])] if kwargs.get(name) is not None else []
    if not words:
        return {"result": False, "comment": "Requires rx=<val> tx==<val> rx-mini=<val> and/or rx-jumbo=<val>"}
    output = _run("ethtool", "-G", str(iface), *words)
    return {"result": not output, "comment": output or " ".join(words)}


# Private functions


def _run(*command):
    return __salt__["cmd.run"](list(command), python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})


def _need(program):
    if not __salt__["cmd.which"](program):
        raise CommandNotFoundError("'%s' is not there" % program)


def _host(host):
    if not _HOST.match(str(host)) or str(host).startswith("-"):
        raise SaltInvocationError("%r is no name or address of a host" % host)
    return str(host)


def _rows_of_netstat(text):
    result = []
    for line in text.splitlines():
        names = ("proto", "recv-q", "send-q", "local-address", "remote-address", "state", "user", "inode", "program")
        if line.startswith("udp"):
            names = names[:5] + names[6:]
        if line.startswith(("tcp", "udp")):
            result.append(dict(zip(names, line.split())))
    return result


def _rows_of_ss(text):
    """Rows in netstat's format; owner and inode are 0, the program "", if ss does not report them."""
    rows_of_ss = []
    for line in text.splitlines():
        words = line.split()
        if not line.startswith(("tcp", "udp")):
            continue
        more = dict(word.split(":", 1) for word in words[6:] if ":" in word)
        program = re.search(r'"([^"]*)"', more.get("users", ""))
        row = {
            "proto": words[0],
            "recv-q": words[2],
            "send-q": words[3],
            "local-address": words[4],
            "remote-address": words[5],
            "user": more.get("uid", 0),
            "inode": more.get("ino", 0),
            "program": program.group(1) if program else "",
        }
        if line.startswith("tcp"):
            row["state"] = _STATES.get(words[1], words[1])
        rows_of_ss.append(row)
    return rows_of_ss


def _rows_of_bsd(text):
    names = ("proto", "recv-q", "send-q", "local-address", "remote-address", "state")
    return [dict(zip(names, line.split())) for line in text.splitlines() if line.startswith(("tcp", "udp"))]


def _with_owners(rows, sockstat):
    """Rows of netstat with ``user`` and ``program`` (``PID/NAME``) from sockstat's rows of the same addresses."""
    owners = {}
    for line in sockstat.splitlines()[1:]:
        words = line.split()
        if len(words) >= 7:
            user, command, pid, _, proto, local, remote = words[:7]
            ends = [".".join(end.rsplit(":", 1)) for end in (local, remote)]
            owners.setdefault((proto, ends[0], ends[1]), (user, "%s/%s" % (pid, command)))
    for row in rows:
        owner = owners.get((row["proto"], row["local-address"], row["remote-address"]))
        if owner:
            row["user"], row["program"] = owner
    return rows


def _hop(line):
    """One line of traceroute on Linux or BSD; {} for other lines."""
    count = re.match(r"\s*(\d+)\s", line)
    if not count:
        return {}
    if re.match(r"\s*\d+\s+\*\s+\*\s+\*", line):
        return {"count": int(count.group(1)), "hostname": "*"}
    address = re.match(r"\s*\d+\s+(?:\*\s+)*(\S+)\s+\(([^)]*)\)", line)
    delays = re.findall(r"(\d+(?:\.\d+)?)\s*ms", line)
    if not address or not delays:
        return {}
    result = {"count": int(count.group(1)), "hostname": address.group(1), "ip": address.group(2)}
    result.update(("ms%d" % number, float(delay)) for number, delay in enumerate(delays, 1))
    return result
