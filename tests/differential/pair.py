"""Two identical booted machines, each in a separate network with the same address.

One has real Salt's environment mounted (read-only, at the same paths) and a process of it that answers; the other has
what every Debian server has, and is reached over SSH.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pushsalt.demo.machines import _path, _run, in_control_group, remove_control_group
from tests.beds.machines import NETWORK, cache_dir
from tests.differential import changed
from tests.differential.casefiles import CaseFile
from tests.differential.layers import NSPAWN, REPOSITORY, VERSION, lower_dirs, repository

DRIVER = Path(__file__).with_name("machine_salt.py")
ROOTS = "/srv/roots"
REFERENCE = "/srv/reference/machine_salt.py"
RUNTIME = "/opt/pushsalt"
NAME = "box"
INSIDE = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "PYTHONHASHSEED": "0",
}
#: time after which a machine shuts itself down
LIFE = "7200"

STANDING = Path(__file__).with_name("standing.sh").read_text(encoding="utf-8")
#: increase it to replace machines that were kept
MACHINES = 2
#: names of systemd as the first process
INIT = (b"/usr/lib/systemd/systemd", b"/lib/systemd/systemd", b"/sbin/init")


def folders_of_python(python: Path) -> list[Path]:
    """The folders of a virtual environment and of its base Python."""
    script = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, list(sys.version_info[:2])]))"
    out = subprocess.run([python, "-I", "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout
    prefix, base, version = json.loads(out)
    if base == "/usr" and version != [3, 11]:  # bookworm's
        raise RuntimeError(
            f"{python} is Python {version[0]}.{version[1]} of this system; the machines have 3.11: "
            "set SALT_PYTHON to an environment made by Python 3.11, or by one outside /usr"
        )
    return [Path(prefix)] + ([Path(base)] if base != "/usr" else [])


@dataclass
class Side:
    """One of the two machines."""

    kind: str
    folder: Path
    namespace: str
    leader: int = 0
    nspawn: int = 0
    baseline: changed.Snapshot = field(default_factory=dict)
    standing: str = ""
    process: subprocess.Popen[bytes] | None = None

    @property
    def root(self) -> Path:
        return self.folder / "merged"

    @property
    def upper(self) -> Path:
        return self.folder / "upper"

    def inside(self, *argv: str) -> list[str]:
        """The command line that starts a program in the machine as its root user."""
        variables = [f"{name}={value}" for name, value in INSIDE.items()]
        namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--wdns=/root"]
        return ["nsenter", "--target", str(self.leader), *namespaces, "env", "-i", *variables, *argv]

    def shell(self, script: str, timeout: float = 120) -> tuple[int, str]:
        """Exit code and output of a shell script in the machine. Its background processes continue."""
        with tempfile.TemporaryFile() as out:
            argv = self.inside("sh", "-c", script)
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = -1
            out.seek(0)
            return code, out.read().decode("utf-8", "replace")

    def find(self) -> int:
        """The first process of the machine, or 0; also 0 if another program has its number."""
        try:
            cmdline = Path(f"/proc/{self.nspawn}/cmdline").read_bytes() if self.nspawn else b""
        except OSError:
            cmdline = b""
        self.leader = _leader(self.nspawn) if self.machine.encode() in cmdline else 0
        return self.leader

    def alive(self) -> bool:
        return self.find() > 0 and Path(f"/proc/{self.leader}/root/proc/1").exists()

    @property
    def machine(self) -> str:
        """The name of the machine for systemd-nspawn, and of its namespace."""
        return self.namespace


@dataclass
class Pair:
    """The two machines of a case file. All their files are in ``folder``; ``close`` removes them."""

    folder: Path
    packages: list[str]
    repository: list[str | dict[str, Any]]
    python_folders: list[Path]
    setup: str = ""
    tag: str = ""
    net: str = ""
    #: the machines that are started; comparisons of plans with runs need no Salt
    kinds: tuple[str, ...] = ("salt", "ours")
    sides: dict[str, Side] = field(default_factory=dict)

    @classmethod
    def of(cls, file: CaseFile, salt_python: Path, folder: Path) -> Pair:
        return cls(folder, file.packages, file.repository, folders_of_python(salt_python), file.setup)

    @property
    def salt(self) -> Side:
        return self.sides["salt"]

    @property
    def ours(self) -> Side:
        return self.sides["ours"]

    @property
    def roots(self) -> Path:
        """The file root, which both see."""
        return self.folder / "roots"

    @property
    def address(self) -> str:
        return f"{self.net}.10"

    @property
    def key(self) -> Path:
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    # -- start and end

    def start(self) -> None:
        """Boot both machines; returns after their start is complete and the setup of the case file has run."""
        lower = lower_dirs(self.packages)
        served = repository(self.repository) if self.repository else None
        self.tag = self.tag or secrets.token_hex(3)
        for path in (self.folder, self.roots):
            path.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        if not self.key.exists():
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", self.key)
            for kind in ("ecdsa", "ed25519"):
                _run("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "root@box", "-f", self.folder / f"host_{kind}")
        self.sides = {kind: Side(kind, self.folder / kind, f"ps{self.tag}-{kind}") for kind in self.kinds}
        self.save()
        self._network()
        self.known_hosts.write_text(f"{self.address} {(self.folder / 'host_ed25519.pub').read_text()}")
        for side in self.sides.values():
            self._boot(side, lower, served)
            self.save()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self._settle, self.sides.values()))

    def _network(self) -> None:
        if not self.net:
            used = _run("ip", "-o", "-4", "addr").stdout
            nets = [net for net in NETWORK.subnets(new_prefix=24) if f" {net[1]}/" not in used]
            self.net = str(secrets.choice(nets)[0]).rpartition(".")[0]
        for side in self.sides.values():
            outside = f"d{self.tag}{side.kind[0]}"
            _run("ip", "netns", "add", side.namespace)
            inner = ["address", "02:00:00:00:00:10", "netns", side.namespace]
            _run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", *inner)
            _run("ip", "link", "set", outside, "up")
            _run("ip", "-n", side.namespace, "addr", "add", f"{self.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run("ip", "-n", side.namespace, "link", "set", device, "up")
        _run("ip", "addr", "add", f"{self.net}.1/24", "dev", f"d{self.tag}o")

    def _boot(self, side: Side, lower: list[Path], served: Path | None) -> None:
        for part in ("upper", "work", "merged"):
            (side.folder / part).mkdir(parents=True)
        dirs = ":".join(map(str, lower))
        mount = f"lowerdir={dirs},upperdir={side.upper},workdir={side.folder}/work"
        _run("mount", "-t", "overlay", "overlay", "-o", mount, side.root)
        self._prepare_root(side.root)
        argv = [
            "timeout",
            "--kill-after=30",
            LIFE,
            *NSPAWN,
            "--boot",
            f"--machine={side.machine}",
            f"--directory={side.root}",
            f"--network-namespace-path=/run/netns/{side.namespace}",
            "--link-journal=no",
            "--capability=CAP_NET_ADMIN",
            f"--bind-ro={self.roots}:{ROOTS}",
        ]
        if served:
            argv.append(f"--bind-ro={served}:{REPOSITORY}")
        if side.kind == "salt":
            argv += [f"--bind-ro={place}" for place in self.python_folders] + [f"--bind-ro={DRIVER}:{REFERENCE}"]
        with (side.folder / "console.log").open("wb") as console:
            environment = {**os.environ, "PATH": _path(), "SYSTEMD_NSPAWN_TMPFS_TMP": "0"}
            command = in_control_group(side.machine, argv)
            side.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
                cwd="/",
            )
        side.nspawn = side.process.pid

    def _prepare_root(self, root: Path) -> None:
        """Make both machines identical: names, keys, package sources."""
        etc = root / "etc"
        (etc / "hostname").write_text(NAME + "\n")
        (etc / "hosts").write_text(f"127.0.0.1\tlocalhost\n127.0.1.1\t{NAME}.test.invalid {NAME}\n")
        (etc / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
        (etc / "systemd/system/tmp.mount").symlink_to("/dev/null")
        for name in ("rsa", "dsa", "ecdsa", "ed25519"):
            for suffix in ("", ".pub"):
                (etc / f"ssh/ssh_host_{name}_key{suffix}").unlink(missing_ok=True)
        for kind in ("ecdsa", "ed25519"):
            shutil.copy(self.folder / f"host_{kind}", etc / f"ssh/ssh_host_{kind}_key")
            shutil.copy(self.folder / f"host_{kind}.pub", etc / f"ssh/ssh_host_{kind}_key.pub")
        # the key of our login is not in root's authorized_keys, which cases may manage
        (etc / "ssh/bed_keys").write_text(self.key.with_suffix(".pub").read_text())
        with (etc / "ssh/sshd_config.d/test.conf").open("a") as stream:
            stream.write("AuthorizedKeysFile /etc/ssh/bed_keys .ssh/authorized_keys\n")
        shutil.rmtree(etc / "apt/sources.list.d", ignore_errors=True)
        (etc / "apt/sources.list.d").mkdir()
        source = f"deb [trusted=yes] file:{REPOSITORY} ./\n" if self.repository else ""
        (etc / "apt/sources.list").write_text(source)
        for place in [*map(str, self.python_folders), "/etc/salt", "/srv/reference", ROOTS, RUNTIME, REPOSITORY]:
            (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _settle(self, side: Side, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not Path(f"/proc/{side.nspawn}").exists():
                break
            if side.alive() and side.shell("systemctl is-system-running")[1].strip() in ("running", "degraded"):
                break
            time.sleep(0.2)
        else:
            raise RuntimeError(f"the machine of {side.kind} did not settle:\n{self._console(side)}")
        if not side.alive():
            raise RuntimeError(f"the machine of {side.kind} did not boot:\n{self._console(side)}")
        # of the kernel's settings, those of the network belong to the machine
        side.shell("mount --bind /proc/sys/net /proc/sys/net && mount -o remount,bind,rw /proc/sys/net")
        if self.repository:
            side.shell("apt-get -q update")
        if self.setup:
            code, out = side.shell("set -e\n" + self.setup, timeout=300)
            if code:
                raise RuntimeError(f"the file's setup failed on the side of {side.kind}: exit {code}\n{out}")
        side.baseline = changed.snapshot(side.upper)
        copy = side.folder / "kept"
        shutil.rmtree(copy, ignore_errors=True)
        _run("cp", "-a", side.upper, copy)
        side.standing = side.shell(STANDING)[1]

    def _console(self, side: Side) -> str:
        return (side.folder / "console.log").read_text(errors="replace")[-3000:]

    def stop(self) -> None:
        """Stop both machines at once and drop their files."""
        for side in self.sides.values():
            if side.find():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(side.leader, signal.SIGKILL)
                _wait_for_end(side)
            if side.process:
                side.process.wait(30)
            remove_control_group(side.machine)
            for _ in range(50):
                if not _run("umount", side.root, check=False).returncode or not os.path.ismount(side.root):
                    break
                time.sleep(0.1)
            _run("ip", "netns", "delete", side.namespace, check=False)
            _run("ip", "link", "delete", f"d{self.tag}{side.kind[0]}", check=False)
            shutil.rmtree(side.folder, ignore_errors=True)
        self.sides = {}

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- between cases

    def reset(self) -> bool:
        """Restore the state after ``start``: by restoring files, or else by new machines (returns True then)."""
        if all(self._restore_files(side) for side in self.sides.values()):
            return False
        self.stop()
        self.start()
        return True

    def _restore_files(self, side: Side) -> bool:
        if not side.alive():
            return False
        for _ in range(3):
            if side.shell(STANDING)[1] == side.standing:
                break
            time.sleep(0.3)
        else:
            return False
        paths = changed.changed_paths(side.baseline, changed.snapshot(side.upper))
        if paths:
            lower = lower_dirs(self.packages)
            try:
                for path in sorted(paths):
                    _restore(side, path, lower)
            except (FolderDeleted, OSError):
                return False
            if any("/systemd/" in path or path.startswith("/etc/init.d") for path in paths):
                side.shell("systemctl daemon-reload")
            side.baseline = changed.snapshot(side.upper)
        return True

    # -- both at once

    def shell(self, script: str, timeout: float = 120) -> dict[str, tuple[int, str]]:
        with ThreadPoolExecutor(2) as pool:
            done = pool.map(lambda side: side.shell(script, timeout), self.sides.values())
            return dict(zip(self.sides, done, strict=True))

    # -- machines that stay for the next command

    def save(self) -> None:
        """Save what a later command needs to use these machines."""
        saved = {
            "tag": self.tag,
            "net": self.net,
            "wanted": self._wanted,
            "sides": {side.kind: [side.nspawn, side.standing, side.baseline] for side in self.sides.values()},
        }
        (self.folder / "kept.json").write_text(json.dumps(saved))

    def find(self) -> bool:
        """Use the machines that ``save`` described. False if they do not fit this file."""
        saved = self._load()
        same = saved.get("wanted") == self._wanted
        if not same or not all(side.alive() and side.standing for side in self.sides.values()):
            self.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
            return False
        return True

    @property
    def _wanted(self) -> list[Any]:
        return [
            VERSION,
            MACHINES,
            self.packages,
            self.repository,
            [str(place) for place in self.python_folders],
            self.setup,
        ]

    def _load(self) -> dict[str, Any]:
        try:
            saved: dict[str, Any] = json.loads((self.folder / "kept.json").read_text())
        except (OSError, ValueError):
            return {}
        self.tag, self.net = saved["tag"], saved["net"]
        for kind, (nspawn, standing, baseline) in saved["sides"].items():
            before = {path: tuple(values) for path, values in baseline.items()}
            namespace = f"ps{self.tag}-{kind}"
            self.sides[kind] = Side(kind, self.folder / kind, namespace, 0, nspawn, before, standing)
        return saved


def _leader(pid: int) -> int:
    """The first process of the machine, below `timeout` and systemd-nspawn."""
    for _ in range(2):
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return 0
        if not children:
            return 0
        pid = int(children[0])
    try:
        return pid if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(INIT) else 0
    except OSError:
        return 0


def _wait_for_end(side: Side, seconds: float = 20) -> None:
    """Wait for the end of the machine's systemd-nspawn, which may be a child of another command."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and Path(f"/proc/{side.nspawn}").exists():
        if side.process and side.process.poll() is not None:
            return
        time.sleep(0.05)


class FolderDeleted(Exception):
    """A folder of the layers was deleted: restoring it would need a copy of all layers below."""


def _restore(side: Side, path: str, lower: list[Path]) -> None:
    """Restore the state of a path after the start of the machine."""
    target = Path(f"{side.root}{path}")
    sources = [side.folder / "kept", *lower]
    source_path = None
    for source in sources:
        candidate = Path(f"{source}{path}")
        if os.path.lexists(candidate):
            info = os.lstat(candidate)
            whiteout = (info.st_mode & 0o170000) == 0o020000 and info.st_rdev == 0
            source_path = None if whiteout else candidate
            break
    is_folder = source_path is not None and source_path.is_dir() and not source_path.is_symlink()
    exists = os.path.lexists(target)
    if is_folder and not (exists and target.is_dir() and not target.is_symlink()):
        raise FolderDeleted(path)
    if exists and not is_folder:
        if target.is_dir() and not target.is_symlink():
            if source_path is not None:
                raise FolderDeleted(path)
            _run("chattr", "-R", "-f", "-ai", target, check=False)
            shutil.rmtree(target, ignore_errors=True)
        else:
            _run("chattr", "-f", "-ai", target, check=False)
            target.unlink()
    if source_path is None:
        return
    if not is_folder:
        _run("cp", "-a", "--no-target-directory", source_path, target)
        return
    info = source_path.stat()
    os.chown(target, info.st_uid, info.st_gid)
    shutil.copystat(source_path, target)


# -- beds that stay


def beds_dir() -> Path:
    path = cache_dir() / "beds"
    path.mkdir(exist_ok=True)
    return path


def remove(folder: Path) -> None:
    """Remove the machines of a bed, if there are any, and its files."""
    pair = Pair(folder, [], [], [])
    pair._load()
    pair.close()


def sweep() -> None:
    """Remove the remains of machines whose process has ended, unless they are in use."""
    for lock in beds_dir().glob("*.lock"):
        with lock.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            pair = Pair(lock.with_suffix(""), [], [], [])
            pair._load()
            if pair.sides and not all(side.alive() for side in pair.sides.values()):
                pair.close()
