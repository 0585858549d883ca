"""The identity of an SSH connection: a digest of all that it depends on. Equal logins may use the same connection."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pushsalt.model import Target
from pushsalt.transport import ConnectOptions
from pushsalt.transport.hostkeys import HostRecord
from pushsalt.transport.ssh import Login, hop
from pushsalt.transport.sshconfig import WORDS, SshSettings, hops
from pushsalt.transport.sshconnection import Shared
from pushsalt.transport.sshkeys import DEFAULT_KEYS


def identity(target: Target, options: ConnectOptions) -> tuple[str, bool]:
    """(digest of a login, from the current configuration, ssh_config, known_hosts and key files; see below).

    The second value is whether the login also depends on environment variables or programs, which the digest does not
    contain. Raises TargetError for settings that are refused.
    """
    digest = hashlib.sha256()
    varies = False
    for each, login in _way(target, options):
        varies = varies or login.settings.varies or bool(login.settings.proxy)
        for text in (
            *_settings(login.settings),
            *_host_keys(login.record),
            *_keys(each, login.settings),
            *_login_settings(each),
        ):
            digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest(), varies


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


def _keys(target: Target, settings: SshSettings) -> Iterator[str]:
    """Private keys and certificates, each with the file attributes that show a change, and the agent's socket."""
    given = [Path(path).expanduser() for path in target.priv]
    names = (
        given or settings.files("IdentityFile", ()) or [Path(f"~/.ssh/{name}").expanduser() for name in DEFAULT_KEYS]
    )
    for path in names:
        for each in (path, Path(f"{path}-cert.pub")):
            yield f"{each} {_stamp(each)}"
    agent = str(settings.get("IdentityAgent") or os.environ.get("SSH_AUTH_SOCK") or "none")
    if target.agent and agent != "none":
        yield f"agent {agent} {_stamp(Path(os.path.expandvars(agent)).expanduser())}"


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _login_settings(target: Target) -> Iterator[str]:
    """The inventory's settings of the login itself."""
    plain = replace(target, minion_opts={}, grains={}, pillar={}, groups=(), origin={}, sudo_password=None)
    yield repr(plain)
    yield from (str(each) for each in (target.passwd, target.priv_passwd) if each is not None)
