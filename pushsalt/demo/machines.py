"""Booted Debian machines with systemd, apt and sshd, for tests and for ``pushsalt demo --machines``.

Needs root, debootstrap, systemd-nspawn, iproute2 and overlayfs; ``missing()`` returns what is not available. Each
machine is an overlay on a read-only debootstrapped root, booted by systemd-nspawn in its own network namespace, and
reachable from this machine over an isolated bridge. Packages come from a local repository that ``AptRepository`` fills.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import ipaddress
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = "systemd,systemd-sysv,dbus,openssh-server,python3,iproute2,sudo,procps,ca-certificates"
TOOLS = ("debootstrap", "systemd-nspawn", "ip", "mount", "chroot", "apt-ftparchive", "ssh-keygen")
#: A network for the test machines only, which is not routed.
NETWORK = ipaddress.IPv4Network("10.213.0.0/16")
DEPLOY_PASSWORD = "correct-horse-battery"  # noqa: S105 - of the user `careful`, who must type it for sudo


def missing() -> str:
    """The reason why this machine cannot boot machines, or an empty text."""
    if os.geteuid() != 0:
        return "booting machines needs root"
    lacking = [tool for tool in TOOLS if not shutil.which(tool, path=_path())]
    return f"not installed: {', '.join(lacking)}" if lacking else _forbidden()


@functools.cache
def _forbidden() -> str:
    """The required feature that the kernel forbids, as it does in most containers, found by a test; or an empty
    text.
    """
    bridge = f"psp{secrets.token_hex(3)}"
    result = _run("ip", "link", "add", bridge, "type", "bridge", check=False)
    if result.returncode:
        return f"this machine cannot create a network bridge: {result.stdout.strip()}"
    _run("ip", "link", "delete", bridge, check=False)
    with tempfile.TemporaryDirectory(prefix="pushsalt-probe-") as folder:
        try:
            with _overlay(Path(folder)):
                return ""
        except RuntimeError as exc:
            return f"this machine cannot mount an overlay: {str(exc).strip()}"


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"


def _run(*argv: str | Path, check: bool = True, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in argv],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": _path(), "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        check=False,
        cwd=cwd,
    )
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: exit {done.returncode}\n{done.stdout[-3000:]}")
    return done


def cache_dir() -> Path:
    """The folder in which roots and packages are cached."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pushsalt-tests"
    path = Path(os.environ.get("PUSHSALT_TEST_CACHE") or default)
    path.mkdir(parents=True, exist_ok=True)
    return path


def _control_groups(name: str) -> list[Path]:
    """The folders of a new control group below that of this process, in each hierarchy that systemd uses."""
    ours = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    folders = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        controller = "" if kind == "cgroup2" else "name=systemd" if "name=systemd" in options else None
        if kind in ("cgroup", "cgroup2") and controller in ours:
            folders.append(Path(before.split(" ")[4]) / ours[controller].lstrip("/") / name)
    return folders


def in_control_group(name: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs a command in a control group of this name.

    systemd-nspawn puts all machines that one process starts into the same group, where each one's systemd ends the
    others' services of the same names.
    """
    files = []
    for folder in _control_groups(name):
        with contextlib.suppress(OSError):  # read-only in the container: no change needed
            folder.mkdir(exist_ok=True)
            files.append(str(folder / "cgroup.procs"))
    script = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift; exec "$@"'
    return ["sh", "-c", script, "sh", *files, "--", *argv]


def remove_control_group(name: str) -> None:
    """Remove the control group of a machine that has ended."""
    for folder in _control_groups(name):
        for path, _, _ in os.walk(folder, topdown=False):
            with contextlib.suppress(OSError):
                Path(path).rmdir()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _kind(suite: str) -> str:
    """A key of the suite and the preinstalled packages, since each choice of packages needs its own root."""
    return f"{suite}-{hashlib.sha256(PACKAGES.encode()).hexdigest()[:8]}"


def base_root(suite: str = "bookworm") -> Path:
    """The debootstrapped root of this Debian suite, made once and never written to again."""
    root = cache_dir() / f"root-{_kind(suite)}"
    with _locked(root.with_suffix(".lock")):
        if not root.exists():
            aside = Path(tempfile.mkdtemp(dir=cache_dir(), prefix=f"making-{suite}-"))
            try:
                _run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, aside)
                _prepare(aside)
                aside.chmod(0o755)
                aside.rename(root)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
    return root


def _prepare(root: Path) -> None:
    """Prepare a root: no timers, high limits of sshd, users for logins."""
    (root / "etc/resolv.conf").write_text("options timeout:1 attempts:1\n")
    for timer in (
        "apt-daily.timer",
        "apt-daily-upgrade.timer",
        "fstrim.timer",
        "e2scrub_all.timer",
        "dpkg-db-backup.timer",
    ):
        (root / "etc/systemd/system/timers.target.wants" / timer).unlink(missing_ok=True)
    (root / "etc/ssh/sshd_config.d/test.conf").write_text("MaxStartups 200\nMaxSessions 200\nUseDNS no\n")
    for user in ("deploy", "careful", "nobody-special"):
        _run("chroot", root, "useradd", "-m", "-s", "/bin/bash", user)
    subprocess.run(
        ["chroot", str(root), "chpasswd"],
        input=f"careful:{DEPLOY_PASSWORD}\n",
        text=True,
        check=True,
        env={**os.environ, "PATH": _path()},
    )
    (root / "etc/sudoers.d").mkdir(exist_ok=True)
    rules = root / "etc/sudoers.d/test"
    rules.write_text("deploy ALL=(ALL:ALL) NOPASSWD: ALL\ncareful ALL=(ALL:ALL) ALL\n")
    rules.chmod(0o440)
    _run("chroot", root, "ssh-keygen", "-A")


@dataclass
class AptRepository:
    """A flat apt repository with these packages and their dependencies, for machines of one suite; downloaded once."""

    suite: str
    packages: Sequence[str]

    @property
    def path(self) -> Path:
        return cache_dir() / f"repo-{_kind(self.suite)}"

    def fill(self) -> Path:
        """Download missing packages, index them, and return the folder."""
        self.path.mkdir(exist_ok=True)
        root = base_root(self.suite)
        with _locked(self.path.with_suffix(".lock")):
            listed = self.path / "REQUESTED"
            have = set(listed.read_text().split()) if listed.exists() else set()
            lacking = [name for name in self.packages if name not in have]
            if not lacking and (self.path / "Packages").exists():
                return self.path
            with _overlay(root) as merged:
                (merged / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
                _host_apt_settings(merged, self.suite)
                _run("chroot", merged, "apt-get", "update")
                _run(
                    "chroot",
                    merged,
                    "apt-get",
                    "install",
                    "--yes",
                    "--download-only",
                    "--no-install-recommends",
                    *lacking,
                )
                for deb in (merged / "var/cache/apt/archives").glob("*.deb"):
                    shutil.copy(deb, self.path / deb.name)
            index = _run("apt-ftparchive", "packages", ".", cwd=self.path)
            (self.path / "Packages").write_text(
                "".join(line for line in index.stdout.splitlines(True) if not line.startswith("W: "))
            )
            listed.write_text("\n".join(sorted(have | set(lacking))))
        return self.path


def _host_apt_settings(root: Path, suite: str) -> None:
    """Copy apt's settings of this machine (proxies, CA files) into a chroot, for downloading only."""
    for source in Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(source, root / "etc/apt/apt.conf.d" / source.name)


@contextlib.contextmanager
def _overlay(lower: Path) -> Iterator[Path]:
    work = Path(tempfile.mkdtemp(prefix="pushsalt-overlay-"))
    for name in ("upper", "work", "merged"):
        (work / name).mkdir()
    merged = work / "merged"
    options = f"lowerdir={lower},upperdir={work}/upper,workdir={work}/work"
    try:
        _run("mount", "-t", "overlay", "overlay", "-o", options, merged)
        try:
            yield merged
        finally:
            _run("umount", merged)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@dataclass
class Machine:
    """A booted machine, with the users root, deploy (sudo without password) and careful (sudo with DEPLOY_PASSWORD)."""

    name: str
    suite: str
    address: str
    key: Path
    folder: Path
    namespace: str
    host_key: str = ""
    process: subprocess.Popen[bytes] | None = None
    #: the command that boots it
    argv: Sequence[str] = ()

    @property
    def root(self) -> Path:
        """The machine's file system on this machine."""
        return self.folder / "merged"

    def host(self, **more: object) -> dict[str, object]:
        """Its entry in a native inventory."""
        return {"host": self.address, "user": "root", "priv": str(self.key), **more}

    def shell(self, command: str, *, check: bool = True) -> str:
        """Run a shell command on the machine over SSH; returns its output."""
        known_hosts = self.folder.parent / "known_hosts"
        done = _run(
            "ssh",
            "-F",
            "none",
            "-i",
            self.key,
            "-o",
            f"UserKnownHostsFile={known_hosts}",
            "-o",
            "BatchMode=yes",
            "-o",
            "LogLevel=ERROR",
            f"root@{self.address}",
            command,
            check=check,
        )
        return done.stdout


@dataclass
class MachineBed:
    """Boots machines, and removes them at the end: ``with MachineBed() as bed: web1 = bed.boot("web1")``."""

    repositories: dict[str, AptRepository] = field(default_factory=dict)
    machines: list[Machine] = field(default_factory=list)
    #: folders that are mounted as overlays over the root, topmost first
    layers: Sequence[Path] = ()
    #: more options of systemd-nspawn
    options: Sequence[str] = ()

    def __enter__(self) -> MachineBed:
        self.folder = Path(tempfile.mkdtemp(prefix="pushsalt-machines-"))
        self.key = self.folder / "id_ed25519"
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", self.key)
        self._tag = secrets.token_hex(3)
        self.bridge = f"ps{self._tag}"
        self._net = self._free_network()
        try:
            _run("ip", "link", "add", self.bridge, "type", "bridge")
            _run("ip", "addr", "add", f"{self._net[1]}/24", "dev", self.bridge)
            _run("ip", "link", "set", self.bridge, "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _free_network(self) -> ipaddress.IPv4Network:
        used = _run("ip", "-o", "-4", "addr").stdout
        nets = [net for net in NETWORK.subnets(new_prefix=24) if f" {net[1]}/" not in used]
        return nets[secrets.randbelow(len(nets))]

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def boot(self, name: str, suite: str = "bookworm") -> Machine:
        return self.boot_all([name], suite)[0]

    def boot_all(self, names: Iterable[str], suite: str = "bookworm") -> list[Machine]:
        """Boot these machines concurrently; returns when each answers on port 22."""
        started = [self._start(name, suite) for name in names]
        for machine in started:
            self._wait(machine)
        return started

    def _start(self, name: str, suite: str) -> Machine:
        number = len(self.machines) + 10
        machine = Machine(name, suite, str(self._net[number]), self.key, self.folder / name, f"ps{self._tag}-{number}")
        self.machines.append(machine)
        lower = ":".join(str(folder) for folder in (*self.layers, base_root(suite)))
        for part in ("upper", "work", "merged"):
            (machine.folder / part).mkdir(parents=True)
        mount = f"lowerdir={lower},upperdir={machine.folder}/upper,workdir={machine.folder}/work"
        _run("mount", "-t", "overlay", "overlay", "-o", mount, machine.root)
        self._furnish(machine)
        veth = f"v{self._tag}{number}"
        _run("ip", "netns", "add", machine.namespace)
        _run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", machine.namespace)
        _run("ip", "link", "set", veth, "master", self.bridge, "up")
        _run("ip", "-n", machine.namespace, "addr", "add", f"{machine.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _run("ip", "-n", machine.namespace, "link", "set", device, "up")
        argv = [
            "systemd-nspawn",
            "--quiet",
            "--boot",
            "--keep-unit",
            "--register=no",
            f"--machine={name}",
            f"--directory={machine.root}",
            f"--network-namespace-path=/run/netns/{machine.namespace}",
            "--resolv-conf=off",
            "--timezone=off",
            "--link-journal=no",
            "--console=pipe",
            *self.options,
        ]
        if suite in self.repositories:
            argv.append(f"--bind-ro={self.repositories[suite].fill()}:/srv/repository")
        machine.argv = argv
        self._run_machine(machine)
        return machine

    def boot_again(self, machine: Machine, seconds: float = 90) -> None:
        """Wait until a machine has gone down for a reboot, and boot it; returns when it answers on port 22."""
        assert machine.process is not None
        machine.process.wait(seconds)
        self._run_machine(machine)
        self._wait(machine, seconds)

    def _run_machine(self, machine: Machine) -> None:
        with (machine.folder / "console.log").open("ab") as console:
            machine.process = subprocess.Popen(
                in_control_group(machine.namespace, machine.argv),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PATH": _path()},
            )

    def _furnish(self, machine: Machine) -> None:
        root = machine.root
        (root / "etc/hostname").write_text(machine.name + "\n")
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {machine.name}.test.invalid {machine.name}\n")
        public = self.key.with_suffix(".pub").read_text()
        for user, home in (
            ("root", "root"),
            ("deploy", "home/deploy"),
            ("careful", "home/careful"),
            ("nobody-special", "home/nobody-special"),
        ):
            folder = root / home / ".ssh"
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / "authorized_keys").write_text(public)
            if user != "root":
                owner = (root / home).stat()
                for path in (folder, folder / "authorized_keys"):
                    os.chown(path, owner.st_uid, owner.st_gid)
        for kind in ("rsa", "ecdsa", "ed25519"):
            key = root / f"etc/ssh/ssh_host_{kind}_key"
            key.unlink(missing_ok=True)
            _run("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", key)
            with self.known_hosts.open("a") as stream:
                stream.write(f"{machine.address} {key.with_suffix('.pub').read_text()}")
        sources = "deb [trusted=yes] file:/srv/repository ./\n" if machine.suite in self.repositories else ""
        (root / "etc/apt/sources.list").write_text(sources)

    def _wait(self, machine: Machine, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if machine.process is not None and machine.process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection((machine.address, 22), timeout=2) as link:
                link.settimeout(2)
                if link.recv(4) == b"SSH-":
                    return
            time.sleep(0.1)
        log = (machine.folder / "console.log").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{machine.name} did not boot:\n{log}")

    def inventory(self, **more: object) -> dict[str, object]:
        """The machines as a native inventory."""
        return {"hosts": {machine.name: machine.host(**more) for machine in self.machines}}

    def close(self) -> None:
        """Shut down and remove everything that this bed has made."""
        for machine in self.machines:
            if machine.process is not None and machine.process.poll() is None:
                machine.process.send_signal(signal.SIGTERM)
        for machine in self.machines:
            if machine.process is not None:
                try:
                    machine.process.wait(5)
                except subprocess.TimeoutExpired:
                    machine.process.send_signal(signal.SIGTERM)  # the second signal ends it immediately
                try:
                    machine.process.wait(25)
                except subprocess.TimeoutExpired:
                    os.killpg(machine.process.pid, signal.SIGKILL)
                    machine.process.wait(10)
            remove_control_group(machine.namespace)
            _run("umount", "--recursive", machine.root, check=False)
            _run("ip", "netns", "delete", machine.namespace, check=False)
        _run("ip", "link", "delete", self.bridge, check=False)
        self.machines.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
