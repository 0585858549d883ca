"""The identity of an SSH connection: a digest of all that it depends on. Equal logins may use the same connection.

``Identities`` remembers digests with the attributes of the files that they depend on, so that the next command with the
same login only looks at these attributes.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from pushsalt.model import Target
from pushsalt.regular import attributes
from pushsalt.transport import ConnectOptions
from pushsalt.transport.hostkeys import HostRecord
from pushsalt.transport.ssh import Login, hop
from pushsalt.transport.sshconfig import WORDS, SshSettings, hops, possible_files
from pushsalt.transport.sshconnection import Shared
from pushsalt.transport.sshkeys import DEFAULT_KEYS

#: Number of digests that are remembered.
_MANY: Final = 10_000


class Identities:
    """Digests of logins that were made before, with the file attributes that they depend on."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[str, dict[str, str], str]] = OrderedDict()

    def of(self, target: Target, options: ConnectOptions, key: bytes) -> tuple[str, bool]:
        """The same as ``identity``. ``key``: a digest of ``target`` and ``options``, jump hosts included."""
        known = self._known.get(key)
        if known is not None:
            name, stamps, digest = known
            if name == socket.gethostname() and all(attributes(path) == value for path, value in stamps.items()):
                self._known.move_to_end(key)
                return digest, False
            del self._known[key]
        name, stamps = socket.gethostname(), {}
        digest, varies, is_whole = _identity(target, options, stamps)
        if is_whole and not varies:
            self._known[key] = name, stamps, digest
            if len(self._known) > _MANY:
                self._known.popitem(last=False)
        return digest, varies


def identity(target: Target, options: ConnectOptions) -> tuple[str, bool]:
    """(digest of a login, from the current configuration, ssh_config, known_hosts and key files; see below).

    The second value is whether the login also depends on environment variables or programs, which the digest does not
    contain. Raises TargetError for settings that are refused.
    """
    return _identity(target, options, {})[:2]


def _identity(target: Target, options: ConnectOptions, stamps: dict[str, str]) -> tuple[str, bool, bool]:
    """The identity, and whether ``stamps`` got the attributes of all files that it depends on."""
    digest = hashlib.sha256()
    varies, is_whole = False, True
    for path in possible_files() if options.ssh_config is None else options.ssh_config:
        stamps[str(path)] = attributes(path)  # before they are read
    for each, login in _way(target, options):
        varies = varies or login.settings.varies or bool(login.settings.proxy)
        is_whole = is_whole and login.settings.included is not None
        stamps.update(login.settings.included or {})
        stamps.update(login.hosts.stamps)
        for text in (*_settings(login.settings), *_host_keys(login.record), *_login_settings(each)):
            digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
        for path in _keys(each, login.settings):
            stamps[str(path)] = value = attributes(path)
            digest.update(f"{path} {value}".encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest(), varies, is_whole


def _way(target: Target, options: ConnectOptions) -> Iterator[tuple[Target, Login]]:
    """Yield the target and its jump hosts, each with its login settings."""
    login = Login(target, options, options.shared.setdefault("ssh", Shared()))
    yield target, login
    chain = target.jump or hops(target, str(login.settings.get("ProxyJump") or ""))
    if chain:
        yield from _way(hop(chain, options), options)


def _settings(settings: SshSettings) -> Iterator[str]:
    yield repr((settings.host, settings.port, settings.user, settings.proxy, settings.own_known_hosts))
    for word in WORDS:
        value = settings.get(word)
        if value is not None:
            yield f"{word} {value!r}"


def _host_keys(record: HostRecord) -> Iterator[str]:
    """The host keys that would be accepted now, and those that would be refused."""
    for name in ("trusted", "authorities", "revoked"):
        for key, _ in getattr(record, name):
            yield f"{name} {key.public_data.hex()}"
    for key in record.elsewhere:
        yield f"elsewhere {key.public_data.hex()}"
    yield f"unreadable {record.unreadable!r}"


def _keys(target: Target, settings: SshSettings) -> Iterator[Path]:
    """The files of private keys and certificates, and the agent's socket: their attributes show a change."""
    given = [Path(path).expanduser() for path in target.priv]
    names = (
        given or settings.files("IdentityFile", ()) or [Path(f"~/.ssh/{name}").expanduser() for name in DEFAULT_KEYS]
    )
    for path in names:
        yield path
        yield Path(f"{path}-cert.pub")
    agent = str(settings.get("IdentityAgent") or os.environ.get("SSH_AUTH_SOCK") or "none")
    if target.agent and agent != "none":
        yield Path(os.path.expandvars(agent)).expanduser()


def _login_settings(target: Target) -> Iterator[str]:
    """The inventory's settings of the login itself."""
    plain = replace(target, minion_opts={}, grains={}, pillar={}, groups=(), origin={}, sudo_password=None)
    yield repr(plain)
    yield from (str(each) for each in (target.passwd, target.priv_passwd) if each is not None)
