"""The errors of logins: one kind per cause, with a hint."""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
from dataclasses import dataclass, field

from pushsalt.errors import TargetError
from pushsalt.transport.hostkeys import DEFAULT_PORT, HostRecord, fingerprint
from pushsalt.transport.ssh_library import asyncssh

log = logging.getLogger(__name__)

#: Texts with which an overloaded server refuses a connection.
BUSY = re.compile("Not allowed at this time|MaxStartups|[Tt]oo many connections")


def printable(text: str) -> str:
    """A server's text on one line, without control characters."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()[:300]


def message_of(exc: BaseException) -> str:
    """The text of an exception, or its name if it has no text."""
    return printable(str(exc)) or type(exc).__name__


@dataclass
class Trouble:
    """The information about one login from which its error is made; it is added during the login.

    ``name`` and ``port``: looked up in known_hosts; ``tried``: the offered keys; ``drops``: how many times the server
    closed the connection before the login; ``connected`` and ``secured``: the progress of the last attempt;
    ``certificates``: the reasons why the user's certificates are not valid.
    """

    id: str
    host: str
    name: str
    port: int
    user: str
    password: bool
    tried: list[str] = field(default_factory=list)
    drops: int = 0
    connected: bool = False
    secured: bool = False
    certificates: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"{self.host} port {self.port}"

    def _error(self, kind: str, message: str, hint: str) -> TargetError:
        return TargetError(kind, f"{self.id}: {message}", hint)

    def too_late(self, bound: float) -> TargetError:
        """The error of an exceeded time limit, by the progress so far."""
        if self.drops:
            stage = f"the server closed each of {self.drops} connections before the login"
            hint = "raise MaxStartups in its sshd_config, or lower --concurrency"
        elif not self.connected:
            stage, hint = "no answer to the TCP connection", "is the machine up, and does a firewall drop the packets?"
        elif not self.secured:
            stage, hint = "connected, but the key exchange did not end", "is that port an SSH server?"
        else:
            stage, hint = "the login did not end", "the server may be slow (DNS, PAM): give the host a longer `timeout`"
        return self._error("connect_timeout", f"{self.where}: {stage} within {bound:g} s", hint)

    def no_ssh(self, answer: str) -> TargetError:
        """The error of a port on which something other than an SSH server answers."""
        return self._error(
            "ssh_protocol", f"{self.where} is no SSH server: it says {printable(answer)[:80]!r}", "correct `port`"
        )

    def explain(self, exc: Exception) -> TargetError:
        """The error for an exception of asyncssh or the network."""
        text = message_of(exc)
        if isinstance(exc, asyncssh.ChannelOpenError):
            return self._beyond_jump(exc)
        if isinstance(exc, asyncssh.PermissionDenied) or "Too many authentication failures" in text:
            return self._denied(text)
        if isinstance(exc, asyncssh.DisconnectError):
            if self.secured:
                return self._denied(text)
            hint = "is that port an SSH server? A very old one may have no algorithm in common with us"
            return self._error("ssh_protocol", f"{self.where}: {text}", hint)
        if isinstance(exc, socket.gaierror):
            return self._error("dns_failure", f"{self.host} does not resolve: {text}", "correct `host`, or DNS")
        if isinstance(exc, OSError):
            return self._network(exc)
        log.debug("%s: unexpected error while connecting", self.id, exc_info=exc)
        message = f"{self.where}: {type(exc).__name__}: {text}"
        return self._error("internal", message, "run again with -l debug and report what it prints")

    def host_key(self, exc: asyncssh.HostKeyNotVerifiable, record: HostRecord) -> TargetError:
        """The error of a host key or certificate that was not accepted."""
        if "revoked" in str(exc):
            places = ", ".join(where for _, where in record.revoked)
            message = f"the host key of {self.name} is marked as revoked ({places})"
            return self._error("host_key_revoked", message, "give the machine a new one; do not log in with this one")
        message = f"the host key of {self.name} cannot be trusted: {message_of(exc)}"
        hint = "check the machine's host certificate and the @cert-authority lines of known_hosts"
        return self._error("host_key_unknown", message, hint)

    def changed(self, key: asyncssh.SSHKey, record: HostRecord) -> TargetError:
        """The error of a host key that differs from the known one."""
        places = ", ".join(where for _, where in record.trusted)
        name = self.name if self.port == DEFAULT_PORT else f"[{self.name}]:{self.port}"
        message = f"the host key of {name} has changed: it is {fingerprint(key)} (known: {places})"
        hint = f"this may be an attack; if it was changed on purpose: ssh-keygen -R '{name}', then accept it"
        return self._error("host_key_changed", message, hint)

    def ambiguous(self, key: asyncssh.SSHKey, record: HostRecord) -> TargetError:
        """The error of an unknown host key that cannot be accepted as new, because of other lines for the host."""
        message = f"the host key of {self.name} port {self.port} is not known: {fingerprint(key)}; "
        if record.unreadable:
            message += f"its key in known_hosts cannot be read: {', '.join(record.unreadable)}"
            hint = "correct or remove that line: until then no key is taken for a new one"
        else:
            places = ", ".join(where for _, where in record.authorities)
            message += f"known_hosts wants one that a CA has signed: {places}"
            hint = "give the machine a host certificate of that CA, or narrow the names of the @cert-authority line"
        return self._error("host_key_unknown", message, hint)

    def unknown(self, key: asyncssh.SSHKey, unchecked: str = "") -> TargetError:
        """The error of an unknown host. ``unchecked``: the option of ssh_config that would accept its key."""
        message = f"the host key of {self.name} port {self.port} is not known: {fingerprint(key)}"
        if unchecked:
            message += f"; {unchecked} is ignored"
        hint = "compare the fingerprint with the machine's own, then give --accept-new-host-keys once"
        return self._error("host_key_unknown", message, hint)

    def _denied(self, text: str) -> TargetError:
        tried = [f"keys ({', '.join(self.tried)})"] if self.tried else []
        tried += ["the password"] if self.password else []
        message = f"{self.host} does not let {self.user} in with {' or '.join(tried) or 'no credential'}"
        if "Permission denied" not in text:
            message += f": {text}"
        if self.certificates:
            message += f"; {'; '.join(dict.fromkeys(self.certificates))}"
        hint = "set `user`, `priv` or `passwd`, or add a key to the SSH agent; see what `ssh` says to the same host"
        return self._error("auth_failed", message, hint)

    def _network(self, exc: OSError) -> TargetError:
        # If several addresses fail, there is one error, whose text has the error numbers.
        numbers = {exc.errno} if exc.errno else {int(number) for number in re.findall(r"Errno (\d+)", str(exc))}
        text = os.strerror(min(numbers)) if numbers else message_of(exc)
        kind, hint = "unreachable", "is the machine up, and is there a route to it?"
        if errno.ECONNREFUSED in numbers:
            kind, hint = "connection_refused", "is sshd running there, and is `port` right?"
        elif errno.ETIMEDOUT in numbers:
            kind, hint = "connect_timeout", "is the machine up, and does a firewall drop the packets?"
        return self._error(kind, f"{self.where}: {text}", hint)

    def _beyond_jump(self, exc: asyncssh.ChannelOpenError) -> TargetError:
        """The error of a jump host that could not connect to the target; only its message is known."""
        text = printable(exc.reason)
        for kind, pattern, hint in _BEYOND_JUMP:
            if re.search(pattern, text):
                return self._error(kind, f"{self.where}, from the jump host: {text}", hint)
        hint = "allow TCP forwarding there (AllowTcpForwarding, PermitOpen)"
        return self._error("jump_failed", f"the jump host refuses to connect to {self.where}: {text}", hint)


_BEYOND_JUMP = (
    ("connection_refused", "refused", "is sshd running there, and is `port` right?"),
    ("dns_failure", "not known|resolve|Temporary failure", "it is the jump host that resolves `host`: correct it"),
    ("connect_timeout", "timed out|[Tt]imeout", "is the machine up, and may the jump host reach it?"),
    ("unreachable", "[Nn]o route|unreachable", "is the machine up, and may the jump host reach it?"),
)
