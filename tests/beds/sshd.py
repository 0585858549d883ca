"""Real OpenSSH servers on loopback, as whatever user runs the tests; each target has its own home, so its own lock.

    with SshdBed(tmp_path) as bed:
        web = bed.add("web1")                      # one server
        bed.inventory()                            # the native shape: {"hosts": {"web1": {...}}}

Nothing outside ``root`` is touched (as root, /run/sshd is made when it is missing: sshd insists on it).
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
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


def missing() -> str:
    """Why servers can't be started here, or an empty text."""
    if SSHD is None or shutil.which("ssh-keygen") is None:
        return "OpenSSH's sshd and ssh-keygen are not installed"
    return ""


@dataclass
class SshTarget:
    """One server: where it listens, whose home its logins have."""

    id: str
    port: int
    home: Path
    key: Path
    process: subprocess.Popen[bytes]
    settings: dict[str, Any] = field(default_factory=dict)

    def host(self) -> dict[str, Any]:
        """Its entry in an inventory."""
        place = {"host": "127.0.0.1", "port": self.port, "user": getpass.getuser(), "priv": str(self.key)}
        return {**place, "agent": False, **self.settings}


class SshdBed:
    """A folder full of servers, stopped at the end of the ``with`` block."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.targets: dict[str, SshTarget] = {}
        self.key = root / "id_ed25519"
        self.host_key = root / "host_key"
        self.known_hosts = root / "known_hosts"
        root.mkdir(parents=True, exist_ok=True)
        for path in (self.key, self.host_key):
            keygen(path)
        shutil.copy(f"{self.key}.pub", root / "authorized_keys")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)

    def __enter__(self) -> SshdBed:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def add(self, id: str, config: Sequence[str] = (), **settings: Any) -> SshTarget:
        """Start one more server. ``config`` are sshd_config lines that come first and so win; ``settings`` its inventory's."""
        home = self.root / "homes" / id
        home.mkdir(parents=True, exist_ok=True)
        port = free_port()
        values = {"port": port, "host_key": self.host_key, "authorized": self.root / "authorized_keys", "home": home}
        path = self.root / f"sshd-{id}.conf"
        path.write_text("".join(f"{line}\n" for line in config) + _CONFIG.format(**values))
        assert SSHD is not None
        log = (self.root / f"sshd-{id}.log").open("ab")
        with log:
            process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(path)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        target = SshTarget(id, port, home, self.key, process, settings)
        self.targets[id] = target
        self._know(port)
        return target

    def start(self, count: int, prefix: str = "t") -> list[SshTarget]:
        """``count`` servers, ready."""
        found = [self.add(f"{prefix}{number}") for number in range(1, count + 1)]
        self.wait()
        return found

    def wait(self, timeout: float = 15.0) -> None:
        """Wait until all of them answer."""
        end = time.monotonic() + timeout
        for target in self.targets.values():
            while not _answers(target.port):
                if target.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{target.id}: sshd did not start: {(self.root / f'sshd-{target.id}.log').read_text()}")
                time.sleep(0.01)

    def inventory(self) -> dict[str, Any]:
        """The native inventory of all servers."""
        return {"hosts": {id: target.host() for id, target in self.targets.items()}}

    def stop(self) -> None:
        """Stop the servers and all they started."""
        for target in self.targets.values():
            target.process.terminate()
        for target in self.targets.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                target.process.wait(5)
            if target.process.poll() is None:
                target.process.kill()
                target.process.wait()
        self.targets.clear()

    def _know(self, port: int) -> None:
        kind, key = Path(f"{self.host_key}.pub").read_text().split()[:2]
        with self.known_hosts.open("a") as stream:
            stream.write(f"[127.0.0.1]:{port} {kind} {key}\n")


def keygen(path: Path, kind: str = "ed25519", passphrase: str = "") -> None:
    """A new key pair."""
    argv = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as probe:
        return bool(probe.recv(4))
    return False


@contextlib.contextmanager
def sshd_bed(root: Path, count: int) -> Iterator[SshdBed]:
    """A bed with ``count`` servers t1, t2 …, ready."""
    with SshdBed(root) as bed:
        bed.start(count)
        yield bed
