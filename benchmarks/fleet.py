"""The targets of a measurement, and their inventories in every tool's own form."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from pushsalt.demo.machines import AptRepository, MachineBed
from pushsalt.demo.sshd import SshdBed

SUITE = "bookworm"


@dataclass(frozen=True)
class Host:
    """One target. ``home``: path on the target of a folder for its own files."""

    id: str
    host: str
    port: int
    user: str
    home: str


class Fleet:
    """Hosts with the same key; ``work``: a private folder, the home of the tool that is measured."""

    def __init__(self, hosts: list[Host], key: Path, known_hosts: str, work: Path) -> None:
        self.hosts = hosts
        self.key = key
        self.work = work
        self.home = work / "home"
        (self.home / ".ssh").mkdir(mode=0o700, parents=True)
        self.known_hosts = self.home / ".ssh" / "known_hosts"
        self.known_hosts.write_text(known_hosts)
        self.ssh_config = self._write("ssh_config", self._ssh_config())
        self.ids = self._write("ids", "".join(f"{host.id}\n" for host in hosts))
        description = {"key": str(key), "known_hosts": str(self.known_hosts), "hosts": [asdict(host) for host in hosts]}
        self.json = self._write("fleet.json", json.dumps(description))
        native = {"hosts": {host.id: self._native(host) for host in hosts}}
        self.native = self._write("inventory.yaml", yaml.safe_dump(native))
        self.roster = self._write("roster", yaml.safe_dump({host.id: self._salt(host) for host in hosts}))
        self.ansible = self._write("hosts.ini", "".join(f"{host.id}\n" for host in hosts))
        self.pyinfra = self._write("hosts.py", f"targets = {[(host.id, self._paramiko(host)) for host in hosts]!r}\n")

    def __len__(self) -> int:
        return len(self.hosts)

    def _write(self, name: str, text: str) -> Path:
        path = self.work / name
        path.write_text(text)
        return path

    def _ssh_config(self) -> str:
        lines = [
            "Host *",
            f"IdentityFile {self.key}",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {self.known_hosts}",
            "GlobalKnownHostsFile none",
            "StrictHostKeyChecking yes",
            "BatchMode yes",
            "LogLevel ERROR",
        ]
        for host in self.hosts:
            lines += [f"Host {host.id}", f"HostName {host.host}", f"Port {host.port}", f"User {host.user}"]
        return "\n".join(lines) + "\n"

    def _native(self, host: Host) -> dict[str, Any]:
        address = {"host": host.host, "port": host.port, "user": host.user}
        return {**address, "priv": str(self.key), "agent": False}

    def _salt(self, host: Host) -> dict[str, Any]:
        # Two targets on one address share salt-ssh's default folder; each gets its own.
        address = {"host": host.host, "port": host.port, "user": host.user, "priv": str(self.key)}
        options = [f"UserKnownHostsFile={self.known_hosts}"]
        return {**address, "thin_dir": f"{host.home}/salt-thin", "ssh_options": options}

    def _paramiko(self, host: Host) -> dict[str, Any]:
        return {
            "ssh_hostname": host.host,
            "ssh_port": host.port,
            "ssh_user": host.user,
            "ssh_key": str(self.key),
            "ssh_known_hosts_file": str(self.known_hosts),
        }


@contextlib.contextmanager
def sshd_fleet(count: int, work: Path) -> Iterator[Fleet]:
    """OpenSSH servers on loopback, one per target, each with a home of its own."""
    with SshdBed(work / "bed") as bed:
        # salt-ssh and ansible copy files by SFTP.
        targets = [bed.add(f"t{number}", ["Subsystem sftp internal-sftp"]) for number in range(1, count + 1)]
        bed.wait()
        user = str(targets[0].host()["user"])
        hosts = [Host(target.id, "127.0.0.1", target.port, user, str(target.home)) for target in bed.targets.values()]
        yield Fleet(hosts, bed.key, bed.known_hosts.read_text(), work)


@contextlib.contextmanager
def machine_fleets(counts: list[int], work: Path) -> Iterator[list[Fleet]]:
    """Booted machines: a fleet for each count. They have Python's complete standard library, which some tools need."""
    with MachineBed(repositories={SUITE: AptRepository(SUITE, ["python3"])}) as bed:
        machines = bed.boot_all([f"m{number}" for number in range(1, max(counts) + 1)], SUITE)
        for machine in machines:
            machine.shell("apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install python3")
        hosts = [Host(machine.name, machine.address, 22, "root", "/root") for machine in machines]
        known_hosts = bed.known_hosts.read_text()
        fleets = []
        for count in counts:
            folder = work / str(count)
            folder.mkdir()
            fleets.append(Fleet(hosts[:count], bed.key, known_hosts, folder))
        yield fleets
