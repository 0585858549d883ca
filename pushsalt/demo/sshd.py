"""SSH servers on loopback, as the current user; each target has its own home, so its own lock.

    with SshdBed(folder) as bed:
        bed.add("web1")                            # one server
        bed.wait()
        bed.inventory()                            # the native shape: {"hosts": {"web1": {...}}}

They are OpenSSH's, or with ``stand_in=True`` those of ``pushsalt.demo.stand_in``. They accept one key, which is made
for them, and end with the process that started them. No file outside of the folder is changed (except that as root a
missing /run/sshd is created, which sshd requires).
"""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
RUN_DIR = Path("/run/sshd")
#: Ports that are tried before one is taken that the kernel chooses.
_ATTEMPTS = 50
_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {host_key}
PidFile none
AuthorizedKeysFile {authorized}
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
MaxStartups 1000
MaxSessions 1000
LogLevel ERROR
SetEnv HOME={home}
"""
_TAKEN = "Address already in use"


def missing() -> str:
    """The reason why OpenSSH's servers cannot be started, or an empty text."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        return "OpenSSH's sshd and ssh-keygen are not installed"
    return ""


@dataclass
class SshTarget:
    """One server: its address, and the home folder of its logins."""

    id: str
    port: int
    home: Path
    key: Path
    process: subprocess.Popen[bytes]
    settings: dict[str, Any] = field(default_factory=dict)
    config: tuple[str, ...] = ()

    def host(self) -> dict[str, Any]:
        """Its entry in an inventory."""
        place = {"host": "127.0.0.1", "port": self.port, "user": getpass.getuser(), "priv": str(self.key)}
        return {**place, "agent": False, **self.settings}


class SshdBed:
    """Servers with all their files in one folder; they are stopped at the end of the ``with`` block."""

    def __init__(self, root: Path, *, stand_in: bool = False, homes: Path | None = None) -> None:
        self.root = root
        self.homes = homes or root / "homes"
        self.stand_in = stand_in
        self.targets: dict[str, SshTarget] = {}
        self.key = root / "id_ed25519"
        self.host_key = root / "host_key"
        self.known_hosts = root / "known_hosts"
        root.mkdir(parents=True, exist_ok=True)
        for path in (self.key, self.host_key):
            keygen(path)
        shutil.copy(f"{self.key}.pub", root / "authorized_keys")
        if os.geteuid() == 0 and not stand_in:
            RUN_DIR.mkdir(mode=0o755, exist_ok=True)

    def __enter__(self) -> SshdBed:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def add(self, id: str, config: Sequence[str] = (), **settings: Any) -> SshTarget:
        """Start another server.

        ``config``: lines of sshd_config, which are first and so override others (the stand-in ignores them);
        ``settings``: those of the host in the inventory.
        """
        home = self.homes / id
        home.mkdir(parents=True, exist_ok=True)
        port = free_port()
        target = SshTarget(id, port, home, self.key, self._serve(id, port, home, config), settings, tuple(config))
        self.targets[id] = target
        self._know(port)
        return target

    def start(self, count: int, prefix: str = "t") -> list[SshTarget]:
        """Start ``count`` servers, and wait until they answer."""
        names = [self.add(f"{prefix}{number}") for number in range(1, count + 1)]
        self.wait()
        return names

    def wait(self, timeout: float = 15.0) -> None:
        """Wait until all of them answer. Raises RuntimeError with the log of one that does not."""
        end = time.monotonic() + timeout
        for id in list(self.targets):
            while not _answers(self.targets[id].port):
                log = self._log(id).read_text(errors="replace")
                has_ended = self.targets[id].process.poll() is not None
                if has_ended and _TAKEN in log:  # another process uses the port now: use another port
                    self._log(id).unlink()
                    self.add(id, self.targets[id].config, **self.targets[id].settings)
                elif has_ended or time.monotonic() > end:
                    raise RuntimeError(f"{id}: sshd did not start: {log.strip()}")
                time.sleep(0.01)

    def inventory(self) -> dict[str, Any]:
        """The native inventory of all servers."""
        return {"hosts": {id: target.host() for id, target in self.targets.items()}}

    def stop(self) -> None:
        """Stop the servers."""
        for target in self.targets.values():
            target.process.terminate()
        for target in self.targets.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                target.process.wait(5)
            if target.process.poll() is None:
                target.process.kill()
                target.process.wait()
        self.targets.clear()

    def _serve(self, id: str, port: int, home: Path, config: Sequence[str]) -> subprocess.Popen[bytes]:
        authorized, env = self.root / "authorized_keys", None
        if self.stand_in:
            words = ["-m", "pushsalt.demo.stand_in", str(port), str(self.host_key), str(authorized), str(home)]
            argv = [sys.executable, *words]
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        else:
            assert SSHD is not None
            path = self.root / f"sshd-{id}.conf"
            values = {"port": port, "host_key": self.host_key, "authorized": authorized, "home": home}
            path.write_text("".join(f"{line}\n" for line in config) + _CONFIG.format(**values))
            argv = [SSHD, "-D", "-e", "-f", str(path)]
        # A new session: Ctrl-C in a terminal must only reach this process, which stops the servers in order.
        with self._log(id).open("ab") as log:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=dying_with_parent(),
                env=env,
            )

    def _log(self, id: str) -> Path:
        return self.root / f"sshd-{id}.log"

    def _know(self, port: int) -> None:
        kind, key = Path(f"{self.host_key}.pub").read_text().split()[:2]
        with self.known_hosts.open("a") as stream:
            stream.write(f"[127.0.0.1]:{port} {kind} {key}\n")


def dying_with_parent() -> Callable[[], object] | None:
    """A function for the child process that makes the kernel end it with its parent; None except on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    prctl, set_parent_death_signal = ctypes.CDLL(None).prctl, 1
    return lambda: prctl(set_parent_death_signal, signal.SIGTERM)


def keygen(path: Path, kind: str = "ed25519", passphrase: str = "") -> None:
    """Create a key pair."""
    if shutil.which("ssh-keygen"):
        argv = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "pushsalt", "-f", str(path)]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        return
    import asyncssh

    key = asyncssh.generate_private_key(f"ssh-{kind}", "pushsalt")
    path.touch(mode=0o600)
    key.write_private_key(path, passphrase=passphrase or None)
    key.write_public_key(f"{path}.pub")


def free_port() -> int:
    """A free TCP port of 127.0.0.1; if possible no ephemeral one, which the kernel could give to another program."""
    ephemeral = 32768
    with contextlib.suppress(OSError, ValueError, IndexError):  # Linux; ip(7)
        ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = range(10_000, ephemeral)
    for _ in range(_ATTEMPTS if ports else 0):
        port = secrets.choice(ports)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as probe:
        return bool(probe.recv(4))
    return False
