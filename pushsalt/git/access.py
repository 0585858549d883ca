"""The environment and options with which git accesses a remote, and its credentials.

A password is passed through a pipe that only this git and its children inherit; the passphrase of a key is in the
environment of ssh. Neither is in an argument list, a file or a message.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pushsalt.cache.store import write_atomic
from pushsalt.git import GitError
from pushsalt.git.address import Address
from pushsalt.git.process import environment
from pushsalt.model import Secret
from thin.utils.files import osutil

#: Seconds for a TCP connection of ssh; ``process.run`` handles a silent peer after that.
CONNECT: Final = 20

_CONFIG: Final = "~/.ssh/config"
_ASKPASS: Final = b"#!/bin/sh\nprintf '%s\\n' \"$PUSHSALT_GIT_PASSPHRASE\"\n"


@dataclass(frozen=True)
class Login:
    """The credentials of a remote, from its options."""

    ssl_verify: bool = True
    proxy: str = field(default="", repr=False)
    privkey: str = ""
    pubkey: str = ""
    passphrase: Secret = field(default=Secret(""), repr=False)


@dataclass(frozen=True)
class Ssh:
    """The ssh options of the configuration; empty names mean the user's own files."""

    accept_new_host_keys: bool = False
    config_file: str = ""
    known_hosts_file: str = ""


@dataclass(frozen=True)
class Access:
    """Environment, configuration and file descriptors for one run of git."""

    env: dict[str, str]
    config: dict[str, str]
    pass_fds: tuple[int, ...]


@contextlib.contextmanager
def access(address: Address, login: Login, ssh: Ssh) -> Iterator[Access]:
    """A context with the Access for one run. Raises OSError if the helper script of ssh cannot be written."""
    env: dict[str, str] = {}
    config: dict[str, str] = {"http.followRedirects": "initial"}
    descriptors: list[int] = []
    if login.proxy:
        env |= dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), login.proxy)
    if not login.ssl_verify:
        env["GIT_SSL_NO_VERIFY"] = "true"
    if address.scheme in ("http", "https"):
        # A server that sends very slowly counts as not answering.
        config |= {"http.lowSpeedLimit": "100", "http.lowSpeedTime": "60"}
        if address.user or address.password:
            reading = _pipe(f"username={address.user}\npassword={address.password}\n".encode())
            descriptors.append(reading)
            # If git asks a second time, since the password was wrong, the pipe is empty. Another host does not get it:
            # git itself compares the URL in the name of the option. `store` and `erase` do nothing.
            helper = f'!f() {{ test "$1" = get && cat /dev/fd/{reading}; :; }}; f'
            config[f"credential.{address.origin}.helper"] = helper
    try:
        with contextlib.ExitStack() as stack:
            if address.scheme == "ssh":
                env |= _ssh(login, ssh, stack)
            yield Access(environment(env), config, tuple(descriptors))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _pipe(data: bytes) -> int:
    """The reading end of a pipe that contains these bytes."""
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
    finally:
        os.close(writing)
    return reading


def _ssh(login: Login, ssh: Ssh, stack: contextlib.ExitStack) -> dict[str, str]:
    """GIT_SSH_COMMAND: the user's ssh without prompts, forwarding, or other programs."""
    words = ["ssh", *_files(ssh)]
    options = {
        "StrictHostKeyChecking": "accept-new" if ssh.accept_new_host_keys else "yes",
        "ConnectTimeout": str(CONNECT),
        "ServerAliveInterval": "15",
        "ServerAliveCountMax": "3",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "ControlPath": "none",
    }
    env = {"GIT_SSH_VARIANT": "ssh"}
    if login.privkey:
        options["IdentitiesOnly"] = "yes"
        home = os.environ.get("HOME", "")
        words += ["-i", _expanded(login.privkey, home)]
        if login.pubkey.endswith("-cert.pub"):
            options["CertificateFile"] = _expanded(login.pubkey, home).replace("%", "%%")
    if login.passphrase:
        import tempfile

        # The script is executed, so it must not be in a cache, which may be shared, nor on a noexec file system.
        try:
            folder = osutil.tempdir(programs=True)
        except OSError as exc:
            raise GitError(f"the passphrase of the key {login.privkey} cannot be given to ssh: {exc.strerror}") from exc
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="pushsalt-git-", dir=folder))
        script = Path(place, "askpass")
        write_atomic(script, _ASKPASS, 0o700)
        env |= {
            "SSH_ASKPASS": str(script),
            "SSH_ASKPASS_REQUIRE": "force",
            "DISPLAY": ":",  # required by OpenSSH before 8.4
            "PUSHSALT_GIT_PASSPHRASE": login.passphrase,
        }
    else:
        options["BatchMode"] = "yes"
    for key, value in options.items():
        words += ["-o", f"{key}={value}"]
    env["GIT_SSH_COMMAND"] = shlex.join(words)
    return env


def _files(ssh: Ssh) -> list[str]:
    """Options of ssh for the files below HOME, if that differs from the home folder in the user database, which ssh
    uses.
    """
    try:
        usual = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a uid without an entry, as in containers
        usual = ""
    home = os.environ.get("HOME") or usual or "/nonexistent"
    config = _expanded(ssh.config_file or _CONFIG, home)
    words = []
    if home != usual or ssh.config_file not in ("", _CONFIG):
        words += ["-F", config if Path(config).is_file() else "none"]
    if home != usual or ssh.known_hosts_file:
        words += ["-o", f'UserKnownHostsFile="{_expanded(ssh.known_hosts_file or "~/.ssh/known_hosts", home)}"']
    return words


def _expanded(path: str, home: str) -> str:
    return f"{home}{path[1:]}" if path.startswith("~/") else path
