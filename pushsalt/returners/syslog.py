"""A line of JSON in the system log for each return. Salt: salt.returners.syslog_return.

::

    returner.syslog:
      level: LOG_INFO
      facility: LOG_USER
      tag: pushsalt
      options: [LOG_PID]
      address: /dev/log                 # or udp://log.internal:514, tcp://log.internal:601

The socket is written to by itself: what the process has opened by ``syslog(3)`` is left alone. A path gets the local
format, other hosts RFC 5424 (TCP: with counted octets). A line is ASCII: JSON escapes line breaks and all else.
"""

from __future__ import annotations

import datetime
import errno
import os
import socket
import syslog
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from pushsalt.returners import Outside, Trouble
from pushsalt.returners.tables import as_json

OPTIONS: Final = {"level": "LOG_INFO", "facility": "LOG_USER", "tag": "pushsalt", "options": [], "address": "/dev/log"}
SECRETS: Final = ()

#: maximum size of a datagram in bytes, that of UDP
_LONGEST: Final = 60_000
_LONGEST_TAG: Final = 32


def returner(ret: Mapping[str, Any], *, outside: Outside) -> None:
    options = outside.options
    priority = _number(options, "facility") | _number(options, "level")
    flags = [_checked(name, "options") for name in options["options"]]
    tag = _tag(options["tag"])
    address = options["address"]
    text = as_json(ret)
    for data in (text, as_json({**ret, "return": f"left out: {len(text)} bytes are too much for one line"})):
        if len(data) > _LONGEST and data is text and not address.startswith("tcp://"):
            continue
        try:
            _write(address, priority, tag, "LOG_PID" in flags, data, outside.limit)
            return
        except OSError as exc:
            if exc.errno == errno.EMSGSIZE and data is text:
                continue
            hint = "is the log's socket there, and `address` right?"
            raise Trouble(f"syslog: {address}: {exc.strerror or exc}", hint) from None


def _write(address: str, priority: int, tag: str, with_pid: bool, data: str, limit: float) -> None:
    """Send one message. Raises OSError and Trouble."""
    if address.startswith("/"):
        pid = f"[{os.getpid()}]" if with_pid else ""
        now = datetime.datetime.now()
        head = f"<{priority}>{_MONTHS[now.month - 1]} {now.day:2} {now:%H:%M:%S} {tag}{pid}: "
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as local:
            local.settimeout(limit)
            local.connect(address)
            local.send((head + data).encode())
        return
    scheme, host, port = _place(address)
    pid = str(os.getpid()) if with_pid else "-"
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    name = "".join(char for char in socket.gethostname() if "!" <= char <= "~")[:255] or "-"
    message = f"<{priority}>1 {stamp} {name} {tag} {pid} - - {data}".encode()
    if scheme == "tcp":
        with socket.create_connection((host, port), limit) as stream:
            stream.sendall(f"{len(message)} ".encode() + message)
        return
    family, kind, proto, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, proto) as datagram:
        datagram.settimeout(limit)
        datagram.connect(where)
        datagram.send(message)


_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _place(address: str) -> tuple[str, str, int]:
    try:
        parts = urllib.parse.urlsplit(address)
        port = parts.port or (601 if parts.scheme == "tcp" else 514)
        if parts.scheme in ("tcp", "udp") and parts.hostname:
            return parts.scheme, parts.hostname, port
    except ValueError:
        pass
    raise Trouble(f"syslog: {address!r} is no address", "write a path, udp://HOST:PORT or tcp://HOST:PORT")


def _number(options: Mapping[str, Any], name: str) -> int:
    number: int = getattr(syslog, _checked(options[name], name))
    return number


def _checked(name: str, option: str) -> str:
    if not (name.startswith("LOG_") and isinstance(getattr(syslog, name, None), int)):
        raise Trouble(f"syslog: there is no {name!r} for `{option}`", "see syslog(3), for example LOG_INFO, LOG_DAEMON")
    return name


def _tag(tag: str) -> str:
    if not tag or len(tag) > _LONGEST_TAG or not all("!" <= char <= "~" for char in tag):
        raise Trouble(f"syslog: the tag {tag!r} is not usable", f"up to {_LONGEST_TAG} letters, digits and signs")
    return tag
