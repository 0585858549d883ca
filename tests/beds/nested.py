"""A booted machine that contains others: machines of systemd-nspawn that boot in it, a chroot, and containers of
podman.

Tests of resources use it. All of them use the same Debian root. Installing podman and importing the image take long, so
both are kept between runs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pushsalt.demo.machines import _locked, _overlay, _run
from tests.beds.machines import Machine, MachineBed, base_root, cache_dir
from tests.differential.layers import NSPAWN, _key, lower_dirs

PACKAGES = ["podman", "systemd-container"]
IMAGE = "localhost/debian:bookworm"
#: machines that can be booted, and chroots: name -> path in the host
MACHINES = {"m1": "/var/lib/machines/m1", "m2": "/var/lib/machines/m2"}
CHROOTS = {"jail": "/srv/jail"}
#: units that would start with podman and are not needed for it
UNWANTED = (
    "cni-dhcp.service",
    "podman.service",
    "podman-auto-update.timer",
    "podman-restart.service",
    "systemd-networkd.service",
    "systemd-networkd-wait-online.service",
)

UNIT = """[Unit]
Description=machine %i
[Service]
Type=notify
KillMode=mixed
KillSignal=SIGKILL
SuccessExitStatus=133
Delegate=yes
ExecStart=/usr/bin/systemd-nspawn --quiet --keep-unit --boot --machine=%i --directory=/var/lib/machines/%i \
    --private-network --resolv-conf=off --timezone=off --link-journal=no --console=pipe
"""
#: A container cannot create control groups, keyrings or kernel settings.
CONTAINERS_CONF = """[containers]
cgroups = "disabled"
default_sysctls = []
keyring = false
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE_CONF = """[storage]
driver = "overlay"
graphroot = "/var/lib/containers/storage"
runroot = "/run/containers/storage"
[storage.options]
additionalimagestores = ["/srv/images"]
"""
#: A root without the files that no program reads.
IMPORT = (
    "tar -C /srv/base --exclude=./usr/share/doc --exclude=./usr/share/locale --exclude=./usr/share/man "
    "--exclude=./usr/share/i18n --exclude=./usr/include --exclude=./var/cache --exclude=./var/lib/apt -cf - . "
    f"| podman --root /srv/images --cgroup-manager=cgroupfs import --quiet - {IMAGE}"
)


class NestedBed(MachineBed):
    """``boot`` returns a machine that contains the roots of MACHINES and CHROOTS; ``start`` boots the machines in
    it.
    """

    def _furnish(self, machine: Machine) -> None:
        super()._furnish(machine)
        etc = machine.root / "etc"
        (etc / "systemd/system/machine@.service").write_text(UNIT)
        (etc / "containers").mkdir(exist_ok=True)
        (etc / "containers/containers.conf").write_text(CONTAINERS_CONF)
        (etc / "containers/storage.conf").write_text(STORAGE_CONF)
        for unit in UNWANTED:
            (etc / "systemd/system" / unit).symlink_to("/dev/null")
        for name, place in {**MACHINES, **CHROOTS}.items():
            inner = inside(machine, name)
            for part in (inner, inner.with_name(f"{inner.name}-work")):
                part.mkdir(parents=True)
            root = machine.root / place.lstrip("/")
            root.mkdir(parents=True)
            mount = f"lowerdir={base_root(machine.suite)},upperdir={inner},workdir={inner}-work"
            _run("mount", "-t", "overlay", "overlay", "-o", mount, root)
            (root / "etc/hostname").write_text(name + "\n")
            (root / "etc/systemd/system").mkdir(exist_ok=True)
            (root / "etc/systemd/system/ssh.service").symlink_to("/dev/null")


def inside(machine: Machine, name: str) -> Path:
    """The folder that contains all changes of one of the roots."""
    return machine.folder / "inside" / name


@contextlib.contextmanager
def nested() -> Iterator[tuple[MachineBed, Machine]]:
    """The bed and its machine, host1, in which the machines m1 and m2 and the container c1 run."""
    root, layer = base_root(), lower_dirs(PACKAGES)[0]
    with NestedBed(layers=[layer]) as bed:
        store = bed.folder / "containers"  # podman cannot mount an overlay on an overlay
        store.mkdir()
        images = _images(layer, root)
        bed.options = ["--capability=all", f"--bind={store}:/var/lib/containers", f"--bind-ro={images}:/srv/images"]
        machine = bed.boot("host1")
        machine.shell(
            f"systemctl start {' '.join(f'machine@{name}' for name in MACHINES)} && "
            f"podman run --quiet --detach --name c1 --hostname c1 {IMAGE} sleep infinity"
        )
        try:
            yield bed, machine
        finally:
            # it would prevent the shutdown of the machine
            machine.shell("podman rm --all --force --time 0", check=False)


def _images(layer: Path, root: Path) -> Path:
    """A store of podman with the image imported from the root. It is made once for each content of this file."""
    place = cache_dir() / f"images-{_key(IMPORT, layer.name, root.name)}"
    with _locked(place.with_suffix(".lock")):
        if place.exists():
            return place
        aside = Path(tempfile.mkdtemp(dir=cache_dir(), prefix="making-images-"))
        try:
            with _overlay(Path(f"{layer}:{root}")) as merged:
                binds = [f"--bind={aside}:/srv/images", f"--bind-ro={root}:/srv/base", "--capability=all"]
                _run(*NSPAWN, f"--directory={merged}", *binds, "sh", "-c", IMPORT)
            os.chmod(aside, 0o755)
            aside.rename(place)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
    return place
