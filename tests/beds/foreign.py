"""Debian roots with the package managers of other systems, as Debian packages them, and repositories of small packages.

Nothing is booted: a root is an overlay in which thin runs by chroot, in separate namespaces, with the grains of the
system that it represents. Installed tools and built packages are kept between runs, since they take long.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushsalt.demo.machines import _locked
from tests.beds.machines import base_root, cache_dir, missing

HERE = Path(__file__).resolve().parent
THIN = HERE.parents[1] / "thin"
CASES = HERE.parent / "cases" / "thin" / "foreign"

_RPM = ("createrepo-c", "rpm", "rpm2cpio", "cpio")
_OTHERS = ("zypper", *_RPM, "pacman-package-manager", "makepkg", "libarchive-tools")
#: what is installed in each root; the plug-ins of dnf conflict with zypper
TOOLS = {"dnf": ("dnf", "dnf-plugins-core", *_RPM), "zypper": _OTHERS, "pacman": _OTHERS}
GRAINS = {
    "dnf": {"os": "Rocky", "os_family": "RedHat", "osarch": "x86_64", "osmajorrelease": 9, "osrelease": "9.4"},
    "zypper": {"os": "SUSE", "os_family": "Suse", "osarch": "x86_64", "osmajorrelease": 15, "osrelease": "15.5"},
    "pacman": {"os": "Arch", "os_family": "Arch", "osarch": "x86_64"},
}

#: for rpm and for pacman: (name, version, release, repository, what it requires, what it provides, file)
PACKAGES = (
    ("alpha", "1.0", "1", "base", "", "", "/etc/alpha.conf"),
    ("alpha", "1.1", "1", "base", "", "", "/etc/alpha.conf"),
    ("alpha", "1.2~rc1", "1", "base", "", "", "/etc/alpha.conf"),
    ("beta", "2:1.5", "1", "base", "alpha", "beta-virtual", "/usr/share/beta/data"),
    ("gamma", "1.0", "1", "base", "", "", "/usr/share/gamma/data"),
    ("delta", "0.1", "1", "base", "", "", "/usr/share/delta/data"),
    ("delta", "0.2", "1", "base", "", "", "/usr/share/delta/data"),
    ("delta", "0.3", "1", "extra", "", "", "/usr/share/delta/data"),
    ("epsilon", "1.0", "1", "extra", "", "", "/usr/share/epsilon/data"),
    ("unmet", "1.0", "1", "base", "nowhere-to-be-found", "", "/usr/share/unmet/data"),
)

COMPS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE comps PUBLIC "-//Red Hat, Inc.//DTD Comps info//EN" "comps.dtd">
<comps>
  <group>
    <id>tools</id><name>Test Tools</name><description>What tests use</description>
    <default>false</default><uservisible>true</uservisible>
    <packagelist>
      <packagereq type="mandatory">gamma</packagereq>
      <packagereq type="default">delta</packagereq>
      <packagereq type="optional">alpha</packagereq>
    </packagelist>
  </group>
  <environment>
    <id>everything</id><name>Test Environment</name><description>All of it</description>
    <grouplist><groupid>tools</groupid></grouplist>
  </environment>
</comps>
"""

UPDATEINFO = """<?xml version="1.0" encoding="UTF-8"?>
<updates>
  <update from="t@example.org" status="stable" type="security" version="1">
    <id>TEST-2026:1</id><title>alpha is safer</title><severity>Important</severity>
    <issued date="2026-01-01 00:00:00"/>
    <description>long words</description>
    <pkglist><collection short="t"><name>t</name>
      <package name="alpha" version="1.1" release="1" epoch="0" arch="noarch" src="alpha-1.1-1.src.rpm">
        <filename>alpha-1.1-1.noarch.rpm</filename></package>
    </collection></pkglist>
  </update>
</updates>
"""

SPEC = """Name: {name}
Version: {version}
Release: {release}
{epoch}Summary: test {name}
License: MIT
BuildArch: noarch
{requires}{provides}
%description
long text of {name}
%install
mkdir -p %{{buildroot}}$(dirname {file})
echo '{name} {version}' > %{{buildroot}}{file}
%files
{config}{file}
"""

REPOSITORY = "[{0}]\nname=Test {0}\nbaseurl=file:///srv/rpm/{0}\nenabled={1}\ngpgcheck=0\n"

#: Debian's rpm refuses to install packages without this option; zypper calls rpm without it
RPM_WRAPPER = """#!/bin/sh
case " $* " in *" -U "*|*" -e "*|*" -i "*) exec /opt/rpm/rpm --force-debian "$@";; esac
exec /opt/rpm/rpm "$@"
"""


def lacking() -> str:
    """The reason why this machine cannot make such roots, or an empty text."""
    return missing() or ("" if shutil.which("unshare") else "not installed: unshare")


@dataclass
class Foreign:
    """A root: ``take`` runs steps (``tests/beds/steps.py``) in it, ``shell`` a command."""

    root: Path

    def shell(self, command: str, *, check: bool = True) -> str:
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-c", _ENTER, "sh", str(self.root), command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"},
        )
        if check and done.returncode:
            raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def take(self, steps: Sequence[dict[str, Any]]) -> list[Any]:
        """Run the steps; returns the outcome of each."""
        (self.root / "opt/steps/asked").write_text(repr(list(steps)), encoding="utf-8")
        text = self.shell("cd / && python3 -I -S /opt/steps/run_steps.py < /opt/steps/asked 2> /opt/steps/errors")
        came: list[Any] = ast.literal_eval(text.split("@@@", 1)[1])
        return came


_ENTER = (
    'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; mount -t tmpfs tmpfs "$1/run"; '
    'exec chroot "$1" sh -c "$2"'
)


@contextlib.contextmanager
def foreign(kind: str) -> Iterator[Foreign]:
    """A new root that represents a system with this program (a key of GRAINS); it is removed afterwards."""
    layer = _layer(TOOLS[kind])
    work = Path(tempfile.mkdtemp(prefix="pushsalt-foreign-"))
    for name in ("upper", "work", "merged"):
        (work / name).mkdir()
    with _mounted([layer, base_root()], work / "upper", work / "work", work / "merged") as root:
        place = root / "opt" / "steps"
        place.mkdir(parents=True)
        shutil.copy(HERE / "run_steps.py", place)
        shutil.copytree(THIN, place / "thin", ignore=shutil.ignore_patterns("__pycache__"))
        (place / "grains").write_text(repr(GRAINS[kind]), encoding="utf-8")
        yield Foreign(root)
    shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _mounted(lower: Sequence[Path], upper: Path, work: Path, merged: Path) -> Iterator[Path]:
    options = f"lowerdir={':'.join(map(str, lower))},upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(merged)], check=True)
    try:
        yield merged
    finally:
        subprocess.run(["umount", str(merged)], check=True)


def _layer(tools: Sequence[str]) -> Path:
    """The upper folder of an overlay with the tools and the repositories. It is made once for each content of this
    file.
    """
    recipe = "".join(inspect.getsource(part) for part in (_prepare, _rpms, _arch_packages))
    recipe += repr((tools, PACKAGES, COMPS, UPDATEINFO, SPEC, RPM_WRAPPER, base_root().name))
    layer = cache_dir() / f"layer-foreign-{hashlib.sha256(recipe.encode()).hexdigest()[:10]}"
    with _locked(layer.with_suffix(".lock")):
        if layer.exists():
            return layer
        aside = Path(tempfile.mkdtemp(dir=cache_dir(), prefix="making-foreign-"))
        try:
            for name in ("upper", "work", "merged"):
                (aside / name).mkdir()
            with _mounted([base_root()], aside / "upper", aside / "work", aside / "merged") as root:
                _prepare(Foreign(root), tools)
            (aside / "upper").rename(layer)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return layer


def _prepare(bed: Foreign, tools: Sequence[str]) -> None:
    root, quiet = bed.root, "DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0"
    old = (root / "etc/resolv.conf").read_bytes()
    (root / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
    for source in Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(source, root / "etc/apt/apt.conf.d" / source.name)
    bed.shell(f"{quiet} update && {quiet} install --no-install-recommends {' '.join(tools)}")
    bed.shell("apt-get clean; rm -rf /var/lib/apt/lists/*")
    (root / "etc/resolv.conf").write_bytes(old)
    if "makepkg" in tools:
        _arch_packages(bed)
    (root / "etc/rpm").mkdir(exist_ok=True)
    (root / "etc/rpm/macros").write_text("%_dbpath /var/lib/rpm\n")  # Debian's is in the home of root
    _rpms(bed)
    for repository in ("base", "extra"):
        extra = " -g comps.xml" if repository == "base" else ""
        bed.shell(f"cd /srv/rpm/{repository} && createrepo_c -q{extra} . && rm -f comps.xml")
    (root / "srv/rpm/base/updateinfo.xml").write_text(UPDATEINFO)
    bed.shell("cd /srv/rpm/base && modifyrepo_c updateinfo.xml repodata && rm updateinfo.xml")
    (root / "opt/rpm").mkdir()
    shutil.move(root / "usr/bin/rpm", root / "opt/rpm/rpm")
    (root / "usr/bin/rpm").write_text(RPM_WRAPPER)
    (root / "usr/bin/rpm").chmod(0o755)
    (root / "etc/dnf/plugins").mkdir(parents=True, exist_ok=True)
    (root / "etc/dnf/plugins/local.conf").write_text("[main]\nenabled = false\n")
    (root / "etc/dnf/vars").mkdir(exist_ok=True)
    (root / "etc/dnf/vars/releasever").write_text("9\n")
    for folder in (root / "etc/yum.repos.d", root / "etc/zypp/repos.d"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "base.repo").write_text("# of the tests\n" + REPOSITORY.format("base", 1))
        (folder / "extra.repo").write_text(REPOSITORY.format("extra", 0))


def _rpms(bed: Foreign) -> None:
    specs = bed.root / "srv/specs"
    specs.mkdir(parents=True)
    for number, (name, version, release, repository, requires, provides, file) in enumerate(PACKAGES):
        epoch, _, version = version.rpartition(":")
        text = SPEC.format(
            name=name,
            version=version,
            release=release,
            epoch=f"Epoch: {epoch}\n" if epoch else "",
            requires=f"Requires: {requires}\n" if requires else "",
            provides=f"Provides: {provides} = {version}\n" if provides else "",
            file=file,
            config="%config(noreplace) " if file.startswith("/etc/") else "",
        )
        (specs / f"{number}-{repository}.spec").write_text(text)
    (bed.root / "srv/rpm/base").mkdir(parents=True)
    (bed.root / "srv/rpm/base/comps.xml").write_text(COMPS)
    bed.shell(
        "cd /srv/specs && for spec in *.spec; do repository=${spec#*-}; "
        "rpmbuild --quiet -bb --define '_topdir /tmp/rpmbuild' --define \"_rpmdir /srv/rpm/${repository%.spec}\" "
        "--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' $spec || exit 1; done; "
        "rm -rf /tmp/rpmbuild /srv/specs"
    )


def _arch_packages(bed: Foreign) -> None:
    """Build packages of pacman (archives with a .PKGINFO) and a repository of them with repo-add."""
    for name, version, release, repository, requires, provides, file in PACKAGES:
        version = version.replace("~", "")  # versions of pacman cannot contain these characters
        tree = bed.root / "tmp/tree"
        (tree / file.lstrip("/")).parent.mkdir(parents=True)
        (tree / file.lstrip("/")).write_text(f"{name} {version}\n")
        about = f"pkgname = {name}\npkgver = {version}-{release}\npkgdesc = test {name}\nsize = 1\narch = any\n"
        about += "packager = T <t@example.org>\nbuilddate = 1700000000\nlicense = MIT\n"
        about += f"depend = {requires}\n" if requires else ""
        about += f"provides = {provides}={version.split(':')[-1]}\n" if provides else ""
        about += f"backup = {file.lstrip('/')}\n" if file.startswith("/etc/") else ""
        about += "group = tools\n" if name in ("gamma", "delta") else ""
        (tree / ".PKGINFO").write_text(about)
        place = f"/srv/arch/{repository}/{name}-{version}-{release}-any.pkg.tar.gz"
        bed.shell(f"mkdir -p /srv/arch/{repository} && cd /tmp/tree && tar -czf {place} .PKGINFO * && rm -rf /tmp/tree")
    bed.shell("for r in base extra; do cd /srv/arch/$r && repo-add -q $r.db.tar.gz *.pkg.tar.gz; done")
    text = "[options]\nArchitecture = x86_64\nSigLevel = Never\nLocalFileSigLevel = Never\n"
    text += "[base]\nServer = file:///srv/arch/base\n[extra]\nServer = file:///srv/arch/extra\n"
    (bed.root / "etc/pacman.conf").write_text(text)
    os.makedirs(bed.root / "var/lib/pacman/sync", exist_ok=True)
