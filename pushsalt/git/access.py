"""How git gets to a remote: its environment and options, and its credentials where nobody else sees them.

A password travels through a pipe that only our git and its children have; a key's passphrase stands in the
environment of our ssh. Neither is in an argument list, a file or a message.
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
from thin.utils import osutil

#: Seconds for a TCP connection of ssh; a silent peer after that is for process.run.
CONNECT: Final = 20

_CONFIG: Final = "~/.ssh/config"
_ASKPASS: Final = b"#!/bin/sh\nprintf '%s\\n' \"$PUSHSALT_GIT_PASSPHRASE\"\n"


@dataclass(frozen=True)
class Login:
    """What a remote's options say about getting in."""

    ssl_verify: bool = True
    proxy: str = field(default="", repr=False)
    privkey: str = ""
    pubkey: str = ""
    passphrase: Secret = field(default=Secret(""), repr=False)


@dataclass(frozen=True)
class Ssh:
    """What the configuration says about ssh: empty names mean the user's own files."""

    accept_new_host_keys: bool = False
    config_file: str = ""
    known_hosts_file: str = ""


@dataclass(frozen=True)
class Access:
    """For one run of git."""

    env: dict[str, str]
    config: dict[str, str]
    pass_fds: tuple[int, ...]


@contextlib.contextmanager
def access(address: Address, login: Login, ssh: Ssh) -> Iterator[Access]:
    """Raises OSError when there is no room for the helper script that ssh wants as a file."""
    env: dict[str, str] = {}
    config: dict[str, str] = {"http.followRedirects": "initial"}
    descriptors: list[int] = []
    if login.proxy:
        env |= dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), login.proxy)
    if not login.ssl_verify:
        env["GIT_SSL_NO_VERIFY"] = "true"
    if address.scheme in ("http", "https"):
        # A drip-feeding server counts as silent.
        config |= {"http.lowSpeedLimit": "100", "http.lowSpeedTime": "60"}
        if address.user or address.password:
            reading = _pipe(f"username={address.user}\npassword={address.password}\n".encode())
            descriptors.append(reading)
            # Asked a second time, the pipe is empty: the password was wrong. Another host never gets it: git itself
            # compares the key's URL. `store` and `erase` do nothing.
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
    """The reading end of a pipe that holds a few bytes."""
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
    finally:
        os.close(writing)
    return reading


def _ssh(login: Login, ssh: Ssh, stack: contextlib.ExitStack) -> dict[str, str]:
    """GIT_SSH_COMMAND: the user's ssh with nothing that asks, forwards or runs anything else."""
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

        # It is executed: so it does not lie in a cache, which may be shared, nor where no program may run.
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
            "DISPLAY": ":",  # before OpenSSH 8.4 it has to be set
            "PUSHSALT_GIT_PASSPHRASE": login.passphrase,
        }
    else:
        options["BatchMode"] = "yes"
    for key, value in options.items():
        words += ["-o", f"{key}={value}"]
    env["GIT_SSH_COMMAND"] = shlex.join(words)
    return env


def _files(ssh: Ssh) -> list[str]:
    """ssh reads the home folder of the user database; where HOME says another, as for all else here, it counts."""
    try:
        usual = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a user that nobody made, as in containers
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
